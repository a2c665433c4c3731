#!/usr/bin/env bats
# A machine that fails under the harness: full disks, no more processes, folders that cannot be written. A clear
# error, never a crash, and the next run goes on.
load helpers

setup_file() {
	new_template
	cc -D_GNU_SOURCE -shared -fPIC -o "$BATS_FILE_TMPDIR/failing.so" "$CLI_DIR/../fault/failing_calls.c" -ldl
}

setup() {
	from_template
	mounted=
	public=
}

teardown() {
	[ -z "$mounted" ] || umount "$mounted"
	[ -z "$public" ] || rm -rf "$public"
}

with_fault() { # CALL AT LASTS ERRNO COMMAND...
	local call=$1 at=$2 lasts=$3 number=$4
	shift 4
	FAULT_CALL=$call FAULT_AT=$at FAULT_LASTS=$lasts FAULT_ERRNO=$number FAULT_BELOW=/.infrarsi/ \
		LD_PRELOAD=$BATS_FILE_TMPDIR/failing.so "$INFRARSI" "$@"
}

no_crash() { # of the command that `run` ran: an exit code of ours, and words where it is not 0
	[ "$status" -le 5 ] || {
		printf 'exit status %s\n%s\n' "$status" "$output"
		return 1
	}
	[ "$status" -eq 0 ] || has "infrarsi: "
	lacks "ERROR: "
}

survives() { # CALL ERRNO TEXT AT...: failures at these calls, one run each; then the campaign concludes
	local call=$1 number=$2 text=$3 at lasts seen=0
	shift 3
	for lasts in 0 1; do
		for at in "$@"; do
			run with_fault "$call" "$at" "$lasts" "$number" run --accept-noise --trials 30 --search-only
			no_crash
			[ "$status" -eq 0 ] || seen=$((seen + 1))
			[[ $status -eq 0 || $output == *"$text"* || $output == *"is full"* ]] || {
				echo "$call $at: no '$text' in: $output"
				return 1
			}
		done
	done
	[ $seen -ge 2 ]
	run -0 infrarsi run --accept-noise --trials "$(($(finished_trials) + 2))" --start algorithm=quick
	has "delivered: "
	books_balance
}

@test "a disk that is full at any write" {
	survives write 28 "No space left on device" 1 2 3 5 9 14 20 27 40
}

@test "a disk that fails at any sync" {
	survives sync 5 "" 1 2 3 5 8 13
}

@test "a rename that fails" {
	survives rename 28 "No space left on device" 1 2 3 4
}

@test "no more processes" {
	survives spawn 11 "Resource temporarily unavailable" 1 2 3 4 6
}

@test "doctor under the same faults" {
	local call at
	for call in write spawn rename; do
		for at in 1 4 12; do
			run with_fault $call $at 1 28 doctor --new --hurry
			no_crash
		done
	done
	run -0 infrarsi doctor --new --hurry
	run -0 infrarsi run --accept-noise --search-only --trials 1
	books_balance
}

@test "a real full disk: run stops with its reason, and goes on when there is room" {
	[ "$(id -u)" -eq 0 ] || skip "mounting a small file system needs root"
	mv .infrarsi kept
	mkdir .infrarsi
	mount -t tmpfs -o size=64m tmpfs "$PWD/.infrarsi" 2>/dev/null || skip "no right to mount here"
	mounted=$PWD/.infrarsi
	cp -a kept/. .infrarsi/
	rm -rf kept
	mount -o "remount,size=$(($(df -B1 --output=used .infrarsi | tail -n 1) + 16384))" "$mounted"
	run infrarsi run --accept-noise --search-only --trials 4
	no_crash
	[ "$status" -ne 0 ]
	has "No space left on device"
	mount -o remount,size=64m "$mounted"
	run -0 infrarsi run --accept-noise --search-only --trials 4
	equals 4 "$(finished_trials)"
	books_balance
}

as_nobody() { # COMMAND...: in a copy of the case that everyone can reach
	setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$public/home" XDG_STATE_HOME="$public/state" "$@"
}

copy_for_nobody() {
	[ "$(id -u)" -eq 0 ] || skip "becoming another user needs root"
	command -v setpriv >/dev/null || skip "setpriv is not installed"
	public=$(mktemp -d /tmp/infrarsi-fault-XXXXXX)
	chmod 755 "$public"
	cp -a "$BATS_TEST_TMPDIR/case/." "$public/"
	chown -R 65534:65534 "$public"
	cd "$public/repo"
	as_nobody test -x "$INFRARSI" || skip "the program is not within reach of other users"
}

@test "a real process limit: a clear error, and the next run goes on" {
	copy_for_nobody
	run as_nobody prlimit --nproc=1:1 "$INFRARSI" run --accept-noise --search-only --trials 2
	no_crash
	[ "$status" -ne 0 ]
	has "Resource temporarily unavailable"
	run -0 as_nobody "$INFRARSI" run --accept-noise --search-only --trials 2
}

@test "a .infrarsi that cannot be written" {
	copy_for_nobody
	chown -R 0:0 .infrarsi
	for command in "run --accept-noise" "doctor --new"; do
		# shellcheck disable=SC2086
		run as_nobody "$INFRARSI" $command
		no_crash
		equals 1 "$status"
		has "Permission denied"
	done
	run -0 as_nobody "$INFRARSI" show 1 --help
	rm -rf .infrarsi
	chown 0:0 .
	run as_nobody "$INFRARSI" doctor
	no_crash
	equals 1 "$status"
	has ".infrarsi"
	chown 65534:65534 .
	run -0 as_nobody "$INFRARSI" doctor --hurry
}

@test "keys that cannot be read or written" {
	copy_for_nobody
	chown -R 0:0 "$public/state"
	chmod -R go= "$public/state"
	run as_nobody "$INFRARSI" run --accept-noise
	no_crash
	[ "$status" -ne 0 ]
	has "keys"
}

@test "folders that are files, and a ledger that is none" {
	for folder in receipts logs work control patches; do
		rm -rf broken
		cp -a .infrarsi kept
		rm -rf ".infrarsi/$folder"
		: >".infrarsi/$folder"
		run infrarsi run --accept-noise --search-only --trials 1
		no_crash
		rm -rf .infrarsi
		mv kept .infrarsi
	done
	head -c 5000 /dev/urandom >.infrarsi/ledger.db
	rm -f .infrarsi/ledger.db-wal .infrarsi/ledger.db-shm
	for command in "run --accept-noise" report doctor "show 1" apply; do
		# shellcheck disable=SC2086
		run infrarsi $command
		no_crash
		[ "$status" -ne 0 ]
		has "ledger.db"
	done
	: >.infrarsi/ledger.db
	run infrarsi report
	no_crash
}

transients() {
	ledger "select count(*) from entry where kind = 'transient'"
}

failing_builds() { # a knob whose other setting needs more of the machine to be compiled; LIMIT is read when it is
	cat >heavy.sh <<'SH'
[ "$1" = -DHEAVY ] || exec make train DEFINE="$1"
{ echo 'int heavy[] = {'; seq 1 600000 | tr '\n' ,; echo '};'; } >heavy.c
ulimit -v "$(cat LIMIT)" # KiB
make train DEFINE="$1" && cc -c heavy.c && exit 0
sleep "$(cat PAUSE)"
exit 1
SH
	sed -i "s|LIMIT|$BATS_TEST_TMPDIR/limit|; s|PAUSE|$BATS_TEST_TMPDIR/pause|" heavy.sh
	sed -i 's|^build: .*|build: ["sh", "heavy.sh", "{define}"]|; s|values: \["-DLONG", "-DSHORT"\]|values: ["-DLONG", "-DHEAVY"]|' infrarsi.yaml
	git add -A
	git commit -q -m heavy
	echo 8000000 >"$BATS_TEST_TMPDIR/limit"
	echo "${1:-0}" >"$BATS_TEST_TMPDIR/pause"
	infrarsi init --accept >/dev/null
	infrarsi doctor --new --hurry >/dev/null
}

@test "a compiler short of memory is the host's fault: tried again, and built once there is room" {
	failing_builds 3
	echo 120000 >"$BATS_TEST_TMPDIR/limit"
	"$INFRARSI" run --accept-noise --search-only --trials 1 --start define=-DHEAVY >output.txt 2>&1 3>&- &
	pid=$!
	wait_until 120 has_entry transient
	echo 8000000 >"$BATS_TEST_TMPDIR/limit"
	wait $pid
	output=$(cat output.txt)
	has "the machine failed under the build: cc1: out of memory"
	equals 1 "$(finished_trials)"
	run -0 infrarsi show "$(ledger "select max(trial) from entry")"
	has "  valid"
	has "define=-DHEAVY"
	books_balance
}

@test "a build that meets such faults for ever is the candidate's own in the end, after two retries" {
	failing_builds
	echo 120000 >"$BATS_TEST_TMPDIR/limit"
	run -0 infrarsi run --accept-noise --search-only --trials 2 --start define=-DHEAVY --start algorithm=quick
	equals 2 "$(transients)"
	run -0 infrarsi show 3
	has "crashed"
	has "compile: cc1: out of memory"
	run -0 infrarsi show 4
	has "  valid"
	books_balance
}

@test "a compiler that meets a really full disk is not to blame" {
	[ "$(id -u)" -eq 0 ] || skip "mounting a small file system needs root"
	sed -i 's|values: \["-DLONG", "-DSHORT"\]|values: ["-DLONG", "-DHUGE"]|' infrarsi.yaml
	cat >>train.c <<'C'
#ifdef HUGE
char huge[40 << 20] = {1};
#endif
C
	git commit -q -a -m huge
	infrarsi init --accept >/dev/null
	infrarsi doctor --new --hurry >/dev/null
	mv .infrarsi kept
	mkdir .infrarsi
	mount -t tmpfs -o size=256m tmpfs "$PWD/.infrarsi" 2>/dev/null || skip "no right to mount here"
	mounted=$PWD/.infrarsi
	cp -a kept/. .infrarsi/
	rm -rf kept
	mount -o "remount,size=$(($(df -B1 --output=used .infrarsi | tail -n 1) + (24 << 20)))" "$mounted"
	run infrarsi run --accept-noise --search-only --trials 1 --start define=-DHUGE
	no_crash
	has "the machine failed under the build: "
	[ "$(transients)" -ge 2 ]
	mount -o remount,size=512m "$mounted"
	run -0 infrarsi run --accept-noise --search-only --trials 3 --start define=-DLONG,algorithm=quick
	books_balance
}
