#!/usr/bin/env bats
# Whole campaigns on simulated jobs: nothing is launched, nothing waits, and what is said is true of the job.
load helpers

setup() {
	FIXTURES=$CLI_DIR/../fixtures/simulate
	export HOME=$BATS_TEST_TMPDIR XDG_STATE_HOME=$BATS_TEST_TMPDIR/user-state TMPDIR=$BATS_TEST_TMPDIR/tmp
	mkdir -p "$TMPDIR"
	cd "$BATS_TEST_TMPDIR" || return 1
}

no_traces() { # no temporary folder is left, and no key of the user's was made
	equals "" "$(ls -A "$TMPDIR")"
	[ ! -e "$XDG_STATE_HOME" ]
}

@test "a landscape: rows as they come, and what it came to" {
	run -0 infrarsi simulate "$FIXTURES/small.json" --trials 10 --seed 3
	has "Delivered  1."
	has "claimed during the search"
	# the fixture's optimum is 0.376 in ln
	has "Optimum    1.46x; regret "
	has "Cost       10 trials, "
	has "promotion "
	# ten rows, a duel and its result
	equals 10 "$(grep -c '^ *[0-9][0-9]*  ' <<<"$output")"
	has "duel 1  pair 1/"
	no_traces
}

@test "--json: one document, delivered at most the optimum, every trial accounted for" {
	run -0 infrarsi simulate "$FIXTURES/small.json" --trials 10 --seed 3 --json
	is_json
	equals "landscape small controller 3" "$(json "' '.join(str(d[k]) for k in ('kind', 'job', 'strategy', 'seed'))")"
	equals True "$(json "1 < d['delivered_true'] <= d['optimum'] * (1 + 1e-9)")"
	equals True "$(json "abs(d['optimum'] - 2.718281828459045 ** 0.376) < 1e-9")"
	equals True "$(json "0 <= sum(d['failed'].values()) < d['trials'] == 10")"
	equals True "$(json "d['promoted'] and set(d['settings']) == {'micro_batch', 'recompute', 'zero', 'loader_workers', 'p_fused_norm'}")"
	equals True "$(json "all(v > 0 for v in d['device_hours'].values())")"
	equals None "$(json "d['campaign']")"
	first=$output
	run -0 infrarsi simulate "$FIXTURES/small.json" --trials 10 --seed 3 --json
	equals "$first" "$output"
	run -0 infrarsi simulate "$FIXTURES/small.json" --trials 10 --seed 4 --json
	[ "$first" != "$output" ]
}

@test "a surface with its defaults" {
	run -0 infrarsi simulate --surface "$FIXTURES/toy__2x4h100.csv" --defaults "$FIXTURES/defaults.json" --trials 12 --json
	is_json
	equals "surface toy__2x4h100" "$(json "d['kind'] + ' ' + d['job']")"
	# the default takes 5.6591 s, the fastest row 4.45 s
	equals True "$(json "abs(d['optimum'] - 5.6591 / 4.45) < 1e-9")"
	equals "['mbs', 'pp', 'tp', 'zero']" "$(json "sorted(d['settings'])")"
	run -0 infrarsi simulate --surface "$FIXTURES/kernel__toy.csv" --trials 12
	has "Delivered  "
	no_traces
}

@test "cheats and losses are never delivered; with experience the cliff is found" {
	run -0 infrarsi simulate "$FIXTURES/cliff.json" --trials 12 --experience --json
	equals True "$(json "d['settings']['compile'] == 'on' and d['settings']['liger'] == 'off'")"
	for strategy in controller random greedy; do
		run infrarsi simulate "$FIXTURES/cliff.json" --trials 15 --strategy "$strategy" --json
		[ "$status" -eq 0 ] || [ "$status" -eq 3 ]
		equals True "$(json "d['settings'].get('p_skip_aux', 'off') == 'off' and d['settings'].get('fp8', 'off') == 'off'")"
	done
}

@test "--hints: some crashes and hangs say what is to blame, nothing of it on tables" {
	for seed in 1 2 3 4 5 6; do
		run infrarsi simulate "$FIXTURES/cliff.json" --trials 12 --strategy random --seed "$seed" --hints --out "hints$seed"
		[ "$status" -eq 0 ] || [ "$status" -eq 3 ]
	done
	grep -Eqs "NotImplementedError: no support for|Watchdog caught collective operation timeout" hints?/job/.infrarsi/logs/*.log
	grep -Eqs "simulated: the job (aborts|stands still)" hints?/job/.infrarsi/logs/*.log
	run -2 infrarsi simulate --surface "$FIXTURES/kernel__toy.csv" --hints
	has "--hints is for landscapes"
}

@test "--out keeps a campaign that report and verify read" {
	run -0 infrarsi simulate "$FIXTURES/cliff.json" --trials 8 --strategy one-factor --out kept
	has "Campaign   kept in $BATS_TEST_TMPDIR/kept/job"
	[ ! -e "$XDG_STATE_HOME" ]
	cd kept/job
	run -0 infrarsi report
	has "8 "
	equals one-factor "$(ledger "select distinct json_extract(body, '\$.strategy') from entry where kind = 'decision'")"
	equals 8 "$(ledger "select count(*) from entry where kind = 'registered'")"
	XDG_STATE_HOME=$BATS_TEST_TMPDIR/kept/state run infrarsi verify
	[ "$status" -le 1 ]
	has " 0 refused"
	cd ../..
	run -2 infrarsi simulate "$FIXTURES/cliff.json" --out kept/job
	has "expected a folder that is empty or does not exist"
}

@test "every strategy runs; list names them; an unknown one is an error with the list" {
	run -0 infrarsi simulate --strategy list
	for name in controller random greedy best-of-chains optico aide microbatch-ladder tpe tpe-sparse one-factor; do
		has "$name"
	done
	has "reconstruction"
	run -0 infrarsi run --strategy list --json
	is_json
	for name in $(json "' '.join(d)"); do
		run infrarsi simulate "$FIXTURES/small.json" --trials 4 --strategy "$name" --json
		[ "$status" -eq 0 ] || [ "$status" -eq 3 ]
		equals "$name 4" "$(json "d['strategy'] + ' ' + str(d['trials'])")"
	done
	run -2 infrarsi simulate "$FIXTURES/small.json" --strategy best
	has "--strategy: expected one of: controller, random, greedy"
	no_traces
}

@test "bad files and arguments say what was expected, and leave nothing behind" {
	run -2 infrarsi simulate
	has "expected a landscape, or --surface and a table"
	run -2 infrarsi simulate a.json --surface b.csv
	has "expected a landscape, or --surface and a table"
	run -2 infrarsi simulate missing.json
	has "missing.json"
	echo '{"name": "x"}' >short.json
	run -2 infrarsi simulate short.json
	has "short.json: the document: expected an object with the key 'capacity_gib'"
	echo '{' >broken.json
	run -2 infrarsi simulate broken.json --json
	is_json
	equals broken.json "$(json "d['file']")"
	printf 'a,time_s,peak_mem_gib,status\n1,x,,ok\n' >bad.csv
	run -2 infrarsi simulate --surface bad.csv
	has "bad.csv:2:3: expected seconds above 0"
	run -2 infrarsi simulate --surface table.csv.xz
	has "has to be unpacked first"
	run -2 infrarsi simulate --surface "$FIXTURES/kernel__toy.csv" --experience
	has "--experience is for landscapes"
	run -2 infrarsi simulate "$FIXTURES/small.json" --trials many
	has "expected a whole number"
	no_traces
}

@test "nothing to win: 1.00x and exit code 3" {
	printf 'a,time_s,peak_mem_gib,status\n1,1,,ok\n2,1.2,,ok\n4,1.5,,ok\n' >flat__cpu.csv
	run -3 infrarsi simulate --surface flat__cpu.csv
	has "Delivered  1.00x: nothing was faster beyond noise and valid"
	has "nothing is faster than the reference"
	has "Cost       2 trials, 0 failed"
	no_traces
}

@test "the benchmark: the same arguments give the same JSON, whatever the workers" {
	bench=$(dirname "$INFRARSI")/bench/search
	[ -x "$bench" ] || skip "built without benchmarks"
	for jobs in 1 2; do
		"$bench" --landscapes "$FIXTURES" --surfaces "$FIXTURES" --budgets 3,6 --seeds 2 --jobs $jobs \
			--strategies u,greedy --json "$jobs.json" >"$jobs.txt" 2>/dev/null
	done
	cmp 1.json 2.json
	cmp 1.txt 2.txt
	output=$(cat 1.json)
	is_json
	equals True "$(json "d['complete'] and [b['trials'] for b in d['budgets']] == [3, 6]")"
	equals "['cliff', 'kernel__toy', 'small', 'toy__2x4h100']" "$(json "sorted(d['budgets'][0]['jobs'])")"
	# the first strategy is compared with itself
	equals True "$(json "d['budgets'][1]['groups']['kernel tables']['controller']['first_strategy_ahead_fraction'] == [0, 0, 0]")"
	run -2 "$bench" --strategies best
	mkdir none
	run -2 "$bench" --landscapes none
	has "no landscape and no surface"
}
