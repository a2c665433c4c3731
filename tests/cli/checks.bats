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
	infrarsi doctor --hurry >/dev/null
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
