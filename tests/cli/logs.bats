#!/usr/bin/env bats
# `infrarsi logs`: what a job's own log says. Right values are those of tests/logs, worked out by hand there.
load helpers

LOGS=$CLI_DIR/../logs

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

@test "the whole corpus agrees" {
	run -0 infrarsi logs --corpus "$LOGS"
	[[ ${lines[-1]} =~ ^logs:\ ([0-9]+)\ of\ ([0-9]+)\ cases\ agree$ ]]
	[ "${BASH_REMATCH[1]}" -eq "${BASH_REMATCH[2]}" ]
	[ "${BASH_REMATCH[1]}" -ge 117 ]
	run -0 infrarsi logs --corpus "$LOGS" --json
	equals True "$(json "d['agreeing'] == d['total'] and all(c['agrees'] for c in d['cases'])")"
}

@test "a case that disagrees is shown with field, value and expectation, and is exit 1" {
	mkdir -p corpus/ddp
	cp "$LOGS/ddp/002-frozen-loss.log" corpus/ddp/a.log
	sed '0,/"loss"/! {0,/"loss": 5.545177/s//"loss": 5.5/}; s/"framework": "ddp"/"framework": "nemo"/' \
		"$LOGS/ddp/002-frozen-loss.expected.json" >corpus/ddp/a.expected.json
	run -1 infrarsi logs --corpus corpus
	has "ddp/a.log"
	has '  framework: got "ddp", expected "nemo"'
	has "  steps[1].loss: got 5.545177, expected 5.5"
	[ "${lines[-1]}" = "logs: 0 of 1 cases agree" ]
}

@test "a log for a person: format and why, steps, figures, end, notes, what is unchecked, what next" {
	run -0 infrarsi logs "$LOGS/megatron/014-tee-prefixes-multinode.log"
	has "Format     megatron   from line 3: "
	has "Steps      3, 1 to 3"
	has "12.0111"
	has "Loss       12.0111 -> 11.9013, lowest 11.9013 at step 3"
	has "Time       median 4.915 s/update; the first 28.11 s"
	has "Memory     peak 57"
	has "Completed  the log does not say"
	has "Failure    none found"
	has "Unchecked  tokens of an update"
	has "data digest"
	has "Next: "
}

@test "a failure is shown with its kind, its line and what it means next" {
	run -0 infrarsi logs "$LOGS/oom/024-line-wrapped-message.log"
	has "Failure    oom"
	has "line 4: torch.OutOfMemoryError"
	has "short of"
	has "Next: free device memory"
}

@test "--json is the schema of the expectations" {
	run -0 infrarsi logs --json "$LOGS/megatron/016-core0.16-interval1-second-line-averaged.log"
	equals megatron "$(json "d['framework']")"
	equals "[1, 2]" "$(json "d['steps'][1]['window']")"
	equals "{'loss': 11.85002, 'step_time_s': 2.4605}" "$(json "d['steps'][1]['corrected']")"
	equals "['first_line_overlaps_next_window']" "$(json "d['flags']")"
	equals "[None, None, None]" "$(json "[d['failure'], d['completed'], d['steps'][0]['mem_gib']]")"
	has '"lr": 3e-06'
	# What is not a number is a string: JSON has none.
	run -0 infrarsi logs --json "$LOGS/nan/003-inf-then-nan-kv.log"
	equals "[5.0, 'inf', 'nan', 'nan']" "$(json "[s['loss'] for s in d['steps']]")"
}

@test "standard input, and what the caller knows of the end" {
	log="$LOGS/timeout/002-log-just-stops.log"
	infrarsi logs --json - <"$log" >from-pipe.json
	infrarsi logs --json "$log" >from-file.json
	cmp from-pipe.json from-file.json
	grep -q '"failure": null' from-file.json
	run -0 infrarsi logs --json --exit-status 124 "$log"
	equals timeout "$(json "d['failure']['kind']")"
	printf 'step=1 loss=2.5 dt=0.1\n' >short.log
	run -0 infrarsi logs --json --exit-status 0 short.log
	equals True "$(json "d['completed']")"
	run -0 infrarsi logs --json --exit-status 0 --updates 2 short.log
	equals False "$(json "d['completed']")"
}

@test "--format reads as that format, --formats lists them" {
	run -0 infrarsi logs --formats
	for format in megatron deepspeed ddp nanogpt hf-trainer torchtitan; do has "$format"; done
	run -0 infrarsi logs --json --format torchtitan "$LOGS/ddp/002-frozen-loss.log"
	equals "torchtitan 0" "$(json "d['framework'] + ' ' + str(len(d['steps']))")"
	run -2 infrarsi logs --format megatorn "$LOGS/ddp/002-frozen-loss.log"
	has "no format is named 'megatorn' (did you mean 'megatron'?)"
}

@test "what is no log gets a clear error" {
	run -2 infrarsi logs
	has "expected one log"
	run -2 infrarsi logs no-such.log
	has "no-such.log"
	mkdir folder
	run -2 infrarsi logs folder
	has "is a folder"
	gzip -c "$LOGS/ddp/002-frozen-loss.log" >a.log.gz
	run -2 infrarsi logs a.log.gz
	has "zcat FILE | infrarsi logs -"
	zcat a.log.gz | infrarsi logs - >piped.txt
	grep -q "^Format     ddp" piped.txt
	run -2 infrarsi logs --exit-status 300 a.log.gz
	has "0 to 255"
	run -2 infrarsi logs --updates none a.log.gz
	has "--updates"
	run -2 infrarsi logs --corpus folder
	has "no *.log below folder"
	run -2 infrarsi logs --json no-such.log
	equals 2 "$(json "d['exit_code']")"
}

@test "an empty log, and one of which nothing is understood" {
	: >empty.log
	run -0 infrarsi logs empty.log
	has "Format     unknown"
	has "Steps      none"
	printf 'hello\nworld\n' >other.log
	run -0 infrarsi logs other.log
	has "no format of  infrarsi logs --formats  fits"
}

@test "text from the log cannot drive the terminal" {
	printf 'step=1 loss=2.5 dt=0.1 \033]0;owned\007\033[31m\nTraceback (most recent call last):\n  File "x.py", line 1\nValueError: \033[2J\033]52;c;AAAA\007 \xe2\x80\xae evil\n' >hostile.log
	run -0 infrarsi logs hostile.log
	has "ValueError"
	if printf '%s' "$output" | LC_ALL=C grep -q $'[\001-\010\013-\037\177]'; then false; fi
	[[ $output != *$'\xe2\x80\xae'* ]]
}

@test "a line of ten megabytes in little memory" {
	{
		printf 'step=1 loss=2.5 dt=0.1\n'
		head -c 10000000 /dev/zero | tr '\0' 'x'
		printf '\nstep=2 loss=2.4 dt=0.1\n'
	} >long.log
	run -0 infrarsi logs --json long.log
	equals 2 "$(json "len(d['steps'])")"
}
