#!/usr/bin/env bats
# Chats with a real server that misbehaves (tests/propose/hostile_server.py), through tests/propose/chat_driver: what
# comes of it, how often it was asked, what it cost, and that the key goes nowhere else. Limits of time are generous
# where something must come in time, and short only where nothing ever comes.
load helpers

setup_file() {
	driver=$(dirname "$INFRARSI")/tests/propose/chat_driver
	export driver CHAT_KEY=sk-test-0123456789abcdefghij
	unset http_proxy HTTP_PROXY all_proxy ALL_PROXY no_proxy NO_PROXY
	[ -x "$driver" ] || return 0
	python3 "$CLI_DIR/../propose/hostile_server.py" >"$BATS_FILE_TMPDIR/ports" 2>"$BATS_FILE_TMPDIR/server.log" 3>&- &
	echo $! >"$BATS_FILE_TMPDIR/pid"
	wait_until 100 grep -q ' ' "$BATS_FILE_TMPDIR/ports"
	read -r port other_port <"$BATS_FILE_TMPDIR/ports"
	export port other_port
}

setup() {
	[ -x "$driver" ] || skip "the build beside $INFRARSI has no tests"
}

teardown_file() {
	[ ! -e "$BATS_FILE_TMPDIR/pid" ] || kill "$(cat "$BATS_FILE_TMPDIR/pid")"
}

chat() { # PROVIDER BEHAVIOUR[.NAME] [NAME=NUMBER]...
	behaviour=$2
	run -0 "$driver" "$1" "http://127.0.0.1:$port/$2" "${@:3}"
	lacks sk-test # of the key, whatever was asked
}

get() { # PORT PATH
	python3 -c 'import sys, urllib.request as u; print(u.build_opener(u.ProxyHandler({})).open(sys.argv[1]).read().decode())' \
		"http://127.0.0.1:$1/$2"
}

requests() { # how often the server was asked
	get "$port" "requests/$behaviour" | python3 -c 'import json, sys; print(len(json.load(sys.stdin)))'
}

ends() { # CODE ATTEMPTS [TEXT OF MESSAGE]
	equals "$1 $2" "$(json 'd["code"], d["attempts"]' | tr -d "(',)")"
	equals "$2" "$(requests)"
	[ -z "${3:-}" ] || has "$3"
	lacks $'\x1b'
}

holds() { # EXPRESSION over `d`
	equals True "$(json "$1")"
}

the_answer() { # arrived whole
	holds 'd["text"].strip() == "{\"configurations\": [{\"settings\": {\"threads\": \"4\"}, \"reason\": \"\u00fc\"}]}"'
}

the_cost() { # as hostile_server.py has it for a good reply
	holds 'd["tokens_in"] == 120 and d["tokens_out"] == 30 and not d["estimated"]'
}

@test "good replies of both families, streamed, whole, or a byte at a time" {
	for provider in openai anthropic; do
		for reply in good whole single_bytes; do
			chat "$provider" "$reply.$provider" schema=1 usd_in=0.01 usd_out=0.1
			ends ok 1
			holds 'abs(d["usd"] - 4.2) < 1e-9' # 120 * 0.01 + 30 * 0.1
			the_cost
		done
	done
	chat openai good.text
	the_answer
	chat openai prose
	ends ok 1
	has '```json\n{\"configurations\"'
}

@test "an address may end with a slash, and a server need no key" {
	behaviour=good.slash
	run -0 env -u CHAT_KEY "$driver" openai "http://127.0.0.1:$port/good.slash//"
	ends ok 1
}

@test "a reply that breaks off is asked for again, unless it is whole" {
	for provider in openai anthropic; do
		chat $provider cut_off.$provider
		ends failed 2
		chat $provider ends_early.$provider
		ends failed 2 "the reply broke off after 20 bytes of text (attempt 2)"
		holds 'd["tokens_in"] > 0 and d["tokens_out"] > 0 and d["estimated"]'
		chat $provider ends_without_saying.$provider
		ends ok 1
		the_answer
		chat $provider cut_off_late.$provider
		ends ok 1
		the_answer
	done
	chat openai cut_off.three attempts=3
	ends failed 3
}

@test "a reply that reached its limit says so" {
	for provider in openai anthropic; do
		chat $provider output_limit.$provider
		ends ok 1
		holds 'd["cut"] and len(d["text"]) == 20'
		the_cost
	done
}

@test "a huge reply is refused at once" {
	for reply in huge one_long_line; do
		chat openai $reply
		ends limit 1 "the reply is larger than 8388608 bytes"
	done
}

@test "what takes longer than its time is asked for again, and counts" {
	for reply in drip keep_alive_only never early_hints; do
		chat openai $reply timeout=1 usd_in=1
		ends failed 2 "(attempt 2)"
		holds 'd["tokens_in"] > 0 and d["usd"] > 0 and d["estimated"] and d["seconds"] >= 1.9'
	done
}

@test "what is no reply is shown and asked for again" {
	chat openai html
	ends failed 2 "the server's reply is not one: '<html><body>\\\\x1b[31mPlease log in"
	chat openai close_at_once
	ends failed 2
	chat openai no_http
	ends failed 2
	chat openai many_headers
	ends failed 2
	run -0 "$driver" openai http://127.0.0.1:1
	holds 'd["code"] == "failed" and d["attempts"] == 2 and d["tokens_in"] == 0'
}

@test "a reply with a piece that cannot be read is not taken for whole" {
	chat openai bad_utf8
	ends failed 2 "1 of 13 events of the reply are not JSON"
}

@test "calls of tools are no text, and cost" {
	chat openai tools
	ends ok 1
	holds 'd["text"] == "" and d["tokens_out"] >= 200 and d["estimated"]'
}

@test "a busy server is asked again when it says" {
	chat openai busy
	ends ok 2
	the_answer
	the_cost
	holds 'd["seconds"] >= 1'
}

@test "a server in trouble is asked again, and not for ever" {
	chat openai storm attempts=4
	ends ok 3
	the_answer
	the_cost
	chat openai broken attempts=3
	ends failed 3 "HTTP 500: out of order (attempt 3)"
	holds 'd["tokens_in"] == 0 and d["usd"] == 0'
	chat openai broken.once attempts=1
	ends failed 1
	lacks "attempt 1)"
}

@test "an error within a reply" {
	for provider in openai anthropic; do
		chat $provider reports_error.$provider
		ends failed 2 "the server reports: overloaded, ******"
	done
}

@test "redirects are not followed" {
	chat openai redirect
	ends input 1 "redirects are not followed"
	equals "[]" "$(get "$other_port" seen)"
}

@test "a question to this machine goes to no proxy" {
	http_proxy=http://127.0.0.1:$other_port ALL_PROXY=http://127.0.0.1:$other_port chat openai good.proxy
	ends ok 1
	equals "[]" "$(get "$other_port" seen)"
}

@test "a key that a server sends back is not shown" {
	chat openai refuses
	ends input 1 "HTTP 401: \\\\x1b[31mIncorrect API key provided: ****************************. (is the key right?)"
	chat openai text_with_key
	ends ok 1 "your key is ****************************"
	chat openai escaped_key
	ends ok 1
	holds 'json.loads(d["text"])["configurations"][0]["reason"].strip("*") == ""'
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do # wherever the message is cut
		"$driver" openai "http://127.0.0.1:$port/refuses_at_length"
		"$driver" openai "http://127.0.0.1:$port/html_with_key"
	done >"$BATS_TEST_TMPDIR/outcomes"
	equals 24 "$(wc -l <"$BATS_TEST_TMPDIR/outcomes")"
	run ! grep -F sk- "$BATS_TEST_TMPDIR/outcomes"
}

@test "a key that cannot be one, and one that would cross the network in the open" {
	for key in $'sk-test-0123456789abcdefghij\n' "two words" ""; do
		CHAT_KEY=$key chat openai good.keys
		ends input 0 "the key "
	done
	run -0 "$driver" openai http://server.example.org/v1
	has "the key would cross the network unencrypted"
	holds 'd["code"] == "input" and d["attempts"] == 0'
	CHAT_KEY=sk-test-another-key chat openai good.another
	ends input 1 "HTTP 401: this is not the key (is the key right?)"
}

@test "a server without structured output is asked in words" {
	for provider in openai anthropic; do
		chat $provider no_schema.$provider schema=1
		ends ok 2
		the_answer
		get "$port" "requests/no_schema.$provider" | python3 -c 'if True:
			import json, sys
			first, second = json.load(sys.stdin)
			structured = {"response_format", "tools", "tool_choice"}
			assert structured & first.keys() and not structured & second.keys()'
	done
	chat openai no_schema.once schema=1 attempts=1 # no other attempt of the same question
	ends ok 2
}

@test "a server that calls the limit by its newer name gets it by that" {
	chat openai new_limit output=77 attempts=1
	ends ok 2
	get "$port" requests/new_limit | python3 -c 'if True:
		import json, sys
		first, second = json.load(sys.stdin)
		assert first["max_tokens"] == 77 and "max_completion_tokens" not in first
		assert second["max_completion_tokens"] == 77 and "max_tokens" not in second'
}

@test "a reply that has not ended costs what has come, not what its beginning says" {
	chat anthropic long_then_cut attempts=1
	ends failed 1
	holds 'd["tokens_in"] == 120 and d["tokens_out"] >= 500 and d["estimated"]'
}

@test "a server that does not count is estimated, one that counts nonsense not believed" {
	for provider in openai anthropic; do
		for usage in no_usage negative_usage absurd_usage usage_of_texts; do
			chat $provider $usage.$provider usd_in=0.001 usd_out=0.001 schema=1
			ends ok 1
			the_answer
			holds 'd["estimated"] and 0 < d["tokens_in"] < 2000 and 0 < d["tokens_out"] < 100 and 0 < d["usd"] < 2'
		done
	done
}

@test "a budget is looked at before the question is sent" {
	chat openai good.tokens tokens=110 output=100
	ends limit 0 "a question of up to 1"
	chat openai good.usd usd=0.5 usd_out=0.01 output=100
	ends limit 0 "a question of up to 1.0000 USD is beyond the 0.5000 that are left"
	chat openai good.enough tokens=1000 usd=1.5 usd_out=0.01 output=100
	ends ok 1
}

@test "what failed attempts cost is taken off the budget" {
	chat openai reports_error.budget attempts=50 tokens=400 output=100
	holds 'd["code"] == "limit" and 1 < d["attempts"] < 50 and d["tokens_in"] + d["tokens_out"] <= 400'
	has "that are left; the last attempt: the server reports: overloaded"
}

@test "a stop is heeded while the server keeps silent" {
	chat openai never.stop stop=1 timeout=1000
	holds 'd["code"] == "interrupted" and d["attempts"] == 1'
}

@test "the key went to its server only" {
	equals "[]" "$(get "$other_port" seen)"
}

@test "the request of the documentation is one that the example answers" {
	sed -n '/^```json$/,/^```$/{/^```/!p}' "$CLI_DIR/../../docs/proposers.md" >"$BATS_TEST_TMPDIR/examples"
	python3 -c 'if True: # the first example is the request, the second the answer
		import json, sys
		decoder, text = json.JSONDecoder(), sys.stdin.read()
		request, end = decoder.raw_decode(text)
		answer, _ = decoder.raw_decode(text[end:].lstrip())
		knobs = {k["name"]: k["settings"] for k in request["knobs"]}
		assert answer["configurations"]
		for c in answer["configurations"]:
			assert all(setting in knobs[name] for name, setting in c["settings"].items())
		json.dump(request, sys.stdout)' <"$BATS_TEST_TMPDIR/examples" >"$BATS_TEST_TMPDIR/request"
	run -0 python3 "$CLI_DIR/../../examples/proposers/fixed.py" <"$BATS_TEST_TMPDIR/request"
	# The best there is quick with the cache; of its neighbours, algorithm=careful was tried.
	holds 'd["configurations"][0]["settings"] == {"cache": "on", "micro_batch": "2"}'
	holds 'all(c["settings"] != {"algorithm": "careful", "cache": "on", "micro_batch": "2"} for c in d["configurations"])'
}
