#!/usr/bin/env bats
# A result that is too good in the wrong way: held from promotion, shown with its evidence, released by a person.
load helpers

# The fixture with a cost before its first update that a patch can raise, as a job that prepares its data once has.
setup_file() {
	new_repo "$BATS_FILE_TMPDIR/template"
	python3 - <<'PY'
text = open("train.c").read()
text = text.replace("static const double learning_rate = 0.02;",
                    "static const double learning_rate = 0.02;\nstatic const double preparation = 1; /* milliseconds before the first update */")
text = text.replace("\ttrain(&hook, atoi(argv[1])", "\twait_for(preparation);\n\ttrain(&hook, atoi(argv[1])")
open("train.c", "w").write(text)
PY
	rm patches/*
	cp train.c reference.c
	# Half of each update's work is done beforehand: 12 updates win 0.15 s, 0.95 s go before the first one.
	sed -i 's/effort = 25;/effort = 12;/; s/preparation = 1;/preparation = 950;/' train.c
	{
		echo "# title: do the work once, before the first update"
		diff -u --label a/train.c --label b/train.c reference.c train.c || true
	} >patches/01-beforehand.diff
	mv reference.c train.c
	git add -A
	git commit -q -m job
	lock
	infrarsi doctor --seed 7 --hurry >"$BATS_FILE_TMPDIR/doctor.txt"
}

setup() {
	from_template
}

trial_of_patch() { # the first trial that carries it
	infrarsi report --json | python3 -c 'import json, sys
for trial in json.load(sys.stdin)["trials"]:
    if trial["candidate"]["patches"] and trial["status"] == "valid":
        print(trial["number"])
        break'
}

delivered_trial() {
	infrarsi report --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["trial"])'
}

fix_all() { # only the patch is left to choose
	echo --fix algorithm=plain --fix micro_batch=1 --fix cache=off --fix define=-DLONG --fix mode=normal
}

@test "work moved before the first update: held, shown, accepted, promoted" {
	# shellcheck disable=SC2046
	run -3 infrarsi run --accept-noise --trials 1 $(fix_all)
	has "Waits for review: trial 1 (wall"
	has "infrarsi audit --accept 1"
	has "Delivered 1.00x"
	run -0 infrarsi report
	has "Waits for review: trial 1 (wall"
	has "lie outside the updates"
	run -0 infrarsi show 1
	has "trial 1  valid"
	has "review: wall"
	run -3 infrarsi run --accept-noise --trials 1 # again: nothing changes by itself
	has "Waits for review: trial 1"
	run -0 infrarsi verify
	run -0 infrarsi audit --accept 1
	has "Next: infrarsi run"
	run -0 infrarsi run --accept-noise --trials 1
	has "duel 1  pair"
	has "delivered: "
	lacks "Waits for review"
	lacks "delivered: 1.00x"
	has "To review: wall" # it is accepted, and still said
	equals 1 "$(delivered_trial)"
	run -2 infrarsi audit --accept 1
	has "does not wait for a review"
	run -0 infrarsi apply --branch faster
}

@test "while it is held the next best is delivered; it stands until the accepted one is proven better" {
	run -0 infrarsi run --accept-noise --trials 1 --start algorithm=quick
	# shellcheck disable=SC2046
	run infrarsi run --accept-noise --trials 2 $(fix_all)
	held=$(trial_of_patch)
	[ -n "$held" ]
	first=$(delivered_trial)
	[ "$first" != None ] && [ "$first" != "$held" ]
	run -0 infrarsi audit --accept "$held"
	# Accepted, and not measured against the reference yet: what was delivered is not taken back.
	run -0 infrarsi report
	has "Trial $first stands from an earlier promotion: it stays until another is proven better"
	equals "$first" "$(delivered_trial)"
	run -0 infrarsi apply --branch early
	has "patch"
	run -0 infrarsi run --accept-noise
	now=$(delivered_trial)
	if [ "$now" = "$first" ]; then
		has "Trial $first stands from an earlier promotion: nothing was proven better since"
	else
		lacks "stands from an earlier promotion"
	fi
	books_balance
}
