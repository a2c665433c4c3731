#!/usr/bin/env bats
# What the models are said to believe, against jobs whose truth is known, and against what the ledger recorded.
load helpers

FIXTURES=$CLI_DIR/../fixtures/simulate

# Three knobs and all of their seven configurations: a and b crash together, c is the largest gain.
pair_landscape() {
	python3 - <<'EOF'
import json
def knob(name, gain, gib):
    return {"name": name, "settings": ["off", "on"], "ref": 0, "ordered": False, "patch": False, "phase": "all",
            "true_log": [0, gain], "true_gib": [0, gib], "prior_log": [0, 0], "prior_gib": [0, 0], "amdahl_cap": 2.3}
print(json.dumps({"name": "pair", "seed": 1, "capacity_gib": 80, "ref_peak_gib": 40, "sigma_pair": 0.004,
    "thrash_log": 0.1, "ngpu": 8, "ref_step_s": 2.0, "startup_s": 60, "steps": 30, "warmup": 10,
    "knobs": [knob("a", 0.1, 2), knob("b", 0.05, -3), knob("c", 0.25, 5)],
    "interactions": [], "conflicts": [{"terms": [[0, 1], [1, 1]], "kind": "crash"}], "declared_pairs": [],
    "prior_spearman": 0, "opt_log": 0.35, "opt_config": [1, 0, 1]}))
EOF
}

setup_file() {
	export HOME=$BATS_FILE_TMPDIR
	cd "$BATS_FILE_TMPDIR" || return 1
	pair_landscape >pair.json
	infrarsi simulate pair.json --trials 7 --seed 2 --out pair >/dev/null
	infrarsi simulate "$FIXTURES/small.json" --trials 17 --seed 3 --out small >/dev/null
}

setup() {
	export HOME=$BATS_FILE_TMPDIR
}

enter_job() { # NAME: a kept campaign, for reading
	export XDG_STATE_HOME=$BATS_FILE_TMPDIR/$1/state
	cd "$BATS_FILE_TMPDIR/$1/job" || return 1
}

copy_job() { # NAME: the same, to change
	cp -a "$BATS_FILE_TMPDIR/$1" "$BATS_TEST_TMPDIR/$1"
	export XDG_STATE_HOME=$BATS_TEST_TMPDIR/$1/state
	cd "$BATS_TEST_TMPDIR/$1/job" || return 1
}

setting() { # LEVER SETTING EXPRESSION over `s`: what is believed of one setting
	json "[$3 for l in d['levers'] if l['name'] == '$1' for s in l['settings'] if s['setting'] == '$2'][0]"
}

@test "each gain lies in its interval, and the largest comes first" {
	enter_job pair
	run -0 infrarsi explain --json
	is_json
	# the landscape's truth: 0.1, 0.05 and 0.25 in ln
	equals True "$(setting a on "s['gain_ln']['low'] < 0.1 < s['gain_ln']['high'] and s['gain_ln']['sd'] < 0.03")"
	equals True "$(setting b on "s['gain_ln']['low'] < 0.05 < s['gain_ln']['high']")"
	equals True "$(setting c on "s['gain_ln']['low'] < 0.25 < s['gain_ln']['high']")"
	equals "True True True" "$(json "' '.join(str(l['is_big']) for l in d['levers'])")"
	# nothing was declared: before any run a setting was worth 0 with sd 7% for itself and 2% for being a change
	equals True "$(setting a on "s['prior_ln']['mean'] == 0 and abs(s['prior_ln']['sd'] - 0.0053 ** 0.5) < 1e-12")"
	equals True "$(setting a on "abs(s['moved_sd'] - s['gain_ln']['mean'] / 0.0053 ** 0.5) < 1e-9")"
	equals True "$(json "d['incumbent']['candidate']['settings']['a'] == 'on' and abs(d['incumbent']['gain_ln']['mean'] - 0.35) < 0.02")"
	run -0 infrarsi explain
	[[ $(grep -A1 '^  setting ' <<<"$output" | tail -1) =~ ^\*!c= ]]
	[[ $(grep '^.!a=on' <<<"$output") =~ \ \+1[01](\.[0-9])?%\  ]]
}

@test "a conflict is suspected, banned where nothing else is left, and says in which trials" {
	enter_job pair
	failed=$(ledger "select group_concat(trial, ', ') from entry where kind = 'finished' and
		json_extract(body, '\$.role') = 'search' and json_extract(body, '\$.failure') = 'crash'")
	run -0 infrarsi explain --json
	equals "1 {'a': 'on', 'b': 'on'} True" "$(json "' '.join(str(v) for v in (len(d['suspicions']), d['suspicions'][0]['settings'], d['suspicions'][0]['is_banned']))")"
	equals "[$failed]" "$(json "d['suspicions'][0]['trials']")"
	equals "2 2" "$(setting a on "f\"{s['runs_ok']} {s['runs_failed']}\"")"
	run -0 infrarsi explain
	has "a=on x b=on  banned  failed: trials $failed; never passed together; nothing else"
	has "ended by signal"
	# every configuration has run
	has "Would try  nothing"
}

@test "a larger job: gains, intervals, trials, 100 columns" {
	enter_job small
	run -0 infrarsi explain --json
	is_json
	# recompute=off is truly worth 0.2, the most of what fits
	equals True "$(setting recompute off "s['gain_ln']['mean'] > 0.05 and s['is_big']")"
	equals "1 17 17" "$(json "f\"{d['schema']} {d['trials']} {d['budget']}\"")"
	# recompute has two settings: the trials that had the other one are the rest
	equals True "$(setting recompute off "0 < s['runs_ok'] + s['runs_failed'] < d['trials']")"
	crashed=$(ledger "select count(*) from entry where kind = 'finished' and json_extract(body, '\$.failure') = 'crash'")
	equals True "$(json "$crashed == 0 or any({'loader_workers', 'micro_batch'} == set(s['settings']) or list(s['settings']) == ['micro_batch'] for s in d['suspicions'])")"
	run -0 infrarsi explain --all
	[ "$(wc -L <<<"$output")" -le 100 ]
	for lever in micro_batch=2 micro_batch=4 recompute=off zero=1 loader_workers=8; do
		has "$lever "
	done
	has "Simulated  "
	has "Trials     17 of 17: "
	has "Would try  "
	has "score    "
}

@test "--trial N is what the ledger recorded, and its score the product of its factors" {
	enter_job small
	sigma=$(infrarsi explain --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["sigma_pair"])')
	references=$(ledger "select count(*) from entry where kind = 'finished' and json_extract(body, '\$.role') = 'reference'")
	for trial in $(seq 17); do
		recorded=$(ledger "select body from entry where id = (select json_extract(body, '\$.decision_id') from entry where kind = 'registered' and trial = $trial)")
		run -0 infrarsi show "$trial" --json
		shown=$output
		run -0 infrarsi explain --trial "$trial" --json
		python3 - "$output" "$shown" "$recorded" "$sigma" "$references" <<'EOF'
import json, math, sys
x, show, ledger = (json.loads(a) for a in sys.argv[1:4])
sigma, references = float(sys.argv[4]), int(sys.argv[5])
d = x["decision"]
assert x["schema"] == 1 and x["candidate"] == ledger["candidate"] == show["candidate"]
for key, name in {"score": "score", "p_fits": "p_fits", "p_runs": "p_ok", "peak_bytes": "predicted_peak_bytes",
                  "incumbent_ln": "incumbent_ln", "reason": "reason", "base_trial": "base_trial"}.items():
    assert d[key] == ledger[name], key
assert "+".join(d["operators"]) == ledger["operators"] == show["operators"]
mean, sd = d["gain_ln"]["mean"], d["gain_ln"]["sd"]
assert (mean, sd) == (ledger["mean_ln"], ledger["sd_ln"]) and show["predicted_ln"] == mean
assert abs(d["gain_ln"]["high"] - mean - 1.96 * sd) < 1e-12
assert x["status"] == show["status"] and x["measured"]["verdict"] == show["verdict"]
upper = max(mean + 2 * sd - d["incumbent_ln"], 1e-6)
assert math.isclose(d["score"], upper * d["p_fits"] ** d["caution"] * d["p_runs"], rel_tol=1e-8)
m = x["measured"]
assert m["gain_ln"] == show["gain_ln"]
if x["status"] == "valid":
    # the belief's sd, a run's and that of the reference's mean
    off = (m["gain_ln"] - mean) / math.sqrt(sd ** 2 + sigma ** 2 / 2 * (1 + 1 / references))
    assert math.isclose(m["off_sd"], off, rel_tol=1e-9), (m["off_sd"], off)
EOF
	done
}

@test "--trial N for a person: operators, factors, what came of it" {
	enter_job pair
	for trial in 1 2 3 4 5 6 7; do
		run -0 infrarsi explain --trial "$trial"
		has "trial $trial  "
		has "operators  "
		has " upper gain x "
		has "probability "
		has "verdict    "
		has "Next: infrarsi show $trial"
		[ "$(wc -L <<<"$output")" -le 100 ]
	done
	crash=$(ledger "select min(trial) from entry where kind = 'finished' and json_extract(body, '\$.failure') = 'crash'")
	run -0 infrarsi explain --trial "$crash"
	has "crashed"
	has "said       ended by signal"
}

@test "in the middle of a run: the trial that runs, and the decision that waits" {
	copy_job small
	ledger "drop trigger entry_is_kept"
	# up to the registration of trial 9, as a reader finds it while the trial runs
	ledger "delete from entry where id > (select id from entry where kind = 'registered' and trial = 9)"
	run -0 infrarsi explain
	has "Running    trial 9; what follows does not know its end"
	has "Trials     8 of 17: 1 running, "
	run -0 infrarsi explain --trial 9 --json
	equals "running None" "$(json "d['status'] + ' ' + str(d['measured'])")"
	run -0 infrarsi explain --trial 9
	has "verdict    running"
	# decided and not registered
	ledger "delete from entry where kind = 'registered' and trial = 9"
	run -0 infrarsi explain --json
	equals "True" "$(json "d['next']['is_recorded']")"
	equals "$(ledger "select json_extract(body, '\$.candidate.settings') from entry where kind = 'decision' order by id desc limit 1" | python3 -c 'import json, sys; print(json.load(sys.stdin))')" \
		"$(json "d['next']['candidate']['settings']")"
	run -0 infrarsi explain
	has "decided before, and not begun"
	# nothing has run
	ledger "delete from entry where id >= (select min(id) from entry where kind = 'decision')"
	run -0 infrarsi explain
	has "Incumbent  the reference"
	has "Suspected  nothing"
	run -2 infrarsi explain --trial 1
	has "there is no trial 1: none has been decided yet; next: infrarsi run"
	# the reference was not measured to its end
	ledger "delete from entry where id > (select id from entry where kind = 'campaign')"
	run -2 infrarsi explain
	has "the reference has not been measured yet; next: infrarsi doctor"
}

@test "what it would try next is what run tries next; it writes nothing" {
	new_repo "$BATS_TEST_TMPDIR/real"
	git mv patches/01-less-effort.diff $'patches/01-\x1b[31mred.diff'
	run -2 infrarsi explain
	has "no campaign here yet; next: infrarsi doctor"
	lock
	infrarsi doctor --seed 7 >/dev/null
	for trials in 1 2 3; do
		before=$(find .infrarsi infrarsi.lock -type f -exec sha256sum {} + | sort)
		run -0 infrarsi explain --json
		is_json
		next=$(json "json.dumps(d['next']['candidate'], sort_keys=True)")
		score=$(json "d['next']['score']")
		run -0 infrarsi explain
		equals "$before" "$(find .infrarsi infrarsi.lock -type f -exec sha256sum {} + | sort)"
		infrarsi run --accept-noise --search-only --trials "$trials" >/dev/null
		run -0 infrarsi explain --trial "$trials" --json
		equals "$next" "$(json "json.dumps(d['candidate'], sort_keys=True)")"
		equals "$score" "$(json "d['decision']['score']")"
	done
	# a name that would colour the terminal
	run -0 infrarsi explain
	has '+01-\x1b[31mred '
	lacks $'\x1b'
	# cache=on is declared to gain 5%, of which 30% is believed before any run
	run -0 infrarsi explain --json
	equals True "$(setting cache on "abs(s['prior_ln']['mean'] - 0.3 * s['predicted_ln']) < 1e-12 and abs(s['predicted_ln'] - 0.04879) < 1e-5")"
	equals 300.0 "$(setting cache on "float(s['declared_bytes'])")"
}

@test "a strategy without a model: nothing was predicted, and the controller is named" {
	cd "$BATS_TEST_TMPDIR" || return 1
	infrarsi simulate "$FIXTURES/small.json" --trials 3 --strategy random --out kept >/dev/null || [ $? -eq 3 ]
	export XDG_STATE_HOME=$PWD/kept/state
	cd kept/job
	run -0 infrarsi explain --trial 2
	has "score      none: the strategy random fits no model"
	run -0 infrarsi explain --trial 2 --json
	equals "None None" "$(json "str(d['decision']['score']) + ' ' + str(d['decision']['caution'])")"
	run -0 infrarsi explain
	has "this is the controller; trial 3 was decided by the strategy random"
}

@test "what a label means depends on who says it" {
	cd "$BATS_TEST_TMPDIR" || return 1
	kept() { # OPTIONS: a campaign of its own; enters it
		rm -rf kept
		infrarsi simulate "$FIXTURES/small.json" --trials 6 --out kept "$@" >/dev/null || [ $? -eq 3 ]
		export XDG_STATE_HOME=$PWD/kept/state
		cd kept/job || return 1
	}
	kept --strategy random
	run -0 infrarsi explain --trial 2
	has "operators  random: any legal configuration that has not run, each as likely as the other"
	cd ../..
	kept --operators-off exploit,backtrack,bundle,escape,warm_restart,survey
	run -0 infrarsi explain --trial 2
	has "random: no operator had anything left: any configuration that may run"
	has "no operator has anything left; anywhere"
	cd ../..
	kept --strategy aide
	run -0 infrarsi explain --trial 1
	has "draft: five drafts, then debug failures or improve the best (AIDE)"
	cd ../..
	# nothing is predicted of this job's settings: what the operator proposes is not predicted to lose
	kept --operators-on contrarian --operators-off exploit,backtrack,bundle,escape,warm_restart,survey
	run -0 infrarsi explain --trial 1
	has "operators  contrarian: at or near a setting that was predicted to gain at most 2%"
	lacks "predicted to lose"
}

@test "a run over the cap does not fit, and is not blamed" {
	new_repo "$BATS_TEST_TMPDIR/capped"
	sed -i 's/memory_cap: 1000B/memory_cap: 600B/' infrarsi.yaml
	git commit -qam capped
	lock
	infrarsi doctor --hurry >/dev/null
	# 500 bytes and 800
	infrarsi run --accept-noise --search-only --trials 1 --start micro_batch=4 >/dev/null
	run -0 infrarsi explain --trial 1
	has "trial 1  invalid"
	[[ $(grep '^  peak ' <<<"$output") == *" 800 B"* ]]
	[[ $(grep '^  fits ' <<<"$output") == *" over the cap"* ]]
	[[ $(grep '^  runs ' <<<"$output") == *" ran" ]]
	run -0 infrarsi explain --json
	equals "1 0 0" "$(setting micro_batch 4 "f\"{s['runs_ok']} {s['runs_failed']} {len(d['suspicions'])}\"")"
	# broken is a crash: it is blamed, and nothing is known of its memory
	infrarsi run --accept-noise --search-only --trials 2 --start mode=broken >/dev/null
	run -0 infrarsi explain --trial 2
	[[ $(grep '^  fits ' <<<"$output") == *" -" ]]
	[[ $(grep '^  runs ' <<<"$output") == *" crashed"* ]]
}

@test "bad arguments, and places without a campaign" {
	enter_job pair
	run -2 infrarsi explain --trial 8
	has "there is no trial 8; expected 1 to 7"
	run -2 infrarsi explain --trial 8 --json
	is_json
	equals 2 "$(json "d['exit_code']")"
	for number in x 0 -1 1.5 "" 99999999999999999999; do
		run -2 infrarsi explain --trial "$number"
		has "explain: --trial: expected a trial number, got '$number'"
	done
	run -2 infrarsi explain --trial 1 --all
	has "--all goes without --trial"
	run -2 infrarsi explain 3
	has "unexpected argument '3'"
	mkdir "$BATS_TEST_TMPDIR/empty"
	cd "$BATS_TEST_TMPDIR/empty"
	run -2 infrarsi explain
	has "infrarsi.yaml does not exist; next: infrarsi init"
}
