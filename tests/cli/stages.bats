#!/usr/bin/env bats
# The five stages in order, what they leave behind, and the options of `run`.
load helpers

setup_file() {
	new_template
}

setup() {
	from_template
}

no_traces() { # the user's tree is as committed
	equals "" "$(git status --porcelain)"
}

run_by_hand() { # WHAT: the job as `apply` left it trains, outside the harness
	run -0 env INFRARSI_HOOK_DIR="$(dirname "$INFRARSI")/../hooks" ./run-fast.sh
	has "update 12 loss"
}

@test "init, doctor, run, report, apply, and the branch trains by hand" {
	no_traces
	run -0 infrarsi run --accept-noise
	has "delivered: "
	lacks "delivered: 1.00x"
	has ", trials 8, rejected "
	has "Next: infrarsi report"
	no_traces
	run -0 infrarsi report
	has "16 items: "
	[ -s .infrarsi/REPORT.md ]
	output=$(cat .infrarsi/result.json)
	is_json
	equals True "$(json "d['promoted']")"
	equals True "$(json "1 < d['interval'][0] <= d['delivered'] <= d['interval'][1]")"
	no_traces
	before=$(git rev-parse HEAD)
	run -0 infrarsi apply --branch faster
	has "on branch 'faster'"
	no_traces
	equals "$before" "$(git rev-parse HEAD)"
	git switch -q faster
	run_by_hand
}

@test "apply to the working tree, and undo" {
	run -0 infrarsi run --accept-noise --start algorithm=quick,define=-DSHORT --trials 1
	run -0 --separate-stderr infrarsi apply --json
	is_json
	run_by_hand
	rm -f train
	run -0 infrarsi apply --undo
	no_traces
}

@test "apply refuses a tree that changed since the search" {
	run -0 infrarsi run --accept-noise --start algorithm=quick --trials 1
	printf '\n/* edited */\n' >>train.c
	run infrarsi apply --branch faster
	[ "$status" -ne 0 ]
	has "train.c"
	run git rev-parse --verify -q faster
	equals 1 "$status"
}

@test "nothing is faster: exit 3, delivered 1.00x, the reference stays" {
	# Its settings change nothing that the job does.
	sed -i 's/^  - {name: algorithm.*/  - {name: algorithm, values: [plain, same, equal], reference: plain}/
		/name: micro_batch\|name: cache\|name: define\|name: mode\|^proposers/d
		s/"{micro_batch}", "{cache}", "{mode}"/"1", "off", "normal"/; s/, "DEFINE={define}"//
		/invariants:/d' infrarsi.yaml
	infrarsi init --accept >/dev/null
	git commit -q -a -m "no knob of use"
	run -0 infrarsi doctor
	run -3 infrarsi run --accept-noise
	has "delivered: 1.00x"
	no_traces
	output=$(cat .infrarsi/result.json)
	equals False "$(json "d['promoted']")"
	equals 1.0 "$(json "float(d['delivered'])")"
	run -2 infrarsi apply
	no_traces
}

@test "run again after the end changes nothing and says the same" {
	run -0 infrarsi run --accept-noise --start algorithm=quick --trials 1
	entries=$(ledger "select count(*) from entry")
	run -0 infrarsi run --accept-noise --trials 1
	has "delivered: "
	equals "$entries" "$(ledger "select count(*) from entry")"
}

@test "all outcomes: faster, slower, oom, crash, cheats refused and caught" {
	run -0 infrarsi run --accept-noise --search-only --trials 5 \
		--start algorithm=quick --start algorithm=careful --start micro_batch=4,cache=on --start mode=broken
	has "promotion was left out"
	has "refused by audit"
	has "02-every-other-step"
	run -0 --separate-stderr infrarsi show 1 --json
	equals valid "$(json "d['status']")"
	equals True "$(json "d['gain_ln'] > 0")"
	run -0 --separate-stderr infrarsi show 2 --json
	equals True "$(json "d['gain_ln'] < 0")"
	run -0 --separate-stderr infrarsi show 3 --json
	equals oom "$(json "d['status']")"
	equals True "$(json "'out of device memory' in d['evidence'] or d['failure'] == 'oom'")"
	run -0 infrarsi show 3
	has "100 B"
	run -0 infrarsi show 4
	has "trial 4  crashed"
	has "signal 6"
	has "means  blamed on"
	run -0 infrarsi show 4 --log
	has "environment: "
}

@test "a patch that the audit passes and the verifier does not" {
	rm patches/01* patches/02*
	git commit -q -a -m "one patch"
	run infrarsi run --accept-noise --trials 12 --fix algorithm=plain --fix micro_batch=1 --fix cache=off \
		--fix define=-DLONG --fix mode=normal
	equals 3 "$status"
	has "+03-repeated-rows"
	has "invalid: same_data"
	run -1 infrarsi verify
	has "same_data"
}

@test "an honest patch is one commit on the branch; a trial without a duel needs --force" {
	rm patches/02* patches/03*
	git commit -q -a -m "one patch"
	run -0 infrarsi doctor --new --hurry
	run -0 infrarsi run --accept-noise --search-only --trials 12 --fix algorithm=plain --fix micro_batch=1 \
		--fix cache=off --fix define=-DLONG --fix mode=normal
	has "+01-less-effort"
	run -2 infrarsi apply --branch faster --trial 1
	has "--force"
	run -0 infrarsi apply --branch faster --trial 1 --force
	no_traces
	run git log --format=%s HEAD..faster
	equals 2 "${#lines[@]}"
	has "less effort"
	run git show faster:train.c
	has "effort = 20"
}

@test "doctor and run leave no trace in git, whatever the tree looks like" {
	printf '\n/* mine */\n' >>train.c
	printf 'note\n' >untracked.txt
	git add untracked.txt
	printf 'more\n' >>untracked.txt
	before=$(git status --porcelain; git diff; git diff --cached)
	run -0 infrarsi doctor --new
	run infrarsi run --accept-noise --trials 2 --search-only
	equals 0 "$status"
	equals "$before" "$(git status --porcelain; git diff; git diff --cached)"
}

@test "--dry-run shows the exact command and runs nothing" {
	entries=$(ledger "select count(*) from entry")
	run -0 infrarsi run --dry-run --fix algorithm=quick --start micro_batch=2,cache=on
	has "run       ./train 12 quick 2 on normal"
	has "DEFINE=-DLONG"
	has "data.txt"
	run -0 --separate-stderr infrarsi run --dry-run --json --fix algorithm=careful
	is_json
	equals "./train 12 careful 1 off normal" "$(json "' '.join(d['run'])")"
	run -2 infrarsi run --dry-run --start micro_batch=3
	has "knob micro_batch has no value '3'; expected one of: 1, 2, 4"
	equals "$entries" "$(ledger "select count(*) from entry")"
}

@test "--fix and --start: what they hold, and their mistakes" {
	for wrong in algorithm algorithm= =quick; do
		run -2 infrarsi run --accept-noise --fix "$wrong"
		equals 1 "${#lines[@]}"
	done
	run -2 infrarsi run --accept-noise --fix algoritm=quick
	has "the task has no knob 'algoritm'"
	has "did you mean 'algorithm'?"
	run -2 infrarsi run --accept-noise --fix algorithm=fast
	has "expected one of: plain, quick, careful"
	run -2 infrarsi run --accept-noise --start algorithm=quick,
	equals 1 "${#lines[@]}"
	run -0 infrarsi run --accept-noise --search-only --trials 4 --fix micro_batch=2 --fix mode=normal
	for number in 1 2 3 4; do
		run -0 --separate-stderr infrarsi show $number --json
		equals "2 normal" "$(json "d['candidate']['settings']['micro_batch'] + ' ' + d['candidate']['settings']['mode']")"
	done
}

@test "--strategy: random runs, an unknown one is refused with the names" {
	run -2 infrarsi run --accept-noise --strategy rnadom
	has "expected one of: controller, random, greedy"
	has "got 'rnadom'"
	run -0 infrarsi run --accept-noise --strategy random --search-only --trials 3 --fix mode=normal
	equals 3 "$(ledger "select count(*) from entry where kind='finished' and trial > 0")"
}

@test "--search-only leaves promotion to the next run" {
	run -0 infrarsi run --accept-noise --search-only --trials 2 --start algorithm=quick
	run -2 infrarsi apply
	run -0 infrarsi run --accept-noise --trials 2
	has "delivered: "
	equals 2 "$(ledger "select count(*) from entry where kind='finished' and trial > 0 and body like '%\"role\":\"search\"%'")"
}

@test "audit: 1 for a blocked diff, 0 for a clean one, 2 for none" {
	run -1 infrarsi audit patches/02-every-other-step.diff
	has "block: A3"
	has "train.c:"
	run -0 infrarsi audit patches/01-less-effort.diff
	equals clean "$output"
	run -1 --separate-stderr infrarsi audit --json patches/02-every-other-step.diff
	is_json
	equals True "$(json "d['blocked'] and d['findings'][0]['line'] > 0")"
	run -0 --separate-stderr infrarsi audit --json patches/01-less-effort.diff
	is_json
	run -2 infrarsi audit no-such.diff
	has "no-such.diff"
	run -2 infrarsi audit data.txt
	run -2 --separate-stderr infrarsi audit --json data.txt
	is_json
}

@test "--json of every stage is one document on stdout and nothing else" {
	run -0 --separate-stderr infrarsi init --json
	is_json
	run -0 --separate-stderr infrarsi doctor --json
	is_json
	equals 4 "$(json "len(d['reference_s'])")"
	run -0 --separate-stderr infrarsi run --json --accept-noise --trials 2 --start algorithm=quick
	is_json
	run -0 --separate-stderr infrarsi report --json
	is_json
	run -0 --separate-stderr infrarsi show 1 --json
	is_json
	run -0 --separate-stderr infrarsi show 1 --log --json
	is_json
	run -0 --separate-stderr infrarsi verify --json .infrarsi/receipts/0001.json
	is_json
	run -0 --separate-stderr infrarsi apply --json --branch faster
	is_json
	run -2 --separate-stderr infrarsi show 99 --json
	is_json
	run -2 --separate-stderr infrarsi verify --json missing.json
	is_json
}

@test "audit --accept: only what waits for a review can be accepted" {
	from_template
	run -2 infrarsi audit --accept nothing
	has "no patch 'nothing'"
	run -2 infrarsi audit --accept 01-less-effort
	has "does not wait for a review"
	run -2 infrarsi audit --accept 99
	has "no trial 99"
}
