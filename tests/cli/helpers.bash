# Shared by the tests of the command line: throw-away repositories around the fixture job, each with its own home
# and keys. Tests assert statuses and relations, never times; the fixture's effects are far above any noise.
# shellcheck shell=bash
bats_require_minimum_version 1.5.0

CLI_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
INFRARSI=$(realpath -m "${INFRARSI:-$CLI_DIR/../../build/infrarsi}")
[ -x "$INFRARSI" ] || { echo "no program at $INFRARSI: run scripts/build" >&2; exit 1; }
export GIT_CONFIG_NOSYSTEM=1 LC_ALL=C

infrarsi() { "$INFRARSI" "$@"; }

new_repo() { # FOLDER: the fixture in a fresh repository, with its home and keys beside it; enters it
	mkdir -p "$1/home"
	cp -r "$CLI_DIR/job" "$1/repo"
	enter "$1"
	printf 'train\n' >.gitignore
	git init -q .
	git config user.name Tester
	git config user.email tester@example.org
	git add -A
	git commit -q -m start
}

enter() { # FOLDER made by new_repo
	export HOME=$1/home XDG_STATE_HOME=$1/state XDG_DATA_HOME=$1/data
	cd "$1/repo" || return 1
}

lock() { # what `init` does, committed
	infrarsi init >/dev/null
	git add infrarsi.lock
	git commit -q -m lock
}

# Measuring the reference takes seconds: once a file, in setup_file, with a copy for each test.
new_template() { # a measured campaign in $BATS_FILE_TMPDIR/template
	new_repo "$BATS_FILE_TMPDIR/template"
	lock
	infrarsi doctor --seed 7 >"$BATS_FILE_TMPDIR/doctor.txt"
}

from_template() {
	cp -a "$BATS_FILE_TMPDIR/template" "$BATS_TEST_TMPDIR/case"
	enter "$BATS_TEST_TMPDIR/case"
}

has() { # TEXT: $output contains it
	[[ $output == *"$1"* ]] && return 0
	printf 'expected: %s\nin:\n%s\n' "$1" "$output" >&2
	return 1
}

lacks() { # TEXT
	[[ $output != *"$1"* ]] && return 0
	printf 'not expected: %s\nin:\n%s\n' "$1" "$output" >&2
	return 1
}

is_json() { # $output is one JSON document
	python3 -m json.tool <<<"$output" >/dev/null && return 0
	printf 'not JSON:\n%s\n' "$output" >&2
	return 1
}

json() { # EXPRESSION over `d`, the document in $output
	python3 -c 'import json, sys; d = json.loads(sys.argv[1]); print(eval(sys.argv[2]))' "$output" "$1"
}

equals() { # EXPECTED ACTUAL
	[ "$1" = "$2" ] && return 0
	printf 'expected %s, got %s\n' "$1" "$2" >&2
	return 1
}

ledger() { # SQL over the ledger
	sqlite3 -batch .infrarsi/ledger.db ".timeout 5000" "$1"
}

n_receipts() { find .infrarsi/receipts -name '*.json' | wc -l; }

processes_with() { # TEXT in a command line or an environment, this test's own shell aside: their ids
	local folder
	for folder in /proc/[0-9]*; do
		[ "${folder#/proc/}" != "$$" ] && [ "${folder#/proc/}" != "$BASHPID" ] &&
			cat "$folder/environ" "$folder/cmdline" 2>/dev/null | tr '\0' '\n' | grep -qF -- "$1" &&
			echo "${folder#/proc/}"
	done
	return 0
}

wait_until() { # SECONDS COMMAND...: until it succeeds
	local until=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $until ] || return 1
		sleep 0.05
	done
}

killed_at_random() { # SEED TIMES SHORTEST_S LONGEST_S ARGUMENTS of run: the caller gives no_job_is_left
	local seed=$1 times=$2 shortest=$3 longest=$4 hits=0 pid outcome
	shift 4
	RANDOM=$seed
	for _ in $(seq "$times"); do
		"$INFRARSI" run "$@" >>output.txt 2>&1 3>&- &
		pid=$!
		sleep "$(awk -v r=$RANDOM -v a="$shortest" -v b="$longest" 'BEGIN {print a + (b - a) * r / 32768}')"
		kill -KILL "$pid" 2>/dev/null || true
		outcome=0
		wait "$pid" || outcome=$?
		[ "$outcome" -ne 137 ] || hits=$((hits + 1))
		wait_until 120 no_job_is_left
	done
	echo "# moments from seed $seed: $hits of $times hit a run at work" >&3
}

has_entry() { # KIND
	[ "$(ledger "select count(*) from entry where kind = '$1'")" -ge 1 ]
}

books_balance() { # every trial and every receipt counted once
	equals "$(ledger "select count(distinct trial) from entry where kind = 'registered'")" \
		"$(ledger "select count(*) from entry where kind = 'registered'")"
	local ends="('finished', 'interrupted', 'transient')"
	equals "$(ledger "select count(*) from entry where kind = 'registered'")" \
		"$(ledger "select count(distinct trial) from entry where trial > 0 and kind in $ends and
			trial in (select trial from entry where kind = 'registered')")"
	equals "$(n_receipts)" "$(ledger "select count(*) from entry where kind = 'finished'")"
	equals "$(n_receipts)" \
		"$(ledger "select count(distinct json_extract(body, '\$.receipt_digest')) from entry where kind = 'finished'")"
	run infrarsi verify
	[ "$status" -le 1 ]
	has " 0 refused"
}

finished_trials() {
	ledger "select count(*) from entry where kind = 'finished' and json_extract(body, '\$.role') = 'search'"
}
