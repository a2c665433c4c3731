#!/usr/bin/env bats
# What a terminal shows while a campaign runs, and what a pipe gets.
load helpers

setup_file() {
	new_template
}

setup() {
	command -v tmux >/dev/null || skip "tmux is not installed"
	from_template
	socket=$BATS_TEST_TMPDIR/tmux
}

teardown() {
	[ -z "${socket:-}" ] || tmux -S "$socket" kill-server 2>/dev/null || true
}

end_mark="-- the terminal's last line --"

begin_in_terminal() { # COLUMNS LINES COMMAND; raw.txt: all that it writes
	local columns=$1 lines=$2
	shift 2
	tmux -S "$socket" -f /dev/null new-session -d -x "$columns" -y "$lines" \
		"tmux -S '$socket' pipe-pane -o 'cat >$PWD/raw.txt'; until [ -e raw.txt ]; do sleep 0.02; done
		$*; echo \"exit \$?\" >ended.txt; echo \"$end_mark\"; exec sleep 600"
}

screen() {
	tmux -S "$socket" capture-pane -p -S - -J
}

shows() { # TEXT on the screen
	screen | grep -qF -- "$1"
}

end_in_terminal() { # when all has arrived, $output: the last screen
	wait_until 120 test -s ended.txt
	wait_until 120 shows "$end_mark"
	wait_until 120 grep -qF -- "$end_mark" raw.txt
	output=$(screen)
}

in_terminal() { # COLUMNS LINES COMMAND: runs it there to its end
	begin_in_terminal "$@"
	end_in_terminal
}

live_lines() { # what was drawn over and over, one a line, without its control sequences
	tr '\r' '\n' <raw.txt | sed 's/\x1b\[K//g' | grep -a '\[[=> ]*\] [0-9]*/12'
}

renders_at() { # COLUMNS LINES
	in_terminal "$1" "$2" "'$INFRARSI' run --accept-noise --search-only --trials 4 --start algorithm=quick --start mode=broken"
	equals "exit 0" "$(cat ended.txt)"
	# The live line was there, with the operator, the bar, the best so far and what is left, and never wrapped.
	run live_lines
	[ "${#lines[@]}" -ge 4 ]
	has "/12"
	has "best "
	has "left "
	local line
	for line in "${lines[@]}"; do
		[ "${#line}" -lt "$1" ] || {
			echo "wider than $1 columns: $line"
			return 1
		}
	done
	output=$(screen)
	# At the end only the table is left: every row once, no remains of the bar.
	lacks "[=" 
	lacks "[>"
	for number in 1 2 3 4; do
		equals 1 "$(grep -c "^  $number  " <<<"$output")"
	done
	equals 1 "$(grep -c "what changed" <<<"$output")"
	has "promotion was left out"
}

@test "80 x 24: the live line fits, the table stays clean" {
	renders_at 80 24
}

@test "120 x 40: the live line fits, the table stays clean" {
	renders_at 120 40
}

@test "doctor shows what it is at, and leaves only its findings" {
	in_terminal 120 40 "'$INFRARSI' doctor --new --hurry"
	equals "exit 0" "$(cat ended.txt)"
	has "Noise      sigma_pair"
	has "Next: " # what comes next is the noise's affair
	has "infrarsi run"
	lacks "[>"
	run live_lines
	has "reference run 1 of 3"
	has "profiling run"
}

@test "Ctrl-C on the terminal: a clean line, exit 4" {
	sed -i "s/values: \[normal, broken\]/values: [normal, hang]/" infrarsi.yaml
	begin_in_terminal 100 30 "'$INFRARSI' run --accept-noise --search-only --trials 1 --start mode=hang"
	wait_until 120 shows "0/12"
	tmux -S "$socket" send-keys C-c
	end_in_terminal
	equals "exit 4" "$(cat ended.txt)"
	has "go on with  infrarsi run"
	lacks "[>"
}

@test "a pipe gets no escape sequences and no carriage returns" {
	infrarsi run --accept-noise --trials 2 --start algorithm=quick >piped.txt 2>&1
	infrarsi report >>piped.txt
	infrarsi show 1 >>piped.txt
	run grep -c -P '[\x00-\x08\x0b-\x1f\x7f]' piped.txt
	equals 0 "$output"
	grep -q "delivered: " piped.txt
}

@test "a reader that goes away is no crash" {
	run bash -c "'$INFRARSI' report --markdown | head -c 1 >/dev/null; echo \${PIPESTATUS[0]}"
	[ "${lines[-1]}" -le 141 ]
	run bash -c "'$INFRARSI' report >/dev/full"
	[ "$status" -eq 1 ]
}
