#!/usr/bin/env bats
# What a trial cannot touch, and what it cannot see: frozen files, other trials, the user's tree and secrets.
load helpers

setup_file() {
	new_template
}

setup() {
	from_template
}

modes() { # VALUES: of the knob `mode`
	sed -i "s/values: \[normal, broken\]/values: [$1]/" infrarsi.yaml
}

log_of() { # TRIAL
	infrarsi show "$1" --json | python3 -c 'import json, sys; print(".infrarsi/" + json.load(sys.stdin)["log"])'
}

status_of() { # TRIAL
	infrarsi show "$1" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["status"])'
}

begin_again() { # after an edit that the contract covers
	infrarsi init --accept >/dev/null
	infrarsi doctor --new --hurry "$@" >/dev/null
}

works_sandboxed() {
	bwrap --ro-bind / / --dev /dev --proc /proc --unshare-pid true 2>/dev/null ||
		skip "bubblewrap does not work here"
}

@test "the sandbox keeps a job from writing a frozen file" {
	works_sandboxed
	modes "normal, rewrite"
	run -0 infrarsi run --require-sandbox --accept-noise --search-only --trials 2 --start mode=rewrite \
		--start algorithm=quick
	run cat "$(log_of 1)"
	has "cannot write data.txt"
	equals crashed "$(status_of 1)"
	equals valid "$(status_of 2)"
	equals "" "$(git status --porcelain data.txt)"
}

@test "without a sandbox the verifier rejects a job that rewrote a frozen file" {
	modes "normal, rewrite"
	run -0 infrarsi run --no-sandbox --accept-noise --search-only --trials 2 --start mode=rewrite \
		--start algorithm=quick
	has "invalid: frozen_files"
	equals invalid "$(status_of 1)"
	run -0 infrarsi show 1
	has "data.txt"
	# Neither the user's file nor the next trial's has changed.
	equals valid "$(status_of 2)"
	equals "" "$(git status --porcelain data.txt)"
}

@test "a patch on a frozen file is refused before it runs" {
	rm -f patches/*
	sed '1s/^./9/' data.txt | diff -u --label a/data.txt --label b/data.txt data.txt - >patches/data.diff || true
	run infrarsi run --accept-noise --search-only --trials 1 --fix mode=normal
	equals 0 "$status"
	has "refused by the patch check"
	has "data.txt"
	run ! grep -q "data" <(infrarsi show 1 | grep candidate)
}

@test "a frozen file edited after init: doctor and run refuse, exit 5, and name it" {
	cp data.txt kept.txt
	echo "1 1 1 1 1 1 1 1" >>data.txt
	for command in doctor "run --accept-noise" init; do
		# shellcheck disable=SC2086
		run -5 infrarsi $command
		has "data.txt"
	done
	run -5 --separate-stderr infrarsi run --json
	is_json
	equals 5 "$(json "d['exit_code']")"
	mv kept.txt data.txt
	run -0 infrarsi run --accept-noise --search-only --trials 1
}

@test "a frozen file removed after init: exit 5" {
	rm data.txt
	run -5 infrarsi run --accept-noise
	has "data.txt: missing"
	run -5 infrarsi doctor
}

@test "a contract edited after init: exit 5 until it is accepted, and then a new campaign" {
	sed -i 's/loss: {tolerance: 1%}/loss: {tolerance: 40%}/' infrarsi.yaml
	run -5 infrarsi run --accept-noise
	has "contract"
	run -0 infrarsi init --accept
	run -5 infrarsi run --accept-noise
	has "infrarsi doctor --new"
}

@test "a build setting is really built with, although make sees no reason to" {
	run -0 infrarsi run --accept-noise --search-only --trials 2 --start define=-DSHORT --start algorithm=quick
	grep -q "built: SHORT" "$(log_of 1)"
	run ! grep -q "built: SHORT" "$(log_of 2)"
	run ! grep -q "built: SHORT" .infrarsi/logs/0001.log
}

@test "a setting that cannot be built is an outcome, with the compiler's line as evidence" {
	sed -i 's/values: \["-DLONG", "-DSHORT"\]/values: ["-DLONG", "-DFAIL"]/' infrarsi.yaml
	run -0 infrarsi run --accept-noise --search-only --trials 2 --start define=-DFAIL --start algorithm=quick
	has "build failed"
	run -0 infrarsi show 1
	has "this setting cannot be built"
	has "train.c:"
	equals valid "$(status_of 2)"
}

@test "a file that one trial leaves is not there for the next, sandboxed or not" {
	sed -i "s/values: \[normal, broken\], reference: normal/values: [leave, normal], reference: leave/" infrarsi.yaml
	for option in "" --no-sandbox; do
		# shellcheck disable=SC2086
		begin_again $option
		# shellcheck disable=SC2086
		run -0 infrarsi run $option --accept-noise --search-only --trials 2 --fix mode=leave \
			--start algorithm=quick --start algorithm=careful
		equals "valid valid" "$(status_of 1) $(status_of 2)"
	done
	[ ! -e left-over.txt ]
}

@test "an uncommitted edit is part of the reference, a later one is not" {
	sed -i 's/printf("update %d loss/printf("edited update %d loss/' train.c
	run -0 infrarsi doctor --new --hurry
	grep -q "edited update 12" .infrarsi/logs/0001.log
	echo '#error "edited after doctor"' >>train.c
	run -0 infrarsi run --accept-noise --search-only --trials 1 --start algorithm=quick
	equals valid "$(status_of 1)"
	grep -q "edited update 12" "$(log_of 1)"
}

@test "the environment is scrubbed; what pass_env names reaches the job and no record" {
	sed -i 's/^  timeout: 1m/  pass_env: [PASSED_TOKEN]\n  timeout: 1m/' infrarsi.yaml
	export KEPT_SECRET=kept-7f3a91 PASSED_TOKEN=passed-55c0de
	begin_again
	run -0 infrarsi run --accept-noise --search-only --trials 1 --start algorithm=quick
	log=$(log_of 1)
	run ! grep -q "kept-7f3a91" "$log"
	grep -q "environment: PASSED_TOKEN=passed-55c0de" "$log"
	run -0 infrarsi report
	run -0 infrarsi run --dry-run
	has "PASSED_TOKEN (value not shown)"
	lacks "passed-55c0de"
	run grep -rlaF -e "kept-7f3a91" .infrarsi "$XDG_STATE_HOME"
	equals "" "$output"
	run grep -rlaF -e "passed-55c0de" .infrarsi/logs
	equals 5 "${#lines[@]}" # three reference runs, the profile and the trial
	run grep -rlaF -e "passed-55c0de" --exclude-dir=logs .infrarsi "$XDG_STATE_HOME"
	equals "" "$output"
}

@test "no helper, build, check or supervisor sees the harness's environment" {
	mkdir "$BATS_TEST_TMPDIR/spies"
	for program in git make cc bwrap python3; do
		real=$(command -v $program) || continue
		cat >"$BATS_TEST_TMPDIR/spies/$program" <<SH
#!/bin/sh
{ echo "$program:"; env; } >>"$BATS_TEST_TMPDIR/seen.txt" 2>/dev/null || env >&2
exec "$real" "\$@"
SH
		chmod +x "$BATS_TEST_TMPDIR/spies/$program"
	done
	sed -i 's|^  timeout: 1m|  pass_env: [PASSED_TOKEN]\n  timeout: 1m|
		s|^  editable_files|  tests: [["sh", "-c", "env; echo checked >\&2"]]\n&|' infrarsi.yaml
	export PATH="$BATS_TEST_TMPDIR/spies:$PATH"
	export SOME_API_KEY=planted-9d1c GIT_TOKEN=planted-9d1c CFLAGS=planted-9d1c PYTHONSTARTUP=/planted-9d1c \
		PASSED_TOKEN=passed-8e2b
	infrarsi init --accept >/dev/null
	for option in "" --no-sandbox; do
		# shellcheck disable=SC2086
		run -0 infrarsi doctor --new --hurry $option
		"$INFRARSI" run $option --accept-noise --trials 2 --start algorithm=quick >/dev/null &
		pid=$!
		while kill -0 $pid 2>/dev/null; do
			for child in $(pgrep -P $pid -f __supervise); do
				cat "/proc/$child/environ" 2>/dev/null | tr '\0' '\n' >>"$BATS_TEST_TMPDIR/supervisor.txt" || true
			done
			sleep 0.02
		done
		wait $pid || true
		run -0 infrarsi report
		run infrarsi verify
		has " 0 refused"
	done
	for program in git make cc bwrap; do
		grep -q "^$program:" "$BATS_TEST_TMPDIR/seen.txt" || { echo "$program was not asked"; false; }
	done
	grep -q "LC_ALL=C" "$BATS_TEST_TMPDIR/supervisor.txt"
	run grep -rlaF -e planted-9d1c "$BATS_TEST_TMPDIR/seen.txt" "$BATS_TEST_TMPDIR/supervisor.txt" .infrarsi "$XDG_STATE_HOME" .git
	equals "" "$output"
	# What pass_env names: the job's and the checks' own output at most, no helper, no build, no record.
	run grep -rlaF -e passed-8e2b "$BATS_TEST_TMPDIR/seen.txt" "$BATS_TEST_TMPDIR/supervisor.txt" "$XDG_STATE_HOME" .git
	equals "" "$output"
	run bash -c "grep -rlaF -e passed-8e2b .infrarsi | grep -v -e /logs/ -e '/control/[0-9]*/test1/log'"
	equals "" "$output"
}

@test "what a job was told in confidence does not stay on the disk when infrarsi is killed" {
	sed -i 's|^  timeout: 1m|  pass_env: [PASSED_TOKEN]\n  timeout: 1m|; s/values: \[normal, broken\]/values: [normal, hang]/' infrarsi.yaml
	export PASSED_TOKEN=passed-8e2b
	begin_again
	"$INFRARSI" run --accept-noise --search-only --trials 1 --start mode=hang >output.txt 2>&1 3>&- &
	pid=$!
	wait_until 120 test -s .infrarsi/logs/0005.log
	kill -KILL $pid
	wait $pid || true
	run bash -c "grep -rlaF -e passed-8e2b .infrarsi \"$XDG_STATE_HOME\" | grep -v /logs/"
	equals "" "$output"
}

@test "the job sees neither the keys nor the ledger nor the history" {
	works_sandboxed
	sed -i 's|^  command:.*|  command: ["sh", "-c", "ls -a '"$XDG_STATE_HOME"'/infrarsi/keys '"$PWD"'/.infrarsi/receipts '"$PWD"'/.git; cat '"$PWD"'/.infrarsi/ledger.db \| wc -c; ./train {updates} {algorithm} {micro_batch} {cache} {mode}"]|' infrarsi.yaml
	begin_again
	run -0 infrarsi run --require-sandbox --accept-noise --search-only --trials 1 --start algorithm=quick
	run cat "$(log_of 1)"
	lacks "ed25519.key"
	lacks "0001.json"
	lacks "objects"
	has "update 12 loss"
}

@test "frozen data that git ignores reaches the job and is hashed" {
	new_repo "$BATS_TEST_TMPDIR/ignored"
	git rm -q --cached data.txt
	echo data.txt >>.gitignore
	git commit -q -a -m "data is not in git"
	lock
	run -0 infrarsi doctor --hurry
	lacks "does not pass"
	run -0 infrarsi doctor --hurry --new --no-sandbox
	lacks "does not pass"
	grep -q data.txt infrarsi.lock
}

@test "a worktree inside its own bare repository is hidden and sealed like any other" {
	git clone -q --bare . ../bare.git
	git -C ../bare.git worktree add -q main HEAD
	cd ../bare.git/main
	infrarsi init --accept >/dev/null
	run -0 infrarsi doctor --hurry --require-sandbox
	has "Reference"
}
