#!/usr/bin/env bats
# What every command says about itself, and how it refuses what it does not understand.
load helpers

commands="init doctor run report apply verify show explain audit codemods logs simulate"

setup_file() {
	new_repo "$BATS_FILE_TMPDIR/template"
}

setup() {
	enter "$BATS_FILE_TMPDIR/template"
}

@test "help lists every command and the exit codes" {
	for spelling in --help -h help; do
		run -0 infrarsi "$spelling"
		for command in $commands; do
			has "  $command "
		done
		has "Exit codes: 0 done"
	done
}

@test "no command at all shows the help and is a usage error" {
	run -2 infrarsi
	has "Usage: infrarsi COMMAND"
}

@test "--version is one line" {
	run -0 infrarsi --version
	[[ $output =~ ^infrarsi\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
}

@test "every command has a --help that shows its usage and the common options" {
	for command in $commands; do
		run -0 infrarsi "$command" --help
		has "Usage: infrarsi $command"
		has "--json"
		has "--task FILE"
	done
}

@test "an unknown command gets a suggestion" {
	run -2 infrarsi docter
	has "unknown command 'docter' (did you mean 'doctor'?)"
	equals 1 "${#lines[@]}"
}

@test "an unknown option gets a suggestion, in every command" {
	for command in $commands; do
		run -2 infrarsi "$command" --jsn
		has "$command: unknown option '--jsn' (did you mean '--json'?)"
		equals 1 "${#lines[@]}"
	done
	run -2 infrarsi run --trails 3
	has "did you mean '--trials'?"
	run -2 infrarsi run -t
	has "unknown option '-t'"
}

@test "an option's value must be there and of its kind" {
	run -2 infrarsi run --trials
	has "--trials needs a value (N)"
	run -2 infrarsi run --trials seven
	has "--trials: expected a whole number, got 'seven'"
	run -2 infrarsi run --trials=-1
	has "expected a whole number"
	run -2 infrarsi run --trials=99999999999
	has "expected a whole number"
	run -2 infrarsi run --search-only=yes
	has "--search-only takes no value"
}

@test "an argument that a command has no use for is refused" {
	for command in doctor run report apply; do
		run -2 infrarsi "$command" surplus
		has "unexpected argument 'surplus'"
	done
	run -2 infrarsi show
	has "expected one trial number"
	run -2 infrarsi show 1 2
	has "unexpected argument '2'"
	run -2 infrarsi audit
	has "expected one diff"
}

@test "errors are JSON with --json, wherever it stands" {
	for command in $commands; do
		run -2 --separate-stderr infrarsi "$command" --bogus --json
		is_json
		equals 2 "$(json "d['exit_code']")"
		equals "" "$stderr"
	done
	run -2 --separate-stderr infrarsi bogus --json
	is_json
}

@test "commands before their time say what comes first" {
	run -2 infrarsi doctor
	has "infrarsi.lock does not exist; next: infrarsi init"
	for command in report apply "show 1"; do
		# shellcheck disable=SC2086
		run -2 infrarsi $command
		has "next: infrarsi doctor"
		equals 1 "${#lines[@]}"
	done
	run -2 infrarsi verify
	has "no .infrarsi/receipts here"
}

@test "a task file that is not there is named" {
	for command in doctor run report apply "show 1"; do
		# shellcheck disable=SC2086
		run -2 infrarsi $command --task elsewhere.yaml
		has "elsewhere.yaml"
	done
}
