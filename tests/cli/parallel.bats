#!/usr/bin/env bats
# Several trials at once. What shows that two overlap is that each waits for the other: one after the other they would
# never end.
load helpers

setup_file() {
	new_repo "$BATS_FILE_TMPDIR/template"
	cat >meet.sh <<-'END'
		# meet.sh COMMAND...: as the command; in a campaign with a folder `meet` beside its repository, with a partner
		meet=../../../../../meet
		echo "slot $INFRARSI_SLOT devices $CUDA_VISIBLE_DEVICES"
		grep Cpus_allowed_list /proc/self/status
		echo "beside: $(ls ..)"
		[ -d $meet ] || exec "$@"
		until_exists() { while [ ! -e "$1" ]; do sleep 0.02; done; }
		exec 9>"$meet/slot$INFRARSI_SLOT"
		flock -n 9 || exit 7 # somebody is on it; held until the last process of this job has ended
		touch "$meet/begun.$INFRARSI_NONCE"
		while [ -e $meet/hold ]; do sleep 0.02; done
		receipts=$(ls ../../../receipts | wc -l)
		pair=1
		while true; do
			if mkdir $meet/first$pair 2>/dev/null; then until_exists $meet/second$pair; break; fi
			if mkdir $meet/second$pair 2>/dev/null; then break; fi
			pair=$((pair + 1))
		done
		"$@"
		outcome=$?
		if [ "$INFRARSI_SLOT" = 1 ] && [ -e $meet/overtake ]; then # until the partner's receipt is there
			while [ "$(ls ../../../receipts | wc -l)" -le "$receipts" ]; do sleep 0.02; done
		fi
		exit $outcome
	END
	sed -i -e 's|^  command: \[|&"sh", "meet.sh", |' -e 's|^  timeout: 1m|&\n  device_slots: [[0], [1]]|' \
		-e '/^proposers:/d' infrarsi.yaml
	git add meet.sh
	lock
	infrarsi doctor --seed 7 --no-sandbox >"$BATS_FILE_TMPDIR/doctor.txt"
}

setup() {
	from_template
	mkdir ../meet
}

teardown() { # of a test that failed half-way
	rm -rf ../meet/hold
}

parallel() { # ARGUMENTS: the search alone, two at once
	infrarsi run --no-sandbox --accept-noise --search-only --parallel 2 "$@"
}

slots_measured() { # the reference ran on both, twice
	ledger "select count(*) from entry where kind = 'finished' and json_extract(body, '\$.role') = 'reference'
		and json_extract(body, '\$.at_once') = 2"
}

running() { find ../meet -name 'begun.*' | wc -l; }

two_are_held() { [ "$(running)" -ge "$1" ]; }

@test "two trials run at once, never on the same slot, and the books balance" {
	run -0 parallel --trials 4
	equals 4 "$(finished_trials)"
	equals 4 "$(slots_measured)"
	has "2 at once: the reference's time against alone is"
	has "trial 1 begins on devices 0: 1/4"
	has "trial 2 begins on devices 1: 2/4"
	books_balance
	# Each went to its slot's devices, and says so itself and in its receipt.
	local trial log slot device
	for trial in 1 2 3 4; do
		log=.infrarsi/$(ledger "select json_extract(body, '\$.log') from entry where kind = 'finished' and trial = $trial")
		slot=$(ledger "select json_extract(body, '\$.slot') from entry where kind = 'finished' and trial = $trial")
		device=${slot#devices }
		grep -q "^slot $((device + 1)) devices $device\$" "$log"
		grep -q "CUDA_VISIBLE_DEVICES=$device" \
			".infrarsi/$(ledger "select json_extract(body, '\$.receipt') from entry where kind = 'finished' and trial = $trial")"
	done
	# A second call measures nothing anew.
	run -0 parallel --trials 6
	equals 4 "$(slots_measured)"
	equals 6 "$(finished_trials)"
	run -0 infrarsi show 1
	has "one of 2 at once, on devices"
	rm -r ../meet
	run -0 infrarsi run --no-sandbox --accept-noise # the duels run alone, on the first slot
	has "delivered: "
	equals 0 "$(ledger "select count(*) from entry where kind = 'started' and json_extract(body, '\$.role') = 'promotion'
		and json_extract(body, '\$.at_once') is not null")"
	books_balance
}

@test "a trial that is overtaken keeps the chain whole" {
	touch ../meet/overtake # who is on the first slot waits for its partner's end
	run -0 parallel --trials 4
	equals 4 "$(finished_trials)"
	local first second
	first=$(ledger "select id from entry where kind = 'finished' and trial = 1")
	second=$(ledger "select id from entry where kind = 'finished' and trial = 2")
	[ "$second" -lt "$first" ]
	# It was begun before the other and takes a number behind it, as its receipt was sealed behind it.
	[ "$(ledger "select json_extract(body, '\$.execution') from entry where id = $first")" -lt \
		"$(ledger "select json_extract(body, '\$.seq') from entry where id = $second")" ]
	[ "$(ledger "select json_extract(body, '\$.seq') from entry where id = $first")" -gt \
		"$(ledger "select json_extract(body, '\$.seq') from entry where id = $second")" ]
	books_balance
}

begin_held() { # TRIALS: a search whose first two trials wait
	run -0 parallel --trials 2
	equals 2 "$(finished_trials)"
	touch ../meet/hold
	local so_far
	so_far=$(running)
	"$INFRARSI" run --no-sandbox --accept-noise --search-only --parallel 2 --trials "$1" >output.txt 2>&1 3>&- &
	pid=$!
	wait_until 120 two_are_held $((so_far + 2))
}

no_job_is_left() {
	[ -z "$(processes_with "$PWD/.infrarsi/")" ]
}

go_on() { # TRIALS: two were stopped
	wait_until 120 no_job_is_left
	rm -rf ../meet
	mkdir ../meet
	run -0 parallel --trials "$1"
	equals "$1" "$(finished_trials)"
	equals 2 "$(ledger "select count(*) from entry where kind = 'interrupted'")"
	equals 4 "$(slots_measured)"
	books_balance
	no_job_is_left
}

@test "Ctrl-C stops all that run, and run goes on" {
	begin_held 6
	kill -INT "$pid"
	outcome=0
	wait "$pid" || outcome=$?
	equals 4 $outcome
	grep -q "go on with  infrarsi run" output.txt
	equals 2 "$(ledger "select count(*) from entry where kind = 'interrupted' and
		json_extract(body, '\$.reason') = 'stopped by the user'")"
	go_on 6
}

@test "SIGKILL: both trials are recorded as interrupted, with their cost, and run goes on" {
	begin_held 6
	kill -KILL "$pid"
	wait "$pid" || true
	wait_until 120 no_job_is_left
	run -0 infrarsi run --no-sandbox --accept-noise --search-only --trials 2 # opens it, and has nothing to do
	equals 2 "$(ledger "select count(*) from entry where kind = 'interrupted' and trial in (3, 4) and
		json_extract(body, '\$.reason') = 'infrarsi ended before the execution did'")"
	equals 2 "$(ledger "select count(distinct json_extract(body, '\$.slot')) from entry where kind = 'interrupted'")"
	go_on 6
}

@test "SIGKILL at five random moments: no trial lost, none counted twice" {
	rmdir ../meet
	killed_at_random 20261130 5 0.3 2.3 --no-sandbox --accept-noise --search-only --parallel 2 --trials 20
	run -0 parallel --trials 20
	equals 20 "$(finished_trials)"
	books_balance
	[ ! -e .infrarsi/work/trials ] || [ -z "$(ls -A .infrarsi/work/trials)" ]
}

@test "a fault of the host on one slot leaves the other alone" {
	begin_held 4
	supervisor=$(pgrep -P "$pid" -f __supervise | head -1)
	kill -KILL "$supervisor"
	wait_until 120 has_entry transient
	rm ../meet/hold # the one that is left has the next for its partner
	outcome=0
	wait "$pid" || outcome=$?
	equals 0 $outcome
	equals 1 "$(ledger "select count(*) from entry where kind = 'transient'")"
	equals 4 "$(finished_trials)"
	equals 0 "$(ledger "select count(*) from entry where json_extract(body, '\$.failure') in ('timeout', 'stall')")"
	books_balance
}

@test "without slots, or with too few, it says what to declare, and nothing runs" {
	run -2 parallel --parallel 3 --trials 4
	has "launch.device_slots of infrarsi.yaml has 2; two trials never share a device"
	sed -i '/device_slots/d' infrarsi.yaml
	run -2 parallel --trials 4
	has "device_slots: [[0], [1]]"
	equals 0 "$(finished_trials)"
	equals 0 "$(ledger "select count(*) from entry where kind = 'registered'")"
}

@test "slots that were changed after doctor: nothing runs before the reference was measured on them" {
	rmdir ../meet
	sed -i 's/device_slots: .*/device_slots: [[1], [0]]/' infrarsi.yaml
	run -2 infrarsi run --no-sandbox --accept-noise --search-only --trials 1
	has "the reference was measured on devices 0, and trials would run on devices 1"
	has "next: infrarsi doctor --new"
	equals 0 "$(finished_trials)"
}

@test "devices that this call was not given are not taken" {
	CUDA_VISIBLE_DEVICES=1,2 run -2 parallel --trials 4
	has "infrarsi.yaml:"
	has "device 0 is not among those that this call was given (CUDA_VISIBLE_DEVICES=1,2)"
	equals 0 "$(slots_measured)"
}

@test "slots of processors hold jobs to them" {
	[ "$(nproc)" -ge 2 ] || skip "one processor"
	local first second
	first=$(python3 -c 'import os; print(sorted(os.sched_getaffinity(0))[0])')
	second=$(python3 -c 'import os; print(sorted(os.sched_getaffinity(0))[1])')
	rmdir ../meet
	sed -i "s/device_slots: .*/device_slots: [{cpus: \"$first\"}, {cpus: \"$second\"}]/" infrarsi.yaml
	run -0 infrarsi doctor --new --hurry
	run -0 infrarsi run --accept-noise --search-only --parallel 2 --trials 2
	local log slot
	for log in .infrarsi/logs/*.log; do
		slot=$(sed -n 's/^slot \([0-9]*\) .*/\1/p' "$log")
		if [ "$slot" = 1 ]; then equals "$first" "$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "$log")"
		else equals "$second" "$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "$log")"; fi
	done
	equals 3 "$(grep -l '^slot 2 ' .infrarsi/logs/*.log | wc -l)" # two rounds of the reference and a trial
	books_balance
}

@test "checks of the contract run beside each other, too" {
	rmdir ../meet
	sed -i 's|^  frozen_files:|  tests: [["sh", "-c", "exit 0"]]\n  eval: {command: ["sh", "-c", "echo loss 2.5"], tolerance: 1%}\n&|' infrarsi.yaml
	infrarsi init --accept >/dev/null
	run -0 infrarsi doctor --new --hurry
	run -0 infrarsi run --accept-noise --search-only --parallel 2 --trials 4 --start algorithm=quick --start cache=on
	equals 4 "$(finished_trials)"
	equals 2.5 "$(ledger "select json_extract(body, '\$.eval') from entry where kind = 'finished' and trial = 1")"
	run -0 infrarsi show 1
	has "trial 1  valid"
	books_balance
	# In a sandbox no job sees the folder of the other.
	if bwrap --ro-bind / / --dev /dev --unshare-pid true; then
		local log
		for log in .infrarsi/logs/*.log; do
			grep -qx "beside: $(basename "$log" .log)" "$log"
		done
	fi
}
