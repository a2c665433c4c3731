#!/usr/bin/env bats
# Proposers in a campaign: models behind a real server that may misbehave (tests/propose/hostile_server.py), programs
# that may, answers on record. What they say is recorded by value, none of it costs a trial, and no key goes anywhere.
load helpers

setup_file() {
	export CHAT_KEY=sk-test-0123456789abcdefghij PLANTED=planted-secret-0123456789
	# A change of one line that the compiler sees through, so that it costs and gains nothing.
	export CHAT_ANSWER='{"configurations": [{"settings": {"algorithm": "quick", "micro_batch": "2"}, "speedup": 2.5, "reason": "a \"word\""},
		{"settings": {"algorithm": "slow"}}],
		"priors": [{"knob": "define", "setting": "-DSHORT", "speedup": 1.05, "speedup_sd": 0.04}],
		"patches": [{"name": "blank", "title": "a blank", "speedup": 1.01,
			"edits": [{"file": "train.c", "old": "double optimizer_step(", "new": "double  optimizer_step("}]}]}'
	unset http_proxy HTTP_PROXY all_proxy ALL_PROXY no_proxy NO_PROXY
	python3 "$CLI_DIR/../propose/hostile_server.py" >"$BATS_FILE_TMPDIR/ports" 2>"$BATS_FILE_TMPDIR/server.log" 3>&- &
	echo $! >"$BATS_FILE_TMPDIR/pid"
	wait_until 100 grep -q ' ' "$BATS_FILE_TMPDIR/ports"
	read -r port other_port <"$BATS_FILE_TMPDIR/ports"
	export port other_port
	new_repo "$BATS_FILE_TMPDIR/template"
	cp "$CLI_DIR/../../examples/proposers/"*.sh .
	git rm -q patches/02-*.diff patches/03-*.diff
	echo "verbose = no" >settings.cfg # no rule of the audit reads it
	sed -i 's/editable_files: .*/editable_files: ["train.c", "settings.cfg"]/' infrarsi.yaml
	git add -A
	git commit -q -m proposers
	lock
	infrarsi doctor --seed 7 --hurry >"$BATS_FILE_TMPDIR/doctor.txt"
}

teardown_file() {
	[ ! -e "$BATS_FILE_TMPDIR/pid" ] || kill "$(cat "$BATS_FILE_TMPDIR/pid")"
}

setup() {
	from_template
}

proposers() { # ITEM...: of the task file's list
	local list=$1
	shift
	for item in "$@"; do list+=", $item"; done
	sed -i '/^proposers:/d' infrarsi.yaml
	echo "proposers: [$list]" >>infrarsi.yaml
}

model() { # NAME BEHAVIOUR [FIELDS]
	echo "{kind: openai, name: $1, base_url: 'http://127.0.0.1:$port/$2.$BATS_TEST_NUMBER', model: m, key_env: CHAT_KEY${3:+, $3}}"
}

search() { # TRIALS [OPTIONS]
	run infrarsi run --accept-noise --search-only --trials "$1" "${@:2}"
	[ "$status" -eq 0 ] || { printf "%s\n" "$output" >&2; return 1; }
}

answers() { # EXPRESSION [CONDITION]: over the bodies of answers, one a line
	ledger "select $1 from entry where kind = 'proposal' and json_extract(body, '\$.kind') = 'answer' ${2:+and $2}"
}

field() { # PATH: of a body
	echo "json_extract(body, '\$.$1')"
}

asked() { # BEHAVIOUR: how often the server was
	python3 -c 'import json, sys, urllib.request as u
print(len(json.load(u.build_opener(u.ProxyHandler({})).open(sys.argv[1]))))' "http://127.0.0.1:$port/requests/$1.$BATS_TEST_NUMBER"
}

no_secret_in() { # FOLDER...
	! grep -rqF -e "$CHAT_KEY" -e "$PLANTED" "$@"
}

@test "a program's ideas enter the campaign, and it is asked again when trials have passed" {
	echo "$CHAT_ANSWER" >ideas.json
	proposers "{kind: command, name: ideas, command: [sh, ideas.sh, '$PWD/ideas.json'], every: 2}"
	search 3
	has "ideas: 1 configuration, 1 patch, 1 prior; 1 dropped: configurations[1] algorithm has no setting \"slow\""
	equals 2 "$(answers 'count(*)')"
	equals "0 2" "$(answers "$(field after)" | tr '\n' ' ' | sed 's/ $//')"
	equals '{"algorithm":"quick","cache":"off","define":"-DLONG","micro_batch":"2","mode":"normal"}' \
		"$(answers "$(field 'configurations[0].candidate.settings')" "$(field after) = 0")"
	# The patch is a lever, once, whoever repeats it.
	equals 1 "$(ledger "select count(*) from entry where kind = 'proposal' and json_extract(body, '\$.patch.name') = 'blank'")"
	equals ideas "$(ledger "select json_extract(body, '\$.proposer') from entry where json_extract(body, '\$.patch.name') = 'blank'")"
	equals 3 "$(finished_trials)"
	[ "$(wc -l <.infrarsi/transcripts/ideas.jsonl)" -eq 2 ]
	books_balance
}

@test "a model's answer is recorded with what it cost, and its key is nowhere" {
	export CHAT_KEY PLANTED
	proposers "$(model m good 'price: {in: 1000, out: 10000}')"
	search 1
	has "asking m"
	has "(150 tokens, \$0.42)"
	equals "1 150.0 0.42" "$(answers "$(field ok)||' '||$(field cost.tokens)||' '||round($(field cost.usd), 6)")"
	equals 1 "$(asked good)"
	no_secret_in .infrarsi "$HOME" "$XDG_STATE_HOME"
	run infrarsi report
	lacks "$CHAT_KEY"
}

@test "what is shown by prompt is what is sent" {
	proposers "$(model m good)"
	run -0 infrarsi prompt --json
	lacks "$CHAT_KEY"
	has '"Authorization: Bearer $CHAT_KEY"'
	printf '%s' "$output" >shown.json
	search 1
	python3 - shown.json "http://127.0.0.1:$port/requests/good.$BATS_TEST_NUMBER" <<-'END'
		import json, sys, urllib.request as u
		shown = json.load(open(sys.argv[1]))["body"]
		sent = json.load(u.build_opener(u.ProxyHandler({})).open(sys.argv[2]))[0]
		assert shown == sent, "another body"
	END
	run -0 infrarsi prompt
	has "## Knobs"
	has '"status":'
	run -2 infrarsi prompt --proposer nobody
	has "'nobody' is not one that is asked questions (m)"
}

@test "servers that misbehave cost no trial, each is said, and the search goes on" {
	proposers "$(model web html)" "$(model down broken)" "$(model away redirect)" "$(model strict refuses)" \
		"$(model caller tools)" "$(model flood huge)" "$(model mute never 'timeout: 1s')"
	search 2
	equals 2 "$(finished_trials)"
	equals 7 "$(answers 'count(*)' "$(field ok) = 0")"
	for said in "web: no answer: the server's reply is not one" "down: no answer: HTTP 500: out of order" \
		"away: no answer: " "strict: no answer: HTTP 401" "caller: no answer: " "flood: no answer: the reply is larger" \
		"mute: no answer: "; do
		has "$said"
	done
	lacks "$CHAT_KEY"
	no_secret_in .infrarsi
	equals "[]" "$(python3 -c 'import sys, urllib.request as u; print(u.build_opener(u.ProxyHandler({})).open(sys.argv[1]).read().decode())' "http://127.0.0.1:$other_port/seen")"
	books_balance
}

@test "an answer that cannot be used is sent back once, with what is wrong" {
	proposers "$(model caller tools)"
	search 1
	equals 2 "$(asked tools)"
	equals 2 "$(answers "$(field cost.attempts)")"
}

@test "a model whose answer its limit cut is told so, and so is the user" {
	proposers "$(model m output_limit 'max_output_tokens: 64')"
	search 1
	has "m: no answer: it was cut at 64 tokens, its max_output_tokens: line 1: not valid JSON"
	equals 2 "$(asked output_limit)"
	equals True "$(python3 -c 'import json, sys, urllib.request as u
asked = json.load(u.build_opener(u.ProxyHandler({})).open(sys.argv[1]))
print("could not be used: it was cut at 64 tokens" in asked[1]["messages"][-1]["content"])' "http://127.0.0.1:$port/requests/output_limit.$BATS_TEST_NUMBER")"
}

@test "of an answer that the limit cut later, what came whole is used, and nobody pays for another" {
	proposers "$(model m late_output_limit 'max_output_tokens: 64')"
	search 1
	has "1 configuration"
	has "the end of the answer is missing (it was cut at 64 tokens, its max_output_tokens): what came whole is used"
	equals 1 "$(asked late_output_limit)"
	equals "1|0" "$(answers "json_array_length(body, '\$.configurations'), json_array_length(body, '\$.patches')")"
}

@test "whoever fails three times in a row is left alone until the next call" {
	proposers "{kind: command, name: broken, command: ['false'], every: 1}"
	search 4
	has "it is left alone for now"
	equals 3 "$(answers 'count(*)')"
	search 5
	equals 4 "$(answers 'count(*)')"
}

@test "a budget that does not allow the question is said, and nothing is sent" {
	proposers "$(model m good 'budget: {tokens: 200}')"
	search 2
	has "m: "
	equals 0 "$(asked good)"
	equals 0 "$(answers 'count(*)')"
	equals 2 "$(finished_trials)"
}

@test "without its key a proposer is named before anything is spent" {
	proposers "$(model m good)"
	unset CHAT_KEY
	run -2 infrarsi run --accept-noise --search-only --trials 1
	has "proposer m: the environment variable CHAT_KEY, which holds its key, is not set"
	equals 0 "$(finished_trials)"
}

@test "a program that cannot be run is named before anything is spent; promotion and other strategies need nobody" {
	proposers "{kind: command, name: agent, command: [no-such-program]}"
	run -2 infrarsi run --accept-noise --search-only --trials 1
	has "proposer agent: there is no program 'no-such-program' that can be run"
	equals 0 "$(finished_trials)"
	search 1 --strategy random
	run infrarsi run --accept-noise --trials 1 # all trials are done: on to promotion
	lacks "no-such-program"
}

@test "a program that says what it cost is asked no more when its budget is used up" {
	cat >dear.sh <<-'END'
		cat >/dev/null
		echo '{"configurations": [], "usage": {"tokens_in": 900, "tokens_out": 100, "usd": 1}}'
	END
	proposers "{kind: command, name: dear, command: [sh, ./dear.sh], every: 1, budget: {usd: 0.5}}"
	search 3
	equals 1 "$(answers 'count(*)')"
	has "dear: its budget of money is used up"
	sed -i 's/^budget: .*/budget: {trials: 8, usd: 0.1}/' infrarsi.yaml
	proposers "{kind: command, name: other, command: [sh, ./dear.sh], every: 1}"
	search 5
	equals 1 "$(answers 'count(*)')" # the task's money was spent by the first
}

@test "nobody is asked where the budget allows no trial" {
	sed -i 's/^budget: .*/budget: {trials: 8, gpu_hours: 0.0000001}/' infrarsi.yaml
	echo "$CHAT_ANSWER" >ideas.json
	proposers "{kind: command, name: ideas, command: [sh, ideas.sh, '$PWD/ideas.json']}"
	search 2
	equals 0 "$(answers 'count(*)')"
}

@test "an answer that was paid for is kept, also where its transcript cannot be written" {
	echo "$CHAT_ANSWER" >ideas.json
	proposers "{kind: command, name: ideas, command: [sh, ideas.sh, '$PWD/ideas.json']}"
	: >.infrarsi/transcripts # no folder can be made there
	search 1
	has "the transcript of ideas lacks this answer"
	equals 1 "$(answers 'count(*)' "$(field ok) = 1")"
}

@test "an uncertainty beyond all bounds does not spoil the models" {
	echo '{"priors": [{"knob": "define", "setting": "-DSHORT", "speedup": 1.5, "speedup_sd": 1e8},
		{"knob": "cache", "setting": "on", "memory_gib": 900000, "memory_sd_gib": 900000}]}' >ideas.json
	proposers "{kind: command, name: ideas, command: [sh, ideas.sh, '$PWD/ideas.json']}"
	search 2
	has "'speedup_sd' is the uncertainty of a ratio"
	run -0 infrarsi explain
}

@test "names: two proposers' patches of one name, the task's own proposers, who was taken out" {
	echo "$CHAT_ANSWER" >one.json
	sed 's/double  optimizer_step/double   optimizer_step/' one.json >two.json
	local both=("{kind: command, name: one, command: [sh, ideas.sh, '$PWD/one.json']}" "{kind: command, name: two, command: [sh, ideas.sh, '$PWD/two.json']}")
	proposers "${both[@]}"
	mkdir -p .infrarsi/inbox .infrarsi/proposed
	echo '{"schema": "infrarsi-inbox/1", "proposer": "one", "measure": false, "answer": {"configurations": []}}' \
		>.infrarsi/inbox/00000000000000000001.json
	touch .infrarsi/proposed/README
	search 1
	has "'one' is the name of one of the task's own proposers"
	[ -e .infrarsi/inbox/refused/00000000000000000001.json ]
	equals "blank blank-2" "$(ledger "select json_extract(body, '\$.patch.name') from entry where kind = 'proposal' and json_extract(body, '\$.patch.name') like 'blank%'" | sort | tr '\n' ' ' | sed 's/ $//')"
	proposers "${both[0]}"
	search 6
	equals 0 "$(ledger "select count(*) from entry where kind = 'decision' and id > (select max(id) from entry where kind = 'proposal') and
		body like '%' || (select json_extract(body, '\$.patch.digest') from entry where json_extract(body, '\$.patch.name') = 'blank-2') || '%'")"
}

@test "the patch that was shown is the one that is accepted, whatever has its name now" {
	quiet() { printf '%s\n' '--- settings.cfg' '+++ settings.cfg' '@@ -1 +1 @@' '-verbose = no' "+verbose = $1" >patches/02-quiet.diff; }
	cat >judge.sh <<-'END'
		python3 -c 'import json, sys
		review = json.load(sys.stdin)["wanted"].get("review")
		open(sys.argv[1], "a").write(json.dumps(review) + "\n")
		print(json.dumps({"reviews": [{"patch": review["patch"], "verdict": "accept", "reason": ""}] if review else []}))' "$1"
	END
	quiet never
	proposers "{kind: patches, dir: patches}"
	search 1
	quiet rarely
	proposers "{kind: patches, dir: patches}" "{kind: command, name: judge, command: [sh, ./judge.sh, '$PWD/shown'], every: 1, may_accept: true}"
	search 4
	equals 1 "$(grep -c quiet shown)"
	grep -q "verbose = rarely" shown
	equals 1 "$(ledger "select count(*) from entry where kind = 'accept' and json_extract(body, '\$.what') = 'audit'")"
	equals "$(ledger "select json_extract(body, '\$.patch.digest') from entry where json_extract(body, '\$.patch.name') = '02-quiet' order by id desc limit 1")" \
		"$(ledger "select json_extract(body, '\$.patch') from entry where kind = 'accept' and json_extract(body, '\$.what') = 'audit'")"
}

@test "answers on record are given again" {
	echo "$CHAT_ANSWER" >ideas.json
	proposers "{kind: command, name: ideas, command: [sh, ideas.sh, '$PWD/ideas.json']}"
	search 1
	cp .infrarsi/transcripts/ideas.jsonl record.jsonl
	infrarsi doctor --new --seed 7 --hurry >/dev/null
	proposers "{kind: replay, file: record.jsonl, mode: lenient}"
	search 1
	has "replay: 1 configuration, 1 patch, 1 prior"
	[ ! -e .infrarsi/transcripts/replay.jsonl ]
	infrarsi doctor --new --seed 7 --hurry >/dev/null
	proposers "{kind: replay, file: record.jsonl}" # other times were measured: another request
	search 1
	has "replay: no answer: "
	has "this answer was given to another request"
}

@test "a program sees its request and the reference, none of our secrets, and ends with all that it began" {
	cat >nosy.sh <<-'END'
		env >"$1/env.txt"
		ls >"$1/files.txt"
		echo "changed" >train.c
		cat >"$1/request.json"
		sleep 1000 3>&- &
		echo '{"configurations": []}'
	END
	mkdir seen
	export PLANTED CHAT_KEY
	proposers "{kind: command, name: nosy, command: [sh, ./nosy.sh, '$PWD/seen'], pass_env: [CHAT_KEY]}"
	search 1
	has "nosy: nothing to propose"
	grep -q "^CHAT_KEY=$CHAT_KEY" seen/env.txt
	! grep -q PLANTED seen/env.txt
	grep -q '^train.c$' seen/files.txt
	git diff --quiet -- train.c
	[ "$(python3 -c 'import json; print(json.load(open("seen/request.json"))["schema"])')" = infrarsi-request/1 ]
	no_secret_in .infrarsi
	[ ! -e .infrarsi/work/trials/proposer-nosy ]
	equals "" "$(processes_with "$PWD/seen")"
}

@test "programs that misbehave: garbage, floods, silence, death, no end" {
	cat >bad.sh <<-'END'
		case $1 in
		garbage) head -c 1000 /dev/urandom ;;
		flood) yes ;;
		silence) : ;;
		death) kill -9 $$ ;;
		sleep) sleep 1000 ;;
		esac
	END
	proposers "{kind: command, name: garbage, command: [sh, ./bad.sh, garbage]}" "{kind: command, name: flood, command: [sh, ./bad.sh, flood]}" \
		"{kind: command, name: silence, command: [sh, ./bad.sh, silence]}" "{kind: command, name: death, command: [sh, ./bad.sh, death]}" \
		"{kind: command, name: sleep, command: [sh, ./bad.sh, sleep], timeout: 1s}"
	search 1
	equals 5 "$(answers 'count(*)' "$(field ok) = 0")"
	has "garbage: no answer: "
	has "death: no answer: 'sh' was killed by signal 9"
	has "silence: no answer: 'sh' printed no answer"
	equals 1 "$(finished_trials)"
	books_balance
}

@test "what lies in the inbox is taken in, and runs next where that is asked for" {
	mkdir -p .infrarsi/inbox
	proposers "{kind: patches, dir: patches}"
	echo '{"schema": "infrarsi-inbox/1", "proposer": "mcp", "measure": true,
		"answer": {"configurations": [{"settings": {"algorithm": "careful", "cache": "on", "micro_batch": "4"}}]}}' \
		>.infrarsi/inbox/00000000000000000001.json
	echo 'no json' >.infrarsi/inbox/00000000000000000002.json
	search 1
	has "mcp: 1 configuration"
	has "inbox/00000000000000000002.json is no suggestion"
	has "algorithm=careful micro_batch=4 cache=on"
	equals mcp "$(answers "$(field proposer)")"
	search 2 # taken once
	equals 1 "$(answers 'count(*)')"
}

@test "other strategies ask nobody" {
	proposers "$(model m good)"
	search 1 --strategy random
	equals 0 "$(answers 'count(*)')"
	equals 0 "$(asked good)"
}

@test "patches of models and programs run in a sandbox, or where the user says that they may run without" {
	mkdir programs # all but bwrap
	find /usr/bin /usr/local/bin -mindepth 1 ! -name bwrap -exec ln -sf -t programs {} +
	echo "$CHAT_ANSWER" >ideas.json
	proposers "{kind: patches, dir: patches}" "{kind: command, name: ideas, command: [sh, ideas.sh, '$PWD/ideas.json']}"
	PATH=$PWD/programs search 1
	has "no sandbox here (bwrap (bubblewrap) is not installed): trials run with your rights"
	has "1 patch of models or programs is not tried: there is no sandbox here"
	PATH=$PWD/programs search 2 --no-sandbox
	lacks "no sandbox here"
	lacks "not tried"
}

@test "a review by a proposer is shown, and lets a patch be promoted only where the task says so" {
	printf '%s\n' '--- settings.cfg' '+++ settings.cfg' '@@ -1 +1 @@' '-verbose = no' '+verbose = never' >patches/02-quiet.diff
	cat >reviewer.sh <<-'END'
		python3 -c 'import json, sys
		review = json.load(sys.stdin)["wanted"].get("review")
		assert review is None or "verbose = never" in review["diff"]
		print(json.dumps({"reviews": [{"patch": review["patch"], "verdict": "accept", "reason": "harmless \x1b[31m"}] if review else []}))'
	END
	proposers "{kind: patches, dir: patches}" "{kind: command, name: reader, command: [sh, ./reviewer.sh], every: 1}"
	search 2 --start mode=normal,algorithm=quick
	has "reader: 1 review"
	equals 1 "$(answers 'count(*)' "json_array_length($(field reviews)) = 1")" # asked about it once
	equals 0 "$(ledger "select count(*) from entry where kind = 'accept' and json_extract(body, '\$.by') = 'reader'")"
	proposers "{kind: patches, dir: patches}" "{kind: command, name: judge, command: [sh, ./reviewer.sh], every: 1, may_accept: true}"
	search 3
	equals 1 "$(ledger "select count(*) from entry where kind = 'accept' and json_extract(body, '\$.by') = 'judge'")"
	run infrarsi report
	lacks "Waits for review"
}

@test "the catalogue's patches come from the editable files of a task anywhere in its repository" {
	mkdir ../whole
	cp -r . ../whole/job
	cd ../whole
	rm -rf job/.git job/.infrarsi job/infrarsi.lock
	printf 'import torch\nimport torch.optim as optim\n\n\ndef make(model):\n    return optim.AdamW(model.parameters(), lr=1e-3)\n' >job/optim_of.py
	cd job
	sed -i 's/editable_files: .*/editable_files: ["train.c", "optim_of.py"]/' infrarsi.yaml
	proposers "{kind: catalogue}"
	git init -q ..
	git -C .. config user.name Tester
	git -C .. config user.email tester@example.org
	git -C .. add -A
	git -C .. commit -q -m start
	lock
	infrarsi doctor --seed 7 --hurry >/dev/null
	search 1
	has "catalogue: 1 code change"
	equals "catalogue fused-optimizer fused_optimizer" "$(ledger "select json_extract(body, '\$.proposer')||' '||json_extract(body, '\$.patch.name')||' '||json_extract(body, '\$.patch.mechanism')
		from entry where kind = 'proposal' and json_extract(body, '\$.kind') = 'patches'")"
	equals 1 "$(ledger "select count(*) from entry where kind = 'proposal' and json_extract(body, '\$.kind') = 'answer'")"
	search 2 # not again
	lacks "code change"
}
