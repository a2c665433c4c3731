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
	has "REFUSED  "
	has "$name"
	run -5 --separate-stderr infrarsi verify --json "$@"
	is_json
	equals True "$(json "any('$name' in (row['refused'] or '') for row in d)")"
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
	cp $receipts/0001.json elsewhere/
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

@test "truncated, empty, not JSON: the place is named" {
	chmod u+w "$last"
	for size in 0 1 100 3000; do
		cp "$last" whole.json
		truncate -s $size whole.json
		run infrarsi verify whole.json
		equals 5 "$status"
		has "REFUSED"
	done
	head -c 2000 /dev/urandom >noise.json
	run -5 infrarsi verify noise.json
	has "REFUSED"
}

@test "a duplicated file" {
	cp "$last" $receipts/9999.json
	refused duplicate
}

@test "replayed: an old receipt in a new one's place" {
	cp -f $receipts/0001.json "$last"
	run -5 infrarsi verify
	has "REFUSED"
	[[ $output == *duplicate* || $output == *replay* ]]
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
	has "2"
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
		run -5 infrarsi verify "$last"
		has "REFUSED"
	done
}

@test "an edited reference cannot vouch for others" {
	change $receipts/0002.json 'd["payload"] = d["payload"].replace("\"loss\":[", "\"loss\":[1,")'
	run -5 infrarsi verify
	has "0002.json  REFUSED  edited"
}
