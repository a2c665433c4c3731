#!/usr/bin/env bats
# Whole campaigns on simulated jobs at the edge: next to nothing to choose, nothing that runs, nothing that is told apart.
load helpers

setup() {
	FIXTURES=$CLI_DIR/../fixtures/simulate
	export HOME=$BATS_TEST_TMPDIR XDG_STATE_HOME=$BATS_TEST_TMPDIR/user-state TMPDIR=$BATS_TEST_TMPDIR/tmp
	mkdir -p "$TMPDIR"
	cd "$BATS_TEST_TMPDIR" || return 1
}

# The small landscape with the knobs that PYTHON keeps or changes (`d` is the document); what names knobs is dropped.
variant() { # FILE PYTHON
	python3 - "$FIXTURES/small.json" "$1" "$2" <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
for key in ("interactions", "conflicts", "declared_pairs"):
    d[key] = []
d.pop("experience", None)
exec(sys.argv[3])
d["opt_config"], d["opt_log"] = [k["ref"] for k in d["knobs"]], 0
json.dump(d, open(sys.argv[2], "w"))
PY
}

@test "no knobs but patches: every combination is tried, and what gains is delivered" {
	variant patches.json '
p = [k for k in d["knobs"] if k["patch"]][0]
d["knobs"] = [dict(p, name="p%d" % i, true_log=[0, gain]) for i, gain in enumerate((0.1, -0.1))]'
	run -0 infrarsi simulate patches.json --trials 10 --json
	equals 3 "$(json "d['trials']")"
	equals "{'p0': 'on', 'p1': 'off'}" "$(json "d['settings']")"
	equals True "$(json "abs(d['delivered_true'] - 2.718281828459045 ** 0.1) < 1e-9")"
}

@test "one knob with one setting: nothing to search, the reference stays" {
	variant one.json 'd["knobs"] = [dict(d["knobs"][0], settings=["1"], true_log=[0], true_gib=[0], prior_log=[0], prior_gib=[0])]'
	run -3 infrarsi simulate one.json --trials 10 --json
	equals "0 False 1.0" "$(json "' '.join(str(d[k]) for k in ('trials', 'promoted', 'delivered_true'))")"
	run -3 infrarsi simulate one.json --trials 10
	has "every legal candidate has been tried"
}

@test "a budget of one" {
	variant one.json 'd["knobs"] = [dict(k, true_log=[0] + [0.1] * (len(k["settings"]) - 1), true_gib=[0] * len(k["settings"])) for k in d["knobs"]]'
	run -0 infrarsi simulate one.json --trials 1 --json
	equals "1 True" "$(json "str(d['trials']) + ' ' + str(d['promoted'])")"
}

@test "every setting crashes, hangs, runs out of memory, loses or cheats: 1.00x, and all of it is in the bill" {
	for kind in crash hang oom loss hack; do
		if [ $kind = oom ]; then
			variant all.json 'd["knobs"] = [dict(k, true_gib=[0] + [100] * (len(k["settings"]) - 1)) for k in d["knobs"]]'
		else
			variant all.json "d['conflicts'] = [{'terms': [[i, s]], 'kind': '$kind'} for i, k in enumerate(d['knobs']) for s in range(len(k['settings'])) if s != k['ref']]"
		fi
		run -3 infrarsi simulate all.json --trials 8 --json
		equals "8 8 False 1.0" "$(json "' '.join(map(str, (d['trials'], sum(d['failed'].values()), d['promoted'], d['delivered_true'])))")"
	done
}

@test "identical settings: nothing is promoted" {
	variant same.json 'd["knobs"] = [dict(k, true_log=[0] * len(k["settings"]), true_gib=[0] * len(k["settings"])) for k in d["knobs"]]'
	run -3 infrarsi simulate same.json --trials 10 --json
	equals "10 False" "$(json "str(d['trials']) + ' ' + str(d['promoted'])")"
}

@test "noise larger than every effect: nothing is promoted" {
	variant noisy.json 'd["sigma_pair"] = 0.5
d["knobs"] = [dict(k, true_log=[x / 10 for x in k["true_log"]]) for k in d["knobs"]]'
	run -3 infrarsi simulate noisy.json --trials 10 --json
	equals "10 False" "$(json "str(d['trials']) + ' ' + str(d['promoted'])")"
}

@test "a reference that does not fit is refused where it is read" {
	variant large.json 'd["ref_peak_gib"] = 81'
	run -2 infrarsi simulate large.json --trials 10
	has "ref_peak_gib"
	has "large.json"
}

@test "a reference of a real job that does not fit: doctor says so and what to do; nothing is searched" {
	new_repo "$BATS_TEST_TMPDIR/case"
	sed -i 's/values: \[1, 2, 4\], reference: 1/values: [1, 2, 4], reference: 4/; s/values: \["off", "on"\], reference: "off"/values: ["off", "on"], reference: "on"/; s/, prior: {"on": {speedup: 5%, memory: +300B}}//' infrarsi.yaml
	git commit -qam large
	lock
	run -1 infrarsi doctor
	has "the reference itself does not pass: completes"
	has "declare reference settings that fit in memory; then  infrarsi doctor --new"
	run -2 infrarsi run
	has "the reference has not been measured: doctor found that it does not pass: completes"
	has "declare reference settings that fit in memory; then  infrarsi doctor --new"
	equals "$(grep '^log: ' <<<"$output")" "$(infrarsi explain 2>&1 | grep '^log: ')"
	run -2 infrarsi explain --json
	is_json
}
