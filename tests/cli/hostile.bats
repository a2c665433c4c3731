#!/usr/bin/env bats
# Jobs that mean harm, each a real one: what is kept from them, what is seen of it afterwards, and where. docs/threat-model.md
# names these tests.
load helpers

setup_file() {
	new_repo "$BATS_FILE_TMPDIR/template"
	write_job
	lock
	infrarsi doctor --seed 7 --hurry >"$BATS_FILE_TMPDIR/doctor.txt"
}

setup() {
	from_template
	mounted=
}

teardown() {
	[ -z "$mounted" ] || umount "$mounted"
}

# job.sh MODE TRAINING...: the fixture's training with something around it.
write_job() {
	mkdir frozen
	echo "answers" >frozen/eval.txt
	cat >job.sh <<'SH'
mode=$1
shift
BASE=${PWD%/repo/.infrarsi/*}
event() { echo "$1" >"$INFRARSI_EVENT_PATH"; }
case $mode in
forged) INFRARSI_NONCE=0123456789abcdef0123456789abcdef exec "$@" ;;
killer) kill -9 $PPID; kill -9 1; sleep 0.2 ;;
away) (setsid sleep 4321 >/dev/null 2>&1 &) ;;
flood) yes 'not an event' | head -n 200000 >"$INFRARSI_EVENT_PATH" ;;
second) (for i in 1 2 3 4 5 6; do event "{\"e\":\"update\",\"i\":$i,\"loss\":0.001}"; sleep 0.05; done) & ;;
outside) touch ../escaped "$BASE/escaped" /etc/infrarsi-escaped 2>&1 ;;
spy) cat "$BASE"/state/infrarsi/keys/* "$BASE"/repo/.infrarsi/ledger.db* "$BASE"/repo/.infrarsi/receipts/* \
	"$BASE"/repo/.infrarsi/logs/* "$BASE"/repo/.infrarsi/control/*/journal.jsonl 2>&1 ;;
fill) dd if=/dev/zero of=big bs=64k 2>/dev/null ;;
fill-unlinked) exec 7>big; rm big; dd if=/dev/zero bs=64k >&7 2>/dev/null ;;
home) cat "$HOME/left" 2>/dev/null; echo left-in-home >"$HOME/left" ;;
swapped) mv frozen kept; mkdir frozen; echo other >frozen/eval.txt ;;
esac
"$@"
status=$?
case $mode in
late) event '{"e":"update","i":13,"loss":0.001}' ;;
restored) cp -p data.txt kept; echo 0 >data.txt; cat kept >data.txt; touch -r kept data.txt ;;
again) cp -p data.txt kept; rm data.txt; mv kept data.txt ;;
link) mv data.txt kept; ln -s kept data.txt ;;
hard) ln data.txt kept ;;
parent) mv frozen kept; mv kept frozen ;;
dies) rm data.txt; kill -9 $$ ;;
hangs) echo 0 >data.txt; sleep 100 ;;
esac
exit $status
SH
	sed -i 's|^  command:.*|  command: ["sh", "job.sh", "{mode}", "./train", "{updates}", "{algorithm}", "{micro_batch}", "{cache}", "normal"]|
		s|frozen_files: .*|frozen_files: ["data.txt", "frozen/eval.txt"]|
		s|values: \[normal, broken\]|values: [normal, forged, killer, away, flood, second, late, outside, spy, fill, fill-unlinked, home, swapped, restored, again, link, hard, parent, dies, hangs]|' infrarsi.yaml
	git add -A
	git commit -q -m job
}

try() { # MODE OPTION...: one trial of it
	local mode=$1
	shift
	run infrarsi run --accept-noise --search-only --trials "$(($(finished_trials) + 1))" --start "mode=$mode" "$@"
}

shown() { # of the last trial
	run -0 infrarsi show "$(ledger "select max(trial) from entry")"
}

works_sandboxed() {
	bwrap --ro-bind / / --dev /dev --proc /proc --unshare-pid true 2>/dev/null ||
		skip "bubblewrap does not work here"
}

bad_lines() { # of the last receipt
	python3 - .infrarsi/receipts/*.json <<'PY'
import json, sys
print(json.loads(json.load(open(sys.argv[-1]))["payload"])["outcome"]["bad_event_lines"])
PY
}

@test "a frozen file that was changed, however the run ended, is named" {
	for mode in swapped dies; do
		try $mode --no-sandbox
		shown
		has "frozen_files           fail"
		[ $mode = dies ] || has "frozen/eval.txt was changed by the run"
		[ $mode = swapped ] || has "data.txt was removed by the run"
	done
	sed -i 's/  timeout: 1m/  timeout: 2s/' infrarsi.yaml
	try hangs --no-sandbox
	shown
	has "hung"
	has "data.txt was changed by the run"
}

@test "a frozen file that was put back is held for review, with what it was" {
	for case in restored:put again:replaced link:replaced hard:put; do
		try "${case%:*}" --no-sandbox
		shown
		has "  valid"
		has "frozen_files           pass"
		has "review: frozen-files: during the run data.txt was "
		has "${case#*:}"
	done
	run infrarsi run --accept-noise --trials "$(finished_trials)"
	has "Waits for review: trial 1 (frozen-files: during the run data.txt was"
	run -0 infrarsi verify
}

@test "a folder that was renamed and named back leaves no trace in the file" {
	# The limit of the evidence, as docs/threat-model.md says.
	try parent --no-sandbox
	shown
	has "  valid"
	lacks "review:"
}

@test "the sandbox keeps a job from changing frozen files in every way but a folder's name" {
	works_sandboxed
	for mode in restored again hard; do
		try $mode --require-sandbox
		shown
		lacks "review:"
		has "frozen_files           pass"
	done
	try swapped --require-sandbox
	shown
	has "frozen/eval.txt was changed by the run"
}

@test "events that do not carry the run's nonce are not taken for the run" {
	try forged
	shown
	has "invalid"
	has "the events do not carry this execution's nonce"
}

@test "a second process, events after the end and a flood: counted, bounded, held" {
	try second
	[ "$(bad_lines)" -ge 6 ]
	try late
	equals 1 "$(bad_lines)"
	try flood
	equals 200000 "$(bad_lines)"
	shown # a flood may cost the job its own time stamps, and nothing else anything
	has "no_errors              pass"
	has "completes              pass"
	equals "" "$(find .infrarsi/control -size +200M)"
}

@test "a job that kills its parent and init: the sandbox does not let it, without one the trial says so" {
	works_sandboxed
	try killer --require-sandbox
	equals 0 "$status"
	shown
	has "  valid"
	# A PID namespace keeps it from it, too; where there is none, the host's fault names what happened.
	try killer,algorithm=quick --no-sandbox
	shown
	[[ $output == *"  valid"* ]] || has "the supervisor was killed by signal 9"
}

@test "a job that forks away leaves nothing running" {
	for case in --no-sandbox:quick --require-sandbox:careful; do
		[ "${case%:*}" = --no-sandbox ] || works_sandboxed
		try "away,algorithm=${case#*:}" "${case%:*}"
		equals 0 "$status"
		equals "" "$(processes_with "sleep 4321")"
		shown
		has "  valid"
	done
}

@test "a job that writes outside its folder and reads the records gets nothing" {
	works_sandboxed
	try outside --require-sandbox
	run -0 infrarsi show "$(ledger "select max(trial) from entry")" --log
	equals 3 "$(grep -c "Read-only file system" <<<"$output")"
	[ ! -e "$BATS_TEST_TMPDIR/case/escaped" ] && [ ! -e .infrarsi/work/trials/escaped ]
	try spy --require-sandbox
	run -0 infrarsi show "$(ledger "select max(trial) from entry")" --log
	equals 5 "$(grep -c "cat: .*No such file or directory" <<<"$output")"
	equals 1 "$(grep -c "update 12 loss" <<<"$output")" # its own
	lacks "payload"
	lacks '"e":"update"'
}

@test "what a job leaves in its home is not there for the next" {
	for option in --no-sandbox --require-sandbox; do
		[ $option = --no-sandbox ] || works_sandboxed
		for algorithm in quick careful; do
			try home,algorithm=$algorithm $option
			run -0 infrarsi show "$(ledger "select max(trial) from entry")" --log
			lacks "left-in-home"
		done
	done
	[ ! -e /tmp/left ]
}

@test "a job that fills the disk is stopped while there is room to say so" {
	[ "$(id -u)" -eq 0 ] || skip "mounting a small file system needs root"
	mv .infrarsi kept
	mkdir .infrarsi
	mount -t tmpfs -o size=64m tmpfs "$PWD/.infrarsi" 2>/dev/null || skip "no right to mount here"
	mounted=$PWD/.infrarsi
	cp -a kept/. .infrarsi/
	rm -rf kept
	for mode in fill fill-unlinked; do
		try $mode
		equals 0 "$status" || { echo "$output"; false; }
		shown
		has "crashed"
		has "said   the job filled the disk"
	done
	# What others fill is not the job's fault.
	try normal,algorithm=quick
	equals 0 "$status"
	books_balance
}

spoil() { # FILE: one byte of it
	python3 - "$1" <<'PY'
import sys
path = sys.argv[1]
text = open(path, "rb").read()
open(path, "wb").write(text.replace(b"search", b"seArch", 1) if b"search" in text else text[:-9] + b"X" + text[-8:])
PY
}

refused() { # TEXT: run, report, show, apply and doctor name it and exit 5; --new goes on
	local command
	for command in "run --accept-noise" report "show 1" "apply --branch x" doctor; do
		# shellcheck disable=SC2086
		run infrarsi $command
		has "$1"
		equals 5 "$status"
	done
}

@test "an edited receipt is named by the next command" {
	try normal,algorithm=quick
	file=$(ls .infrarsi/receipts/*.json | tail -n 1)
	spoil "$file"
	refused "${file##*/}"
	rm "$file"
	refused "${file##*/} is missing"
	run -0 infrarsi doctor --new --hurry
}

@test "an old receipt in the place of a new one is named" {
	cp .infrarsi/receipts/0001.json .infrarsi/receipts/0002.json
	refused "0002.json is a receipt, but not the one that the ledger names"
}

@test "an edited ledger is named by the next command, whatever was edited" {
	try normal,algorithm=quick
	cp -a .infrarsi kept
	local edit
	for edit in "update entry set body = json_set(body, '\$.time_s', 0.001) where kind = 'finished' and trial = 1" \
		"delete from entry where kind = 'decision'" \
		"update entry set trial = 2 where kind = 'started' and trial = 1" \
		"insert into entry (utc, kind, trial, signature, body, seal) select utc, 'accept', 1, '', '{\"what\":\"trial\",\"trial\":1}', seal from entry order by id desc limit 1"; do
		ledger "drop trigger if exists entry_is_constant; drop trigger if exists entry_is_kept; $edit"
		refused "is not as infrarsi wrote it"
		run ! infrarsi audit --accept 1
		rm -rf .infrarsi
		cp -a kept .infrarsi
	done
	run -0 infrarsi report
}

@test "another key in the place of the campaign's is named; none is said" {
	key=$(ls "$XDG_STATE_HOME"/infrarsi/keys/*.hmac)
	cp "$key" kept
	tr '0-9a-f' '1-9a-f0' <kept >"$key"
	refused "the campaign's key was changed"
	rm "$key"
	run -2 infrarsi run --accept-noise
	has "signing keys"
	run -0 infrarsi report
	has "the signing key of campaign"
	mv kept "$key"
	chmod 600 "$key"
	run -0 infrarsi run --accept-noise --search-only --trials 1
}

@test "every test that docs/threat-model.md names is there" {
	python3 - "$CLI_DIR/../.." <<'PY'
import os, re, sys
root = sys.argv[1]
text = open(os.path.join(root, "docs/threat-model.md")).read()
table = text[text.index("## Attack, layer, test"):]
named = 0
for file, names in re.findall(r"`(\w+\.bats)`: ((?:\*[^*]+\*(?:, )?)+)", table):
    tests = open(os.path.join(root, "tests/cli", file)).read()
    for name in re.findall(r"\*([^*]+)\*", names):
        assert re.search(r'^@test ".*' + re.escape(name), tests, re.M), (file, name)
        named += 1
for path in re.findall(r"`(tests/[\w/.-]+)`", table):
    assert os.path.exists(os.path.join(root, path)), path
assert named > 25, named
PY
}
