#!/usr/bin/env bats
# `verify`: what is not authentic is refused by name, exit code 5.
load helpers

setup_file() {
	new_template
	enter "$BATS_FILE_TMPDIR/template"
	infrarsi run --accept-noise --search-only --trials 2 --start algorithm=quick --start algorithm=careful \
		>/dev/null
}

setup() {
	from_template
	receipts=.infrarsi/receipts
	last=$(find $receipts -name '*.json' | sort | tail -n 1)
}

change() { # FILE PYTHON: runs over `d`, the envelope, and `p`, its payload as an object; writes the file back
	chmod u+w "$1"
	python3 - "$1" "$2" <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
p = json.loads(d["payload"])
scope = {"d": d, "p": p, "json": json}
exec(sys.argv[2], scope)
open(sys.argv[1], "w").write(json.dumps(scope["d"]))
PY
}

refused() { # NAME [FILE...]: the verification refuses with this name, in text and in JSON
	local name=$1
	shift
	run -5 infrarsi verify "$@"
	has "REFUSED  $name"
	run -5 --separate-stderr infrarsi verify --json "$@"
	is_json
	equals True "$(json "any(row['refusal'] == '$name' and row['refused'].startswith('$name') for row in d)")"
}

@test "untouched receipts are valid, together and alone" {
	run -0 infrarsi verify
	has "$(n_receipts) valid, 0 invalid, 0 refused"
	run -0 infrarsi verify "$last"
	has "1 valid, 0 invalid, 0 refused"
	run -0 infrarsi verify --details "$last"
	has "frozen_files"
}

@test "an edited payload" {
	change "$last" 'd["payload"] = d["payload"].replace("\"trial\":2", "\"trial\":3")'
	refused edited "$last"
}

@test "one changed figure among the measurements" {
	change "$last" 'p["updates"]["loss"][3] *= 1.001; d["payload"] = json.dumps(p, sort_keys=True, separators=(",", ":"))'
	refused edited "$last"
}

@test "unsigned: a signature is missing or empty" {
	change "$last" 'del d["hmac"]'
	refused unsigned "$last"
	change "$last" 'd["hmac"] = ""'
	refused unsigned "$last"
}

@test "unsigned: the bare payload without an envelope" {
	change "$last" 'd = p'
	refused unsigned "$last"
}

@test "foreign: signed by another key, the signature itself holds" {
	mkdir elsewhere
	XDG_STATE_HOME=$BATS_TEST_TMPDIR/other-state run infrarsi doctor --new
	equals 0 "$status"
	cp "$receipts"/0001.json elsewhere/
	refused foreign elsewhere/0001.json
}

@test "foreign: not the key that the user says to trust" {
	run -5 infrarsi verify --key "$(printf '0%.0s' {1..64})" "$last"
	has foreign
	public=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["public_key"])' "$last")
	run -0 infrarsi verify --key "$public" "$last"
	run -2 infrarsi verify --key nonsense "$last"
	has "64 lower-case hex digits"
}

@test "another machine: no keys, no folder for them, one that others can write" {
	public=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["public_key"])' "$last")
	XDG_STATE_HOME=$BATS_TEST_TMPDIR/none refused unknown_key "$receipts"
	mkdir -p "$BATS_TEST_TMPDIR/open/infrarsi/keys"
	chmod 777 "$BATS_TEST_TMPDIR/open/infrarsi/keys"
	XDG_STATE_HOME=$BATS_TEST_TMPDIR/open refused unreadable "$last"
	# The signer's key is all that is needed.
	for state in "XDG_STATE_HOME=$BATS_TEST_TMPDIR/none" "XDG_STATE_HOME=$BATS_TEST_TMPDIR/open" "-u HOME -u XDG_STATE_HOME"; do
		# shellcheck disable=SC2086
		run -0 env $state "$INFRARSI" verify --key "$public" "$receipts"
		has "$(n_receipts) valid, 0 invalid, 0 refused"
		has "Ed25519 only"
	done
}

@test "truncated, empty, not JSON: the place is named" {
	chmod u+w "$last"
	for size in 0 1 100 3000; do
		cp "$last" whole.json
		truncate -s $size whole.json
		refused truncated whole.json
		has "line 1, column"
	done
	printf '{"ed25519": 7,\n "hmac" 8}' >noise.json
	refused malformed noise.json
	has "line 2, column"
	head -c 2000 /dev/urandom >noise.json
	run -5 infrarsi verify noise.json
	has "REFUSED  "
}

@test "what is no regular file, or cannot be read" {
	mkfifo fifo.json
	refused unreadable fifo.json
	run -2 infrarsi verify nowhere.json
	has "nowhere.json does not exist"
}

@test "a duplicated file" {
	cp "$last" $receipts/9999.json
	refused duplicate
}

@test "replayed: an old receipt in a new one's place" {
	cp -f $receipts/0001.json "$last"
	refused duplicate
	run -5 infrarsi verify
	has "$(basename "$last")  REFUSED"
	lacks "0001.json  REFUSED"
}

@test "replayed: of an earlier campaign of the same task" {
	cp "$last" old.json
	run -0 infrarsi doctor --new
	cp old.json $receipts/0099.json
	run -5 infrarsi verify
	has "0099.json"
	has "REFUSED"
}

@test "a receipt that is gone from the chain" {
	rm -f $receipts/0003.json
	run -5 infrarsi verify
	has "0004.json  REFUSED  gap: receipt 3"
	# A folder or a list of files is what it is; that all are there has to be said.
	run infrarsi verify $receipts
	lacks REFUSED
	run -5 infrarsi verify --complete $receipts
	has "0004.json  REFUSED  gap: receipt 3"
}

sign_again() { # FILE: with this user's own keys, as nobody else can
	python3 - "$1" "$XDG_STATE_HOME/infrarsi/keys" <<'PY'
import ctypes, ctypes.util, hashlib, hmac, json, sys
path, keys = sys.argv[1:]
d = json.load(open(path))
payload = d["payload"].encode()
campaign = json.loads(payload)["campaign"]
secret = bytes.fromhex(open(f"{keys}/{campaign}.hmac").read())
signing = bytes.fromhex(open(f"{keys}/ed25519.key").read())
sodium = ctypes.CDLL(ctypes.util.find_library("sodium"))
signature = ctypes.create_string_buffer(64)
assert sodium.crypto_sign_detached(signature, None, payload, ctypes.c_ulonglong(len(payload)), signing) == 0
d["hmac"] = hmac.new(secret, payload, hashlib.sha256).hexdigest()
d["ed25519"] = signature.raw.hex()
json.dump(d, open(path, "w"))
PY
}

@test "a schema of another version is named, although the signatures hold" {
	change "$last" 'd["payload"] = json.dumps(p, sort_keys=True, separators=(",", ":"))'
	sign_again "$last"
	run -0 infrarsi verify "$last"
	change "$last" 'p["schema"] = 2; d["payload"] = json.dumps(p, sort_keys=True, separators=(",", ":"))'
	sign_again "$last"
	refused schema "$last"
	run -5 infrarsi verify "$last"
	has "receipt schema 2: this version reads schema 1"
}

@test "replayed: another execution's events under a used nonce, signed" {
	cp "$last" twin.json
	change twin.json 'p["seq"] += 1; d["payload"] = json.dumps(p, sort_keys=True, separators=(",", ":"))'
	sign_again twin.json
	refused replayed "$last" twin.json
}

@test "a payload with a key that is missing, unknown or of the wrong type, signed" {
	cp "$last" kept.json
	for edit in 'del p["outcome"]' 'p["extra"] = 1' 'p["updates"]["loss"][3] = "low"' 'p["seq"] = -1'; do
		cp -f kept.json "$last"
		change "$last" "$edit"'; d["payload"] = json.dumps(p, sort_keys=True, separators=(",", ":"))'
		sign_again "$last"
		refused malformed "$last"
	done
}

@test "a broken chain, signed" {
	change "$last" 'p["prev"] = "0" * 64; d["payload"] = json.dumps(p, sort_keys=True, separators=(",", ":"))'
	sign_again "$last"
	refused broken
}

@test "a receipt without its references, and with some of them" {
	mkdir elsewhere
	cp "$last" elsewhere/
	refused no_reference elsewhere/*.json
	cp "$receipts"/0001.json elsewhere/
	run infrarsi verify "elsewhere/$(basename "$last")"
	has "judged against 1 of "
	lacks REFUSED
}

@test "many receipts that miss the same reference: the folder is looked through once" {
	command -v strace >/dev/null || skip "strace is not installed"
	mkdir many
	cp "$receipts"/000[13].json many/
	python3 - "$last" "$XDG_STATE_HOME/infrarsi/keys" <<-'PY'
		import ctypes, ctypes.util, hashlib, hmac, json, sys
		kept, keys = sys.argv[1:]
		p = json.loads(json.load(open(kept))["payload"])
		secret = bytes.fromhex(open(f"{keys}/{p['campaign']}.hmac").read())
		signing = bytes.fromhex(open(f"{keys}/ed25519.key").read())
		sodium = ctypes.CDLL(ctypes.util.find_library("sodium"))
		for i in range(300):
		    p.update(seq=100 + 2 * i, nonce="%032x" % (i + 1), prev="%064x" % (i + 1))
		    text = json.dumps(p, sort_keys=True, separators=(",", ":"))
		    payload, signature = text.encode(), ctypes.create_string_buffer(64)
		    sodium.crypto_sign_detached(signature, None, payload, ctypes.c_ulonglong(len(payload)), signing)
		    json.dump({"payload": text, "hmac": hmac.new(secret, payload, hashlib.sha256).hexdigest(),
		               "ed25519": signature.raw.hex(), "public_key": signing[32:].hex()}, open("many/9%03d.json" % i, "w"))
	PY
	run strace -f -c -e trace=getdents64 -o calls.txt "$INFRARSI" verify many
	has "; judged against 2 of "
	has "302 valid, 0 invalid, 0 refused"
	# A listing is two or three calls; one a receipt would be hundreds.
	[ "$(awk '$NF == "getdents64" {print $(NF-1)}' calls.txt)" -lt 20 ]
}

@test "folders, files and both" {
	mkdir empty
	run -2 infrarsi verify empty
	has "no receipt (*.json) in empty"
	run -0 infrarsi verify $receipts
	has "$(n_receipts) valid, 0 invalid, 0 refused"
	mkdir some
	cp "$receipts"/000[12].json some/
	run -0 infrarsi verify some/ "$last"
	has "3 valid, 0 invalid, 0 refused"
	has "some/0001.json"
}

@test "the table says what each run was and why" {
	run -0 infrarsi verify
	has "FILE "
	has "VERDICT"
	has "reference"
	has "search, trial 2"
	run -0 infrarsi verify --details "$last"
	equals 16 "$(grep -cE '^ +L[1-5] ' <<<"$output")"
}

@test "JSON is complete" {
	run -0 --separate-stderr infrarsi verify --json "$last"
	is_json
	equals "search 2 None None hmac_and_ed25519 True None []" "$(json "' '.join(str(d[0][k]) for k in
		('role', 'trial', 'refused', 'refusal', 'seal', 'valid', 'primary', 'reviews'))")"
	equals 16 "$(json "len(d[0]['verdict']['items'])")"
	equals True "$(json "d[0]['references_named'] == d[0]['references_found'] > 0")"
	change "$last" 'p["outcome"]["exit_status"] = 1; d["payload"] = json.dumps(p, sort_keys=True, separators=(",", ":"))'
	sign_again "$last"
	run -1 --separate-stderr infrarsi verify --json "$last"
	equals "completes 1 exit 1" "$(json "d[0]['primary']['item'] + ' ' + str(d[0]['primary']['layer']) + ' ' + d[0]['primary']['reason'].split(',')[0]")"
	run -1 infrarsi verify "$last"
	has "INVALID  search, trial 2       L1 completes: exit 1"
}

@test "an edited reference cannot vouch for others" {
	change $receipts/0002.json 'd["payload"] = d["payload"].replace("\"loss\":[", "\"loss\":[1,")'
	run -5 infrarsi verify
	has "0002.json  REFUSED  edited"
}

matrix=$BATS_TEST_DIRNAME/../matrix

@test "matrix: every case agrees, the paper's 40 among them" {
	run -0 infrarsi verify --matrix "$matrix"
	[[ $output =~ ^matrix:\ ([0-9]+)\ of\ ([0-9]+)\ cases\ agree\ \(paper:\ 28\ of\ 28\ rejected,\ 12\ of\ 12\ accepted\)$ ]]
	equals "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
	[ "${BASH_REMATCH[1]}" -ge 170 ]
	infrarsi verify --matrix "$matrix" --json >matrix.json
	equals "True 28 12" "$(python3 -c 'import json; d = json.load(open("matrix.json")); t = d["tally"]
print(all(c["agrees"] for c in d["cases"]), t["paper_rejected_right"], t["paper_accepted_right"])')"
}

@test "matrix: a disagreement is shown and exits 1" {
	mkdir -p own/base
	cp "$matrix"/base/dense own/base/
	printf '# Half the loss.\nbase: dense\nset updates.*.loss x0.5\n' >own/half.case
	run -1 infrarsi verify --matrix own
	has "DIFFERS half: invalid loss_within_tolerance"
	has "Half the loss."
	has "expected valid, found invalid loss_within_tolerance"
	has "loss_within_tolerance: expected pass, found fail: largest deviation 50%"
	has "matrix: 0 of 1 cases agree (paper: 0 of 0 rejected, 0 of 0 accepted)"
	echo "expect invalid loss_within_tolerance" >>own/half.case
	echo "expect loss_within_tolerance fail" >>own/half.case
	run -0 infrarsi verify --matrix own --details
	has "agrees  half: invalid loss_within_tolerance"
}

@test "matrix: mistakes are named with their file and line" {
	mkdir -p own/base
	cp "$matrix"/base/dense own/base/
	while IFS='|' read -r line says; do
		printf 'base: dense\n\n%s\n' "$line" >own/wrong.case
		run -2 infrarsi verify --matrix own
		has "own/wrong.case:3: "
		has "$says"
	done <<-'EOF'
		set updates.*.los x2|did you mean 'loss'?
		set updates.99.loss 1|the run has no such update
		set updates.*.loss|expected a value
		set references.9.seq 1|no such receipt
		expect valid 1|nothing expected behind it
		expect invalid speed|expected the item that rejects
		expect completes maybe|expected pass, fail, unchecked or n/a
		expect review odd|expected a kind of review
		paper: maybe|expected accepted or rejected
		base: dense|before everything else
		turn around|expected base, paper
		references: 0|a number from 1 to 8
	EOF
	rm own/wrong.case
	run -2 infrarsi verify --matrix own
	has "no case"
	run -2 infrarsi verify --matrix own "$last"
	has "takes no receipts"
}
