#!/usr/bin/env bats
# What a trial costs: trials that are provably slower are stopped, a search ends where another trial is not worth its
# price, and a budget keeps a duel for promotion.
load helpers

setup_file() {
	export FIXTURES=$BATS_TEST_DIRNAME/../fixtures/simulate
	# Long runs, so that a stop comes well before their end however busy the machine is.
	new_repo "$BATS_FILE_TMPDIR/template"
	sed -i 's/updates: 12/updates: 40/; s/frozen_files/horizon: 100\n  frozen_files/' infrarsi.yaml
	# And one so slow that the noise of a busy machine cannot hide it.
	sed -i 's/milliseconds \*= 1.5;/milliseconds *= 20;/' train.c
	sed -i 's/values: \[normal, broken\]/values: [normal, broken, shouts]/' infrarsi.yaml
	git commit -qam longer
	lock
	infrarsi doctor --seed 7 >"$BATS_FILE_TMPDIR/doctor.txt"
}

setup() { from_template; }

careful_after_quick() { # ARGUMENTS of run: a trial twice as fast as the reference, then one forty times slower than it
	infrarsi run --accept-noise --trials 2 --search-only --start algorithm=quick --start algorithm=careful "$@"
}

@test "a trial that is slower than the best so far is stopped, and never valid" {
	careful_after_quick --early-stop
	run infrarsi report
	has "slower: stopped early"
	equals 1 "$(ledger "select count(*) from entry where kind = 'finished' and
		json_extract(body, '\$.failure') = 'stopped_slow'")"
	run infrarsi show 2 --json
	is_json
	equals slower "$(json 'd["status"]')"
	equals False "$(json 'd["verdict"]["valid"]')"
	# two updates of warm-up, five measured, and far from the end
	equals True "$(json '7 <= d["updates"] < 40')"
	equals True "$(json '"stopped early as too slow" in d["verdict"]["items"]["completes"]["reason"]')"
	equals True "$(json 'd["gain_ln"] < 0')"
	run infrarsi show 2
	has "it can never be the winner"
}

@test "what a job says when it is stopped is no cause" {
	infrarsi run --accept-noise --trials 2 --search-only --early-stop --start algorithm=quick \
		--start algorithm=careful,mode=shouts
	run infrarsi show 2 --json
	equals slower "$(json 'd["status"]')"
	equals stopped_slow "$(ledger "select json_extract(body, '\$.failure') from entry where kind = 'finished' and trial = 2")"
	run infrarsi show 2 --log
	has "RuntimeError: terminated" # it did say so
	run infrarsi explain
	lacks "mode=shouts  failed"
}

@test "the receipt of a stopped trial says so, to who judges it again" {
	careful_after_quick --early-stop
	receipt=$(ledger "select json_extract(body, '\$.receipt') from entry where kind = 'finished' and trial = 2")
	run -1 infrarsi verify --details ".infrarsi/$receipt"
	has "INVALID"
	has "L1 completes: stopped early as too slow"
	run infrarsi verify
	has " 0 refused"
	books_balance
}

@test "the task file asks for it, too; without either nothing is stopped" {
	careful_after_quick
	equals valid "$(infrarsi show 2 --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["status"])')"
	echo 'search: {early_stop: true}' >>infrarsi.yaml
	infrarsi run --accept-noise --trials 3 --search-only --start algorithm=careful,micro_batch=2
	equals slower "$(infrarsi show 3 --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["status"])')"
}

@test "another trial that is not worth its price ends the search, if asked to" {
	run infrarsi run --accept-noise --stop-when-not-worth --trials 8
	has "another trial costs about"
	has "over 100 updates"
	run infrarsi report
	has "The search ended before its trials were used: another trial costs about"
	run infrarsi report --json
	equals not_worth "$(json 'd["search_over"]["why"]')"
	n=$(finished_trials)
	[ "$n" -lt 8 ]
	# The ledger knows: the next call is told the same, records nothing and tries nothing.
	run infrarsi run --accept-noise --stop-when-not-worth --trials 8
	equals "$n" "$(finished_trials)"
	equals 1 "$(ledger "select count(*) from entry where json_extract(body, '\$.what') = 'search_over'")"
}

@test "what the task file says of the controller is said not to count for another strategy, and is not recorded" {
	echo 'search: {operators_off: [escape], starts: [prior], stop: worth}' >>infrarsi.yaml
	run infrarsi run --accept-noise --search-only --trials 1 --strategy one-factor
	has "infrarsi.yaml (-escape -start:experience +start:prior) are for the strategy controller: one-factor proposes without them"
	has "search.stop: worth of "
	has "one-factor fits no model that tells what a trial is worth, so all trials are run"
	equals 1 "$(finished_trials)"
	equals "" "$(ledger "select json_extract(body, '\$.switches') from entry where kind = 'decision'")"
	sed -i 's/, stop: worth//' infrarsi.yaml # which may end the search before its next decision
	run infrarsi run --accept-noise --search-only --trials 2
	lacks "for the strategy controller"
	equals "-escape -start:experience +start:prior" \
		"$(ledger "select json_extract(body, '\$.switches') from entry where kind = 'decision' order by id desc limit 1")"
}

@test "without a horizon nobody can tell what a trial is worth" {
	sed -i '/horizon:/d' infrarsi.yaml
	infrarsi init --accept >/dev/null
	infrarsi doctor --new --seed 7 >/dev/null
	run -2 infrarsi run --accept-noise --stop-when-not-worth
	has "contract.horizon"
	equals 0 "$(finished_trials)"
	echo 'search: {stop: worth}' >>infrarsi.yaml
	run -2 infrarsi run --accept-noise
	has "infrarsi.yaml:"
	has "search.stop: worth needs contract.horizon"
}

@test "a budget of device-hours keeps a duel for promotion" {
	# 3.6 seconds; a run takes one at least, and a duel four of them or eight.
	sed -i 's/budget: {trials: 8}/budget: {trials: 8, device_hours: 0.001}/' infrarsi.yaml
	run infrarsi run --accept-noise
	has "the budget of 0.001 device-hours has no room for another trial"
	has "kept for the final duel"
	run infrarsi report --json
	equals device_hours "$(json 'd["search_over"]["why"]')"
}

@test "a simulated campaign shows what early stops would save" {
	local off on
	off=$(infrarsi simulate "$FIXTURES/small.json" --trials 12 --seed 3 --json)
	on=$(infrarsi simulate "$FIXTURES/small.json" --trials 12 --seed 3 --json --early-stop)
	python3 - "$off" "$on" <<-'END'
		import json, sys
		off, on = (json.loads(text)["device_hours"]["search"] for text in sys.argv[1:])
		assert 0 < on < off, (on, off)
	END
	run -2 infrarsi simulate "$FIXTURES/small.json" --stop-when-not-worth
	has "--horizon"
	run infrarsi simulate "$FIXTURES/small.json" --trials 12 --horizon 10 --stop-when-not-worth
	has "another trial costs about"
	has "over 10 updates"
}
