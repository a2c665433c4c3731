#!/usr/bin/env bats
# --operators-off, --operators-on and --starts of `run` and `simulate`, and `search:` of the task file.
load helpers

setup_file() {
	new_repo "$BATS_FILE_TMPDIR/template"
	lock
}

setup() {
	FIXTURES=$CLI_DIR/../fixtures/simulate
	export TMPDIR=$BATS_TEST_TMPDIR/tmp
	mkdir -p "$TMPDIR"
}

simulate() { # OPTIONS: a campaign in ./kept, made anew; enters it
	rm -rf kept
	run infrarsi simulate "$FIXTURES/${JOB:-small}.json" --trials 6 --out kept "$@"
	[ "$status" -eq 0 ] || [ "$status" -eq 3 ]
	cd kept/job || return 1
}

labels() { # of all decisions, one a line
	ledger "select json_extract(body, '\$.operators') from entry where kind = 'decision'"
}

@test "what is off proposes nothing, and each decision says what was switched" {
	cd "$BATS_TEST_TMPDIR"
	simulate
	labels | grep -q exploit
	labels | grep -q escape
	equals "" "$(ledger "select json_extract(body, '\$.switches') from entry where kind = 'decision' limit 1")"
	cd ../..
	simulate --operators-off escape,exploit
	equals 0 "$(labels | grep -c -e escape -e exploit)"
	equals 6 "$(labels | grep -c .)"
	equals "-exploit -escape" \
		"$(ledger "select distinct json_extract(body, '\$.switches') from entry where kind = 'decision'")"
}

@test "what is off by default can be switched on" {
	cd "$BATS_TEST_TMPDIR"
	simulate --operators-on patch --operators-off exploit,backtrack,bundle,escape,warm_restart,survey
	labels | grep -q '^patch'
	equals "-exploit -backtrack -bundle -escape -warm_restart +patch -survey" \
		"$(ledger "select distinct json_extract(body, '\$.switches') from entry where kind = 'decision'")"
}

@test "with everything off, chance proposes" {
	cd "$BATS_TEST_TMPDIR"
	simulate --operators-off exploit,backtrack,bundle,escape,warm_restart,survey
	equals 6 "$(labels | grep -c '^random')"
}

@test "starts: in their order, before the search; none where none is named" {
	cd "$BATS_TEST_TMPDIR"
	simulate --starts random,prior
	equals "start start" "$(labels | head -2 | cut -d+ -f1 | tr '\n' ' ' | sed 's/ $//')"
	equals 0 "$(labels | tail -n +3 | grep -c ^start || true)"
	ledger "select json_extract(body, '\$.reason') from entry where kind = 'decision'" >reasons
	[[ $(sed -n 1p reasons) == "prior start"* ]]
	[[ $(sed -n 2p reasons) == "random start"* ]]
	cd ../..
	JOB=cliff
	simulate --experience
	[[ $(labels | head -1) == start* ]]
	cd ../..
	simulate --experience --starts ""
	equals 0 "$(labels | grep -c ^start || true)"
}

@test "list names every operator and start, with its default" {
	run -0 infrarsi run --operators-off list
	for name in exploit backtrack bundle escape warm_restart contrarian big_knob extrapolate stack patch conflict \
		proposed survey prior_revision experience prior random; do
		[[ $output =~ (^|$'\n')"  $name "\ *(on|off)\ +[a-z] ]] || {
			echo "no $name in: $output"
			return 1
		}
	done
	run -0 infrarsi simulate --starts list --json
	is_json
	equals 14 "$(json "len(d['operators'])")"
	equals "['experience', 'prior', 'random']" "$(json "sorted(d['starts'])")"
	equals True "$(json "d['operators']['exploit']['on_by_default'] and d['starts']['experience']['on_by_default']")"
	equals False "$(json "d['starts']['random']['on_by_default']")"
}

@test "an unknown name is an error with the known ones; nothing is begun" {
	from_template
	for command in run "simulate $FIXTURES/small.json"; do
		# shellcheck disable=SC2086
		run -2 infrarsi $command --operators-off escpae
		has "--operators-off: there is no operator 'escpae' (did you mean 'escape'?); known are exploit, backtrack, bundle,"
		# shellcheck disable=SC2086
		run -2 infrarsi $command --operators-on escape,
		has "--operators-on: there is no operator ''"
		# shellcheck disable=SC2086
		run -2 infrarsi $command --starts users
		has "--starts: there is no start 'users'; known are experience, prior, random"
		# shellcheck disable=SC2086
		run -2 infrarsi $command --operators-on patch --operators-off stack,patch
		has "--operators-on: 'patch' is in --operators-off, too"
		# shellcheck disable=SC2086
		run -2 infrarsi $command --operators-off escape --strategy greedy
		has "are for the strategy controller, not for greedy"
		# shellcheck disable=SC2086
		run -2 infrarsi $command --stop-when-not-worth --strategy greedy
		has "--stop-when-not-worth is for the strategy controller: greedy fits no model"
	done
	# and before a command is shown
	run -2 infrarsi run --dry-run --strategy greeedy
	has "--strategy: expected one of: controller, "
	equals 0 "$(ledger "select count(*) from entry")"
	equals "" "$(ls -A "$TMPDIR")"
}

@test "the task file: names are checked with their place, and are not part of the contract" {
	from_template
	cp infrarsi.lock before.lock
	echo 'search: {operators_off: [escape, servey]}' >>infrarsi.yaml
	run -2 infrarsi run
	has "search.operators_off: 'servey' is none of exploit, "
	has "(did you mean 'survey'?)"
	[[ ${lines[0]} =~ infrarsi\.yaml:[0-9]+:34:\  ]]
	sed -i 's/servey/survey/' infrarsi.yaml
	run -0 infrarsi init
	cmp before.lock infrarsi.lock
}

@test "the benchmark compares the controller with a part off and on" {
	bench=$(dirname "$INFRARSI")/bench/search
	[ -x "$bench" ] || skip "built without benchmarks"
	cd "$BATS_TEST_TMPDIR"
	run -0 --separate-stderr "$bench" --landscapes "$FIXTURES" --budgets 4 --seeds 1 --jobs 1 --strategies u \
		--without escape,exploit+backtrack --with patch,random --json out.json
	output=$(cat out.json)
	is_json
	equals "['controller', 'u-escape', 'u-exploit+backtrack', 'u+patch', 'u+random']" "$(json "d['strategies']")"
	run -2 "$bench" --landscapes "$FIXTURES" --without nothing
	has "--without: there is no operator 'nothing'"
}
