#!/usr/bin/env bats
# Ends that nobody planned: SIGKILL, Ctrl-C, jobs that hang or will not go. The next `run` always goes on.
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

no_job_is_left() { # a job's environment names its event path below here
	[ -z "$(processes_with "$PWD/.infrarsi/")" ]
}

job_runs_as() { # MODE
	local pid
	for pid in $(processes_with "INFRARSI_EVENT_PATH=$PWD/.infrarsi/"); do
		tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -q " $1 " && return 0
	done
	return 1
}

@test "SIGKILL at ten random moments: no trial lost, none counted twice, nothing left running" {
	local trials=30
	killed_at_random 20261129 10 0.2 1.4 --accept-noise --trials $trials
	run -0 infrarsi run --accept-noise --trials $trials
	has "delivered: "
	lacks "delivered: 1.00x"
	equals $trials "$(finished_trials)"
	books_balance
	no_job_is_left
	[ ! -e .infrarsi/work/trials ] || [ -z "$(ls -A .infrarsi/work/trials)" ]
	equals "" "$(git status --porcelain | grep -v output.txt)"
}

@test "SIGKILL of doctor: the next one goes on" {
	"$INFRARSI" doctor --new >/dev/null 2>&1 3>&- &
	pid=$!
	wait_until 120 has_receipts
	kill -KILL $pid
	wait $pid || true
	wait_until 120 no_job_is_left
	run -0 infrarsi doctor
	has "(4 runs)"
	books_balance
}

has_receipts() { # of a campaign that is younger than the template's
	[ -d .infrarsi/old ] && [ "$(n_receipts)" -ge 1 ]
}

@test "SIGKILL of the supervisor: the host's fault, not the candidate's" {
	modes "normal, hang"
	"$INFRARSI" run --accept-noise --search-only --trials 1 --start mode=hang >output.txt 2>&1 3>&- &
	pid=$!
	wait_until 120 job_runs_as hang
	kill -KILL "$(pgrep -P $pid -f __supervise)"
	wait_until 120 has_entry transient
	kill -INT $pid
	wait $pid || true
	wait_until 120 no_job_is_left
	equals 0 "$(ledger "select count(*) from entry where kind = 'finished' and trial = 1")"
}

@test "Ctrl-C: exit 4, and run goes on" {
	"$INFRARSI" run --accept-noise >output.txt 2>&1 3>&- &
	pid=$!
	wait_until 120 grep -q "^  1  " output.txt
	kill -INT $pid
	outcome=0
	wait $pid || outcome=$?
	equals 4 $outcome
	output=$(cat output.txt)
	has "go on with  infrarsi run"
	no_job_is_left
	run -0 infrarsi run --accept-noise
	has "delivered: "
	equals 8 "$(finished_trials)"
	books_balance
}

@test "TERM is Ctrl-C, also for doctor, also as JSON" {
	"$INFRARSI" doctor --new --json >output.txt 2>errors.txt 3>&- &
	pid=$!
	wait_until 120 has_receipts
	kill -TERM $pid
	outcome=0
	wait $pid || outcome=$?
	equals 4 $outcome
	output=$(cat output.txt)
	is_json
	equals 4 "$(json "d['exit_code']")"
	no_job_is_left
	run -0 infrarsi doctor
}

@test "a hanging job is ended by the startup limit, and its like is avoided" {
	modes "normal, hang"
	sed -i 's/startup_timeout: 20s/startup_timeout: 1s/' infrarsi.yaml
	infrarsi init --accept >/dev/null
	run -0 infrarsi doctor --new --hurry
	run -0 infrarsi run --accept-noise --search-only --trials 2 --start mode=hang --start algorithm=quick
	run -0 infrarsi show 1
	has "trial 1  hung"
	has "stopped at a time limit"
	run -0 infrarsi show 2
	has "trial 2  valid"
	no_job_is_left
}

@test "a job that ignores TERM is killed, by the limit and after Ctrl-C" {
	modes "normal, stubborn"
	sed -i 's/startup_timeout: 20s/startup_timeout: 10s/' infrarsi.yaml
	infrarsi init --accept >/dev/null
	run -0 infrarsi doctor --new --hurry
	"$INFRARSI" run --accept-noise --search-only --trials 1 --start mode=stubborn >output.txt 2>&1 3>&- &
	pid=$!
	wait_until 120 job_runs_as stubborn
	kill -INT $pid
	outcome=0
	wait $pid || outcome=$?
	equals 4 $outcome
	no_job_is_left
	run -0 infrarsi run --accept-noise --search-only --trials 1 --fix mode=stubborn
	no_job_is_left
	equals 1 "$(finished_trials)"
	run -0 infrarsi show 2
	has "trial 2  hung"
}

@test "two at once: the second is refused and says why" {
	modes "normal, hang"
	"$INFRARSI" run --accept-noise --search-only --trials 1 --start mode=hang >output.txt 2>&1 3>&- &
	pid=$!
	wait_until 120 job_runs_as hang
	run -2 infrarsi run --accept-noise
	has "another infrarsi (process $pid) is working on this campaign"
	run -0 infrarsi report # reading is always possible
	kill -INT $pid
	wait $pid || true
	no_job_is_left
}
