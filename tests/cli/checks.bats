#!/usr/bin/env bats
# The contract's conditional checks (eval, checkpoint, tests), carried out by the harness after each run that ended well. The job
# is a shell script: what it saves, and how it resumes, is what these tests are about.
load helpers

setup() {
	mkdir -p "$BATS_TEST_TMPDIR/home" "$BATS_TEST_TMPDIR/repo"
	enter "$BATS_TEST_TMPDIR"
	cat >job.sh <<'SH'
#!/bin/sh
# job.sh PACE STATE FROM: 8 updates from FROM on; saves update 4's number, and what an evaluation would see of it.
pace=$1 state=$2 from=$3
exec 9>"$INFRARSI_EVENT_PATH"
echo "{\"e\":\"start\",\"schema\":1,\"nonce\":\"$INFRARSI_NONCE\",\"seq_len\":4,\"global_batch\":2}" >&9
i=$from
while [ "$i" -le 8 ]; do
	sleep "$pace"
	loss=$((100 - i))
	[ "$from" -gt 1 ] && [ "$state" = torn ] && loss=$((200 - i))
	echo "{\"e\":\"update\",\"i\":$i,\"loss\":$loss,\"grad_norm\":1.$i,\"lr\":0.1,\"opt_step\":$i,\"tokens\":8,\"data\":\"0000000000000000000000000000000$i\"}" >&9
	if [ "$i" -eq 4 ]; then
		echo 5 >next
		if [ "$state" = spoilt ]; then echo 7.5 >quality; else echo 2.5 >quality; fi
	fi
	i=$((i + 1))
done
echo '{"e":"end","updates":8}' >&9
SH
	chmod +x job.sh
	echo data >data.txt
	git init -q .
	git config user.name Tester
	git config user.email tester@example.org
}

task() { # STATE of the knob's other setting, and where resuming begins (default: what the job saved)
	local from=${2:-\$(cat next)}
	cat >infrarsi.yaml <<YAML
version: 1
name: checks
stack: native
launch:
  command: ["./job.sh", "{pace}", "{state}", "1"]
  timeout: 1m
contract:
  updates: 8
  warmup: 2
  global_batch: 2
  seq_len: 4
  frozen_files: ["data.txt"]
  eval: {command: ["sh", "-c", "echo result \$(cat \$INFRARSI_RUN_DIR/quality)"], tolerance: 1%}
  checkpoint: {save_at: 4, command: ["sh", "-c", "./job.sh 0.01 $1 $from"]}
  tests: [["test", "-f", "next"], ["sh", "-c", "test \$(cat next) -eq 5"]]
knobs:
  - {name: pace, values: [0.05, 0.01], reference: 0.05}
  - {name: state, values: [whole, $1], reference: whole}
budget: {trials: 1}
YAML
	git add -A
	git commit -q -m start
	lock
}

item() { # NAME: result of this item in trial 1
	infrarsi show 1 | sed -n "s/^  L[0-9] $1 *\([a-z/]*\) .*/\1/p"
}

@test "all three are checked, and pass, for a run that saves what the reference saves" {
	task other
	run -0 infrarsi doctor --hurry
	has "conditional and absent: 0"$'\n'
	run -0 infrarsi run --accept-noise --start pace=0.01
	has "delivered: "
	[ "$(item eval_matches)" = pass ]
	[ "$(item resume_continues)" = pass ]
	[ "$(item user_tests)" = pass ]
	run infrarsi verify
	[ "$status" -eq 0 ]
}

@test "a checkpoint of another quality is rejected by the evaluation" {
	task spoilt
	infrarsi doctor --hurry >/dev/null
	run -3 infrarsi run --accept-noise --start pace=0.01,state=spoilt
	[ "$(item eval_matches)" = fail ]
	[ "$(item resume_continues)" = pass ]
}

@test "a reference whose resumed losses jump is refused by doctor, naming the item" {
	task torn
	run -1 infrarsi doctor --hurry
	has resume_continues
}

@test "a job that begins anew has not resumed, although its losses agree" {
	task whole-again 1
	run -1 infrarsi doctor --hurry
	has resume_continues
}

# A patch that spoils what is saved and edits the evaluation so that it does not show.
deceiving_patch() {
	mkdir -p patches
	cp job.sh job.old
	cp eval.sh eval.old
	sed -i 's/echo 2.5 >quality/echo 7.5 >quality/' job.sh
	echo 'echo result 2.5' >eval.sh
	{
		diff -u --label a/job.sh --label b/job.sh job.old job.sh || true
		diff -u --label a/eval.sh --label b/eval.sh eval.old eval.sh || true
	} >patches/01-deceiving.diff
	mv job.old job.sh
	mv eval.old eval.sh
	chmod +x job.sh
}

patched_task() { # the contract without conditional checks, and the patch as its only proposal
	echo 'echo result $(cat "$INFRARSI_RUN_DIR/quality")' >eval.sh
	deceiving_patch
	cat >infrarsi.yaml <<'YAML'
version: 1
name: checks
stack: native
launch:
  command: ["./job.sh", "{pace}", "whole", "1"]
  timeout: 1m
contract:
  updates: 8
  warmup: 2
  global_batch: 2
  seq_len: 4
  frozen_files: ["data.txt"]
  editable_files: ["job.sh", "eval.sh"]
knobs:
  - {name: pace, values: [0.05, 0.01], reference: 0.05}
proposers: [{kind: patches, dir: patches}]
budget: {trials: 3}
YAML
	[ "$1" != eval ] || sed -i 's|^  editable_files|  eval: {command: ["sh", "eval.sh"], tolerance: 1%}\n&|' infrarsi.yaml
	git add -A
	git commit -q -m start
	lock
}

patched_trials() { # STATUS: how many with the patch have it
	infrarsi report --json | python3 -c 'import json, sys
trials = [t for t in json.load(sys.stdin)["trials"] if t["candidate"]["patches"] and t["status"] == sys.argv[1]]
print(len(trials), *[t["number"] for t in trials])' "$1"
}

@test "the evaluation runs in the unpatched reference: a patch that edits it is seen through" {
	patched_task eval
	infrarsi doctor --hurry >/dev/null
	run infrarsi run --accept-noise --trials 3
	read -r n first _ <<<"$(patched_trials invalid)"
	[ "$n" -ge 1 ]
	equals "0" "$(patched_trials valid)"
	run -0 infrarsi show "$first"
	has "eval_matches           fail"
	run -0 infrarsi report
	run ! grep -q "self-reported" .infrarsi/REPORT.md
}

@test "without an evaluation the same patch passes, and the report says that its loss is its own word" {
	patched_task none
	infrarsi doctor --hurry >/dev/null
	run infrarsi run --accept-noise --trials 3
	read -r n _ <<<"$(patched_trials valid)"
	[ "$n" -ge 1 ]
	run -0 infrarsi report
	grep -q "Loss is self-reported" .infrarsi/REPORT.md
}

# A job that reports no memory of a device: on a machine without one, the host's memory is what the cap is about.
hungry_task() { # CAP, and what a job reports of a device's memory in each update ("" = nothing)
	sed -i "s/^pace=/[ \"\$4\" != big ] || head -c 80000000 \/dev\/zero | tail | wc -c\nmem='$2'\n&/; s/:8,/:8\$mem,/" job.sh
	cat >infrarsi.yaml <<YAML
version: 1
name: hungry
stack: native
launch:
  command: ["./job.sh", "{pace}", "whole", "1", "{appetite}"]
  timeout: 1m
contract:
  updates: 8
  warmup: 2
  global_batch: 2
  seq_len: 4
  memory_cap: $1
  frozen_files: ["data.txt"]
knobs:
  - {name: pace, values: [0.05, 0.01], reference: 0.05}
  - {name: appetite, values: [small, big], reference: small}
budget: {trials: 1}
YAML
	git add -A
	git commit -q -m start
	lock
}

no_accelerator() {
	if compgen -G "/dev/nvidia[0-9]*" >/dev/null || [ -e /dev/kfd ] || compgen -G "/dev/accel*" >/dev/null; then
		skip "this machine has an accelerator"
	fi
}

@test "without a device, the memory seen from outside counts against the cap" {
	no_accelerator
	hungry_task 50MiB ""
	infrarsi doctor --hurry >/dev/null
	run infrarsi run --accept-noise --search-only --trials 1 --start appetite=big
	has "invalid: memory_cap"
	run -0 infrarsi show 1
	has "(cap 50.0 MiB)"
	run -0 infrarsi run --accept-noise --search-only --trials 2 --start pace=0.01
	equals pass "$(infrarsi show 2 | sed -n "s/^  L1 memory_cap *\([a-z/]*\) .*/\1/p")"
	run -0 infrarsi verify .infrarsi/receipts/000[1-4].json
}

@test "of a job that reports a device's memory, the host's is not counted" {
	hungry_task 50MiB ',"mem":1000000'
	infrarsi doctor --hurry >/dev/null
	run infrarsi run --accept-noise --search-only --trials 1 --start appetite=big
	run -0 infrarsi show 1
	has "trial 1  valid"
	has "peak 977 KiB (cap 50.0 MiB)"
}
