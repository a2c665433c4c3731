#!/usr/bin/env bats
# Mistakes in the task file: one error with its place, exit code 2, and nothing is launched.
load helpers

setup_file() {
	new_repo "$BATS_FILE_TMPDIR/template"
	lock
}

setup() {
	from_template
}

edit() { # SED EXPRESSION on the task file; it must change something
	cp infrarsi.yaml before.yaml
	sed -i "$1" infrarsi.yaml
	run ! cmp -s before.yaml infrarsi.yaml
}

refused_with() { # TEXT [COMMANDS]: as a single error at a place in the file
	local command
	for command in ${2:-init doctor run}; do
		run -2 infrarsi "$command"
		has "$1"
		[[ ${lines[0]} =~ ^infrarsi:\ [^\ ]*infrarsi\.yaml:[0-9]+:[0-9]+:\  ]] || {
			echo "no place in: ${lines[0]}"
			return 1
		}
		equals 1 "${#lines[@]}"
	done
	run -2 --separate-stderr infrarsi doctor --json
	is_json
	[ "$(json "d['line']")" -ge 1 ]
	[ "$(json "d['column']")" -ge 1 ]
	nothing_ran
}

nothing_ran() {
	[ -z "$(find .infrarsi -path '*logs*' -type f 2>/dev/null)" ]
	[ -z "$(find .infrarsi -path '*receipts*' -type f 2>/dev/null)" ]
}

@test "YAML that does not parse" {
	edit 's/^launch:/launch: [/'
	refused_with "infrarsi.yaml:"
}

@test "an unknown key gets a suggestion" {
	edit 's/loss: {tolerance/loss: {tolerence/'
	refused_with "unknown key 'tolerence' in contract.loss (did you mean 'tolerance'?)"
}

@test "a duplicate key" {
	edit 's/^name: tiny/name: tiny\nname: again/'
	refused_with "infrarsi.yaml:3:1: "
}

@test "a value of the wrong kind" {
	edit 's/timeout: 1m/timeout: soon/'
	refused_with "soon"
}

@test "a value out of its range" {
	edit 's/warmup: 2/warmup: 12/'
	refused_with "warmup"
}

@test "an impossible batch: the reference itself breaks an invariant" {
	edit 's/global_batch % micro_batch == 0/global_batch == 9 * micro_batch/'
	refused_with "global_batch == 9 * micro_batch"
}

@test "a command that names a knob which is not declared" {
	edit 's/{cache}/{cash}/'
	refused_with "cash"
}

@test "a missing knob: an expression that names one which is not declared" {
	edit 's/global_batch % micro_batch == 0/global_batch % mega_batch == 0/'
	refused_with "mega_batch"
}

@test "an expression that does not parse" {
	edit 's/global_batch % micro_batch == 0/global_batch % == 0/'
	refused_with "infrarsi.yaml:"
}

@test "a reference that is not among a knob's values" {
	edit 's/reference: plain/reference: fancy/'
	refused_with "fancy"
}

@test "a knob without values" {
	edit 's/values: \[plain, quick, careful\]/values: []/'
	refused_with "values"
}

@test "a frozen file that does not exist" {
	edit 's/"data.txt"/"dates.txt"/'
	refused_with "'dates.txt' matches no file" "init doctor"
}

@test "a folder of patches that does not exist" {
	edit 's/dir: patches/dir: potches/'
	refused_with "potches"
}

@test "a file that is both frozen and editable" {
	edit 's/editable_files: \["train.c"\]/editable_files: ["train.c", "data.txt"]/'
	refused_with "data.txt"
}

@test "a required section that is missing" {
	edit '/^contract:/,/editable_files/d'
	refused_with "contract"
}

@test "an unknown version of the task file" {
	edit 's/^version: 1/version: 2/'
	refused_with "version"
}

@test "an empty task file, and one that is not text" {
	: >infrarsi.yaml
	refused_with "infrarsi.yaml:"
	head -c 300 /dev/urandom >infrarsi.yaml
	run -2 infrarsi run
	has "infrarsi.yaml"
	nothing_ran
}
