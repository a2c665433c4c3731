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

proposer() { # ENTRY in place of the fixture's own
	edit "s|^proposers:.*|proposers:\n  - $1|"
}

# Line 26 is `proposers:`, as in the fixture.
refused_at() { # LINE:COLUMN TEXT
	refused_with "infrarsi.yaml:$1: $2" "init doctor"
}

@test "a proposer of no known kind" {
	proposer '{kind: opnai, model: m}'
	refused_at 27:12 "proposers.kind: expected patches, catalogue, openai, anthropic, command or replay, got 'opnai' (did you mean 'openai'?)"
}

@test "a proposer's field that belongs to another kind" {
	proposer '{kind: command, command: [./agent], model: m}'
	refused_at 27:41 "proposers.model is for openai and anthropic, not for command"
}

@test "a proposer without what its kind needs" {
	proposer '{kind: openai, model: m}'
	refused_at 27:5 "proposers needs the key 'base_url'"
}

@test "two proposers of one name, and two catalogues" {
	proposer '{kind: command, command: [a]}\n  - {kind: command, command: [b]}'
	refused_at 28:5 "proposers: there are two of the name 'command': give one a name"
	cp before.yaml infrarsi.yaml
	proposer '{kind: catalogue}\n  - {kind: catalogue, name: second}'
	refused_at 28:5 "proposers: at most one of kind catalogue"
}

@test "a key in the task file, which is not shown" {
	proposer '{kind: anthropic, model: m, api_key: sk-0123456789}'
	refused_at 27:33 "proposers: 'api_key': a key never stands in the task file"
	lacks "sk-0123456789"
	cp before.yaml infrarsi.yaml
	proposer '{kind: anthropic, model: m, key_env: sk-0123456789}'
	refused_at 27:42 "proposers.key_env: expected the name of an environment variable"
	lacks "sk-0123456789"
	cp before.yaml infrarsi.yaml
	proposer '{kind: anthropic, model: m, base_url: "https://me:sk-0123456789@example.org"}'
	refused_at 27:43 "proposers.base_url: the address must not hold a name or password"
	lacks "sk-0123456789"
}

@test "a key that would be sent without encryption" {
	proposer '{kind: openai, model: m, base_url: "http://example.org/v1", key_env: KEY}'
	refused_at 27:40 "proposers.base_url: a key is sent over https only, or to this machine"
}

@test "a key that the job would get" {
	sed -i 's/^  timeout: 1m/  timeout: 1m\n  pass_env: [KEY]/' infrarsi.yaml
	proposer '{kind: openai, model: m, base_url: "https://example.org/v1", key_env: KEY}'
	refused_at 28:75 "proposers.key_env: launch.pass_env hands KEY to the job"
}

@test "a limit of money without a price" {
	proposer '{kind: anthropic, model: m, budget: {usd: 3}}'
	refused_at 27:47 "proposers.budget.usd: say price"
	cp before.yaml infrarsi.yaml
	edit 's/^budget: {trials: 8}/budget: {trials: 8, usd: 3}/'
	proposer '{kind: anthropic, model: m}'
	refused_at 27:5 "proposers: budget.usd limits what 'anthropic' may cost: say price"
}

@test "a program without words, and a variable that is infrarsi's own" {
	proposer '{kind: command, command: []}'
	refused_at 27:30 "proposers.command: must not be empty"
	cp before.yaml infrarsi.yaml
	proposer '{kind: command, command: [a], pass_env: [INFRARSI_KEY]}'
	refused_at 27:46 "proposers.pass_env: 'INFRARSI_KEY'"
}

@test "a transcript that does not exist, and one that does" {
	proposer '{kind: replay, file: answers.jsonl}'
	refused_at 27:26 "proposers.file: there is no file 'answers.jsonl' beside the task file"
	: >answers.jsonl
	run -0 infrarsi init
}

@test "nothing to search: no knob, and a catalogue without a file to edit" {
	edit '/^knobs:/,/mode, values/d; s/^  command: .*/  command: [.\/train]/; s/^build: .*/build: [make]/; /invariants/d'
	proposer '{kind: catalogue}'
	run -0 infrarsi init --accept
	edit '/editable_files/d'
	run -2 infrarsi init
	has "there is nothing to search: give at least one knob or a proposer of patches, and contract.editable_files"
}

@test "each kind of proposer, as it is meant" {
	: >answers.jsonl
	edit '/^proposers:/,$d'
	cat >>infrarsi.yaml <<-'END'
		proposers:
		  - {kind: catalogue}
		  - {kind: patches, dir: patches}
		  - {kind: openai, base_url: "http://127.0.0.1:8000/v1", model: m, name: local, every: 2}
		  - {kind: anthropic, model: m, key_env: A_KEY, price: {in: 3, out: 15}, budget: {tokens: 9000, usd: 1}}
		  - {kind: command, command: ["python3", "./agent.py"], pass_env: [A_TOKEN], timeout: 1m, patches: 0}
		  - {kind: replay, file: answers.jsonl, mode: lenient}
	END
	run -0 infrarsi init
}

@test "an empty task file, and one that is not text" {
	: >infrarsi.yaml
	refused_with "infrarsi.yaml:"
	head -c 300 /dev/urandom >infrarsi.yaml
	run -2 infrarsi run
	has "infrarsi.yaml"
	nothing_ran
}
