#!/usr/bin/env bats
# The Model Context Protocol server: raw lines in, raw lines out, on the small job.
load helpers

META='"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}'

setup_file() {
	new_template
}

setup() {
	from_template
	asked=0
}

teardown() {
	[ -z "${server:-}" ] || { kill -KILL "$server" && wait "$server"; } 2>/dev/null || true
}

serve() { # OPTIONS: a server that runs on; its process is $server
	coproc SERVER { exec "$INFRARSI" mcp --accept-noise "$@" 2>server.err 3>&-; }
	server=$SERVER_PID
	exec {to}>&"${SERVER[1]}" {from}<&"${SERVER[0]}"
	eval "exec ${SERVER[1]}>&- ${SERVER[0]}<&-"
}

say() { # LINE
	printf '%s\n' "$1" >&"$to"
}

hear() { # the next line into $output
	IFS= read -r -t 60 output <&"$from" && is_json
}

ask() { # METHOD PARAMS: the reply to it into $output
	asked=$((asked + 1))
	say "{\"jsonrpc\": \"2.0\", \"id\": $asked, \"method\": \"$1\", \"params\": $2}"
	hear
	equals $asked "$(json "d['id']")"
}

call() { # TOOL ARGUMENTS: its result into $output
	ask tools/call "{\"name\": \"$1\", \"arguments\": ${2:-{\}}}"
	output=$(json "json.dumps(d['result'])")
}

data() { # EXPRESSION over `d`, the structured part of the result in $output
	json "(lambda d: ($1))(d['structuredContent'])"
}

begin() {
	serve "$@"
	ask initialize '{"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}'
	say '{"jsonrpc": "2.0", "method": "notifications/initialized"}'
}

close() { # the client's end; the server's outcome into $outcome
	exec {to}>&-
	outcome=0
	wait "$server" || outcome=$?
	server=
}

worked() {
	equals False "$(json "d['isError']")"
}

failed() { # TEXT of the error
	equals True "$(json "d['isError']")"
	has "$1"
}

until_idle() { # waits until nothing is at work; the trials that ended meanwhile into $ended, "2 interrupted" each
	local i
	ended=
	for i in $(seq 20); do
		call wait '{"seconds": 50}'
		ended+=$(data "''.join('%d %s;' % (t['trial'], t['status']) for t in d['trials'])")
		[ "$(data "d['at_work']")" = True ] || return 0
	done
	return 1
}

no_process_is_left() {
	[ -z "$(processes_with "$PWD/.infrarsi/")" ]
}

n_entries() {
	ledger "select count(*) from entry"
}

@test "a handshake, the tools, and an end" {
	begin
	equals 2025-06-18 "$(json "d['result']['protocolVersion']")"
	has '"instructions"'
	ask tools/list '{}'
	equals "status history explain space propose_settings propose_patch run wait promote results" \
		"$(json "' '.join(t['name'] for t in d['result']['tools'])")"
	equals True "$(json "all(t['description'] and t['inputSchema']['type'] == 'object' for t in d['result']['tools'])")"
	close
	equals 0 $outcome
}

@test "without a handshake, as of 2026-07-28" {
	serve
	ask server/discover "{$META}"
	has '"supportedVersions":["2026-07-28"]'
	ask tools/call "{\"name\": \"status\", $META}"
	equals complete "$(json "d['result']['resultType']")"
	equals ready "$(json "d['result']['structuredContent']['stage']")"
	close
	equals 0 $outcome
}

@test "nothing but replies on standard output, whatever comes in" {
	printf '%s\n' 'nonsense' '' '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}' \
		'{"jsonrpc": "2.0", "id": 2, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}' \
		'[]' $'\xff\xfe' '{"jsonrpc": "2.0", "id": 3, "method": "ping"}' >lines
	head -c 5000000 /dev/zero | tr '\0' x >>lines
	printf '\n%s' '{"jsonrpc": "2.0", "id": 4, "method": "ping"}' >>lines
	run -0 --separate-stderr bash -c '"$1" mcp <lines' _ "$INFRARSI"
	equals "" "$stderr"
	# The last line has no end, so it is none.
	equals "-32700 -32600 2 -32600 -32700 3 -32700" "$(python3 -c '
import json, sys
print(*[d["error"]["code"] if "error" in d else d["id"] for d in map(json.loads, sys.stdin)])' <<<"$output")"
}

@test "before there is a campaign: what comes first" {
	mkdir empty
	cd empty
	begin
	call status
	worked
	equals "not initialised" "$(data "d['stage']")"
	has "infrarsi init"
	for tool in history explain space results run promote wait; do
		call $tool
		failed "infrarsi.yaml"
	done
	cd ..
	rm -rf .infrarsi
	close
	begin
	call status
	worked
	equals "reference not measured" "$(data "d['stage']")"
	has "infrarsi doctor"
	for tool in history explain space results run promote wait; do
		call $tool
		failed "infrarsi doctor"
	done
	call propose_settings '{"settings": {"algorithm": "quick"}}'
	failed "infrarsi doctor"
}

@test "what can be changed, and what is believed" {
	begin
	call space
	worked
	equals "plain quick careful" "$(data "' '.join(d['knobs'][0]['settings'])")"
	equals train.c "$(data "d['job']['editable_files'][0]")"
	equals "$(ledger "select json_extract(body, '\$.snapshot.commit') from entry where kind = 'campaign'")" \
		"$(data "d['snapshot_commit']")"
	call explain
	worked
	believed=$(data "len(d['levers']), d['next']['candidate']['settings']")
	has "What each setting alone does"
	call history
	has "02-every-other-step"
	equals audit "$(data "d['refused'][0]['by']")"
	run -0 --separate-stderr infrarsi explain --json
	equals "$believed" "$(json "(len(d['levers']), d['next']['candidate']['settings'])")"
}

@test "settings are checked at once, and only good ones are put into the inbox" {
	begin
	before=$(n_entries)
	call propose_settings '{"settings": {"algoritm": "quick"}}'
	failed "did you mean 'algorithm'?"
	call propose_settings '{"settings": {"algorithm": "fast"}}'
	failed "it has plain, quick, careful"
	call propose_settings '{"settings": {"micro_batch": 3}}'
	failed "micro_batch has no setting"
	call propose_settings '{"settings": {}}'
	failed "the reference's own"
	call propose_settings '{"setting": {}}'
	failed "did you mean 'settings'?"
	call propose_settings '{"settings": {"algorithm": "quick"}, "speedup": 112}'
	failed "from 0.01 to 100"
	call propose_settings '{"settings": {"\u001b[2Jx": "quick"}}'
	failed '\\x1b[2Jx'
	[ ! -e .infrarsi/inbox ]
	call propose_settings '{"settings": {"algorithm": "quick", "micro_batch": 2}, "speedup": 1.5, "reason": "fewer passes"}'
	worked
	file=.infrarsi/inbox/$(data "d['inbox']")
	output=$(cat "$file")
	equals infrarsi-inbox/1 "$(json "d['schema']")"
	equals mcp "$(json "d['proposer']")"
	equals False "$(json "d['measure']")"
	equals "{'algorithm': 'quick', 'micro_batch': 2}" "$(json "d['answer']['configurations'][0]['settings']")"
	call status
	equals 1 "$(data "d['suggestions_waiting']")"
	equals "$before" "$(n_entries)"
}

patch_arguments() { # NAME FILE
	python3 -c 'import json, sys; print(json.dumps({"name": sys.argv[1], "diff": open(sys.argv[2]).read()}))' "$1" "$2"
}

@test "patches are audited at once, and only what is let in is put into the inbox" {
	begin
	before=$(n_entries)
	call propose_patch "$(patch_arguments skips patches/02-every-other-step.diff)"
	failed "Refused by audit: A3 optimizer work made conditional or dropped"
	equals "block train.c" "$(data "d['findings'][0]['severity'] + ' ' + d['findings'][0]['file']")"
	call propose_patch "$(patch_arguments same patches/01-less-effort.diff)"
	failed "as patch '01-less-effort'"
	call propose_patch "$(patch_arguments 01-less-effort patches/01-less-effort.diff)"
	failed "give this one another name"
	call propose_patch '{"name": "frozen", "edits": [{"file": "data.txt", "old": "1", "new": "2"}]}'
	failed "Refused by patch"
	has data.txt
	call propose_patch '{"name": "out", "edits": [{"file": "../x", "old": "", "new": "2"}]}'
	failed "Refused by patch"
	call propose_patch '{"name": "twice", "edits": [{"file": "train.c", "old": "return", "new": "return"}]}'
	failed "Refused by patch"
	call propose_patch '{"name": "neither"}'
	failed "needs either 'diff'"
	call propose_patch '{"name": "hook", "edits": [{"file": "infrarsi_hook.h", "old": "", "new": "x"}]}'
	failed "Refused by"
	call propose_patch '{"name": "phase", "phases": ["forwards"], "edits": []}'
	failed "did you mean 'forward'?"
	[ ! -e .infrarsi/inbox ]
	call propose_patch '{"name": "Less still!", "title": "less", "phases": ["forward"], "speedup": 1.4, "edits": [{"file": "train.c", "old": "static const double effort = 25;", "new": "static const double effort = 15;"}]}'
	worked
	equals less-still "$(data "d['name']")"
	equals False "$(data "d['needs_review']")"
	[ -e ".infrarsi/inbox/$(data "d['inbox']")" ]
	equals "$before" "$(n_entries)"
	equals "" "$(git status --porcelain --untracked-files=no)"
}

@test "an agent's campaign: propose, run, wait, promote, results" {
	begin
	call promote
	failed "nothing to promote"
	call run '{"trials": 9}'
	failed "8 are left of the task's 8"
	call wait
	equals "[] False" "$(data "d['trials'], d['at_work']" | tr -d '(,)')"
	call propose_settings '{"settings": {"algorithm": "careful"}, "measure": true, "reason": "as the user asked"}'
	call propose_settings '{"settings": {"algorithm": "quick", "define": "-DSHORT"}, "measure": true}'
	call propose_patch '{"name": "less", "edits": [{"file": "train.c", "old": "static const double effort = 25;", "new": "static const double effort = 15;"}]}'
	call run '{"trials": 2}'
	worked
	until_idle
	equals 0 "$(data "d['run_ended']['exit_code']")"
	call history
	# In the order in which they were asked for, though nobody would expect much of the first.
	equals "{'algorithm': 'careful'}" "$(data "d['trials'][0]['changes']")"
	equals valid "$(data "d['trials'][0]['status']")"
	equals "True True" "$(data "d['trials'][0]['speedup'] < 1, d['trials'][1]['speedup'] > 1.5" | tr -d '(),')"
	equals 2 "$(data "d['finished']")"
	call history '{"count": 1, "from": 1}'
	equals "1 2" "$(data "len(d['trials']), d['next_from']" | tr -d '(),')"
	call propose_settings '{"settings": {"algorithm": "careful"}}'
	failed "trial 1 had these settings: valid"
	call explain '{"trial": 2}'
	worked
	call explain '{"trial": 3}'
	failed "expected 1 to 2"
	# What was taken in is a knob now.
	call space
	equals True "$(data "'less' in [p['name'] for p in d['patches']]")"
	equals 3 "$(find .infrarsi/inbox/taken -name '*.json' | wc -l)"
	call promote
	worked
	until_idle
	has "Delivered"
	call results
	worked
	equals True "$(data "d['promoted'] and d['delivered'] > 1.5 and d['n_trials'] == 2")"
	delivered=$(data "d['delivered']")
	call status
	equals promoted "$(data "d['stage']")"
	equals 2 "$(data "d['delivered']['trial']")"
	close
	equals 0 $outcome
	books_balance
	run -0 --separate-stderr infrarsi report --json
	equals True "$(json "abs(d['delivered'] - $delivered) < 1e-9")"
	equals "" "$(git status --porcelain --untracked-files=no)"
}

@test "news of each trial as it ends; others are answered meanwhile; a wait can be cancelled" {
	sed -i 's/values: \[normal, broken\]/values: [normal, hang]/' infrarsi.yaml
	begin
	call propose_settings '{"settings": {"algorithm": "quick"}, "measure": true}'
	call propose_settings '{"settings": {"mode": "hang"}, "measure": true}'
	call run '{"trials": 2}'
	call wait '{"seconds": 50}'
	equals 1 "$(data "len(d['trials'])")"
	equals 1 "$(data "d['trials'][0]['trial']")"
	say '{"jsonrpc": "2.0", "id": "w", "method": "tools/call", "params": {"name": "wait", "arguments": {"seconds": 50}}}'
	ask ping '{}'
	wait_until 120 running_trial_is 2
	say '{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "w"}}'
	call wait '{"seconds": 0.5}'
	worked
	equals "[] True" "$(data "d['trials'], d['at_work']" | tr -d '(,)')"
	close
	equals 0 $outcome
	no_process_is_left
}

hanging_run() { # a server whose run executes a job that does not end by itself
	sed -i 's/values: \[normal, broken\]/values: [normal, hang]/' infrarsi.yaml
	begin
	call propose_settings '{"settings": {"mode": "hang"}, "measure": true}'
	call run
	wait_until 120 has_entry started
	wait_until 120 job_is_at_work
}

job_is_at_work() {
	[ -n "$(processes_with "INFRARSI_EVENT_PATH=$PWD/.infrarsi/")" ]
}

@test "one run at a time; when the client closes, it ends as after Ctrl-C" {
	hanging_run
	call run
	failed "a search that this server started is at work"
	call promote
	failed "a search that this server started is at work"
	call status
	equals "at work" "$(data "d['stage']")"
	equals "this server" "$(data "d['worker']")"
	close
	equals 0 $outcome
	no_process_is_left
	equals 1 "$(ledger "select count(*) from entry where kind = 'interrupted'")"
	books_balance
}

@test "TERM of the server: exit 4, and the run ends the same" {
	hanging_run
	kill -TERM "$server"
	outcome=0
	wait "$server" || outcome=$?
	server=
	equals 4 $outcome
	no_process_is_left
	equals 1 "$(ledger "select count(*) from entry where kind = 'interrupted'")"
}

@test "KILL of the server: its run does not outlive it" {
	hanging_run
	kill -KILL "$server"
	wait_until 120 no_process_is_left
	equals 1 "$(ledger "select count(*) from entry where kind = 'interrupted'")"
}

@test "TERM of a server whose client does not read" {
	begin
	for i in $(seq 200); do
		printf '{"jsonrpc": "2.0", "id": %d, "method": "tools/list"}\n' "$i"
	done >&"$to"
	kill -TERM "$server"
	outcome=0
	wait "$server" || outcome=$?
	server=
	equals 4 $outcome
}

@test "a client that is gone: an error on standard error, and an end" {
	run -1 --separate-stderr bash -c '
		for i in $(seq 200); do
			printf "{\"jsonrpc\": \"2.0\", \"id\": %d, \"method\": \"server/discover\", \"params\": {%s}}\n" "$i" "$2"
		done | "$1" mcp | true; exit ${PIPESTATUS[1]}' _ "$INFRARSI" "$META"
	[[ $stderr == *"cannot write to the client"* ]]
}

@test "somebody else's run: seen, followed, and not disturbed" {
	sed -i 's/values: \[normal, broken\]/values: [normal, hang]/' infrarsi.yaml
	"$INFRARSI" run --accept-noise --search-only --trials 2 --start algorithm=quick --start mode=hang \
		>/dev/null 2>&1 3>&- &
	other=$!
	begin
	wait_until 120 running_trial_is 2
	call status
	equals "another process" "$(data "d['worker']")"
	call run
	failed "process $other"
	call wait '{"seconds": 0.3}'
	equals "[] True" "$(data "d['trials'], d['at_work']" | tr -d '(,)')"
	kill -INT $other
	until_idle
	equals "2 interrupted;" "$ended"
	call status
	equals "1 False" "$(data "d['trials']['finished'], d['at_work']" | tr -d '(,)')"
}

running_trial_is() { # NUMBER, asked of the server
	call status
	[ "$(data "d['trials']['running']")" = "[$1]" ]
}

@test "a run that cannot be: its end says why" {
	echo >>data.txt
	begin
	call run
	worked
	until_idle
	equals 5 "$(data "d['run_ended']['exit_code']")"
	has data.txt
	call status
	equals 5 "$(data "d['last_run']['exit_code']")"
}

@test "a suggestion that cannot be read is refused by name, and the run goes on" {
	mkdir -p .infrarsi/inbox
	echo '{"schema": "infrarsi-inbox/1", "proposer": "mcp", "measur": true}' >.infrarsi/inbox/bad.json
	run -0 infrarsi run --accept-noise --search-only --trials 1 --start algorithm=quick
	has "bad.json"
	has "did you mean 'measure'?"
	[ -e .infrarsi/inbox/refused/bad.json ]
}
