#!/usr/bin/env bats
# The winner once more over more updates than the contract's: what a short run cannot show.
load helpers

# The fixture with a knob whose settings are fast for the first twelve updates, which is all that a trial sees.
setup_file() {
	new_repo "$BATS_FILE_TMPDIR/template"
	python3 - <<'PY'
text = open("train.c").read()
text = text.replace("static double now_s(void)", """static const char *habit = "normal";

/* Of the update's cost, what is left of it in each habit. */
static double share_of(int update)
{
	int is_late = update > 12;
	if (!strcmp(habit, "steady") || !strcmp(habit, "drifts"))
		return 0.2;
	if (!strcmp(habit, "tires"))
		return is_late ? 0.6 : 0.2;
	return strcmp(habit, "fades") ? 1 : is_late ? 1.2 : 0.2;
}

static double now_s(void)""")
text = text.replace("wait_for(milliseconds);", "wait_for(milliseconds * share_of(i));")
text = text.replace(".loss = loss,", ".loss = !strcmp(habit, \"drifts\") && i > 12 ? 1.2 * loss : loss,")
text = text.replace("\tbefore_training(argv[5]);", "\thabit = argv[5];\n\tbefore_training(argv[5]);")
open("train.c", "w").write(text)
task = open("infrarsi.yaml").read()
task = task.replace("values: [normal, broken]", "values: [normal, steady, fades, tires, drifts]")
open("infrarsi.yaml", "w").write(task.replace("proposers: [{kind: patches, dir: patches}]", "proposers: []"))
PY
	rm -r patches
	git add -A
	git commit -q -m job
	lock
	infrarsi doctor --seed 7 >"$BATS_FILE_TMPDIR/doctor.txt"
}

setup() {
	from_template
}

search() { # MODE ARGUMENTS...: that setting is the only change
	infrarsi run --accept-noise --trials 1 --fix algorithm=plain --fix micro_batch=1 --fix cache=off \
		--fix define=-DLONG --fix "mode=$1" "${@:2}"
}

has_references() { [ "$(grep -c "over 200 updates  reference" out.txt)" -eq 2 ]; }

begin_confirmation() { # sets $pid: a run that goes on once its confirmation over 200 updates has both references
	"$INFRARSI" run --accept-noise --trials 1 --fix algorithm=plain --fix micro_batch=1 --fix cache=off \
		--fix define=-DLONG --fix mode=steady --confirm 200 >out.txt 2>&1 3>&- &
	pid=$!
	wait_until 120 has_references
}

confirmations() { # EXPRESSION over `c`, the list of them
	infrarsi report --json | python3 -c 'import json, sys
c = json.load(sys.stdin)["confirmations"]
print(eval(sys.argv[1]))' "$1"
}

@test "a gain that lasts is delivered, with both figures" {
	run -0 search steady --confirm 60
	has "over 60 updates  reference"
	has "over 60 updates  winner"
	has "Confirmed over 60 updates: "
	has "in the duel over 12."
	equals "[('held', 60)]" "$(confirmations '[(x["outcome"], x["updates"]) for x in c]')"
	run -0 infrarsi report --markdown
	has "Confirmed over 60 updates: "
	has "Over 60 updates, s/update: references "
	run -0 infrarsi verify
	has " 0 refused"
	run -0 infrarsi apply --branch faster
}

@test "a gain that shrinks is delivered as what it is in the longer run" {
	run -0 search tires --confirm 60
	has "Less over 60 updates: "
	has "The smaller counts."
	run -0 infrarsi report --json
	equals True "$(json 'd["confirmations"][0]["speedup"] == d["delivered"] < 0.7 * d["confirmations"][0]["duel_speedup"]')"
	equals True "$(json 'd["interval"] == d["confirmations"][0]["interval"]')"
}

@test "a gain that was gone after the contract's updates is not delivered" {
	run -3 search fades --confirm 60
	has "Not delivered: trial 1 over 60 updates: "
	has "not faster beyond noise"
	has "Delivered 1.00x"
	equals "refused" "$(confirmations 'c[0]["outcome"]')"
	run -2 infrarsi apply --branch faster
	# Nothing is left to do, and nothing is run again.
	n=$(n_receipts)
	run -3 search fades --confirm 60
	equals "$n" "$(n_receipts)"
}

@test "a loss that drifts behind the contract's updates is not delivered" {
	run -3 search drifts --confirm 60
	has "Not delivered: trial 1 over 60 updates: loss_within_tolerance ("
	run -1 infrarsi verify
	has " 0 refused"
}

@test "what was delivered can be confirmed later, over other updates, and be taken back" {
	run -0 search fades
	lacks "Confirmed"
	run -0 infrarsi report
	lacks "over 12 updates"
	run -0 infrarsi run --accept-noise --trials 1 --confirm 13
	has "over 13 updates  winner"
	run -3 infrarsi run --accept-noise --trials 1 --confirm 100
	has "Not delivered: trial 1 over 100 updates: "
	has "Delivered 1.00x"
}

@test "the task file can ask for it" {
	echo 'search: {confirm: 40}' >>infrarsi.yaml
	run -0 search steady
	has "Confirmed over 40 updates: "
	sed -i 's/confirm: 40/confirm: 12/' infrarsi.yaml
	run -2 infrarsi run
	has "infrarsi.yaml:"
	has "search.confirm: expected more updates than contract.updates (12), got 12"
}

@test "it is more than the contract's updates, or an error before anything runs" {
	n=$(n_receipts)
	run -2 search steady --confirm 12
	has "--confirm 12: expected more updates than contract.updates of "
	run -2 search steady --confirm 2000000000
	has "at most 100000"
	equals "$n" "$(n_receipts)"
}

@test "stopped in the middle, it goes on where it was" {
	begin_confirmation
	kill -INT "$pid"
	code=0
	wait "$pid" || code=$?
	equals 4 "$code"
	run -0 infrarsi report
	has "Next: infrarsi run"
	run -0 search steady --confirm 200
	lacks "over 200 updates  reference"
	has "over 200 updates  winner"
	has "Confirmed over 200 updates: "
}

@test "killed in the middle: what ran is there, and the confirmation is carried on" {
	begin_confirmation
	kill -KILL "$pid"
	wait "$pid" || true
	run -0 search steady --confirm 200
	lacks "over 200 updates  reference"
	has "Confirmed over 200 updates: "
	run -0 infrarsi verify
	has " 0 refused"
}

@test "asked for once, it holds for the call that goes on, and after more trials" {
	run -0 search steady --search-only --confirm 60
	run -0 search steady
	has "Confirmed over 60 updates: "
	# A confirmation that more trials interrupt is none.
	run -0 infrarsi run --accept-noise --trials 2 --start mode=normal,cache=on --confirm 80
	run -0 infrarsi report --json
	equals "[80]" "$(json '[c["updates"] for c in d["confirmations"] if c["trial"] == d["trial"]]')"
	# Over fewer updates than it was confirmed over, nothing is left to do.
	n=$(n_receipts)
	run -0 infrarsi run --accept-noise --trials 2 --confirm 60
	equals "$n" "$(n_receipts)"
}

@test "a job that is not told its updates cannot be confirmed, and that is said before anything runs" {
	sed -i 's/"{updates}"/"12"/' infrarsi.yaml
	infrarsi init --accept >/dev/null
	infrarsi doctor --new --seed 7 --hurry >/dev/null
	n=$(n_receipts)
	run -2 search steady --confirm 60
	has "nothing in launch.command says {updates}"
	equals "$n" "$(n_receipts)"
}
