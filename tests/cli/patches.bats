#!/usr/bin/env bats
# Patches as users and models write them: what is taken, what is refused and with which words, and stacks.
load helpers

setup_file() {
	new_repo "$BATS_FILE_TMPDIR/template"
	git rm -q patches/*.diff
	mkdir -p patches
	touch patches/.keep
	git add patches
	git commit -q -m "no patches"
	lock
	infrarsi doctor --seed 7 --hurry >"$BATS_FILE_TMPDIR/doctor.txt"
}

setup() {
	from_template
}

edits() { # NAME FILE OLD NEW
	python3 -c 'import json, sys
print(json.dumps([{"file": sys.argv[1], "old": sys.argv[2], "new": sys.argv[3]}]))' "$2" "$3" "$4" >"patches/$1.edits.json"
}

less_effort() { # NAME: a bare hunk in a fence, with prose around it
	cat >"patches/$1.diff" <<-'END'
		# title: less effort
		This lowers the cost of an update:
		```diff
		--- train.c
		+++ train.c
		@@ ... @@
		-static const double effort = 25; /* milliseconds an update at the reference settings */
		+static const double effort = 20; /* milliseconds an update at the reference settings */
		```
	END
}

search() { # TRIALS: over the patches alone
	run infrarsi run --accept-noise --search-only --trials "$1" --fix algorithm=plain --fix micro_batch=1 --fix cache=off \
		--fix define=-DLONG --fix mode=normal
	equals 0 "$status"
}

@test "a loose diff and edits become patches like any other" {
	less_effort 01-loose
	edits 02-edits train.c "learning_rate = 0.02;" "learning_rate = 0.02; /* small */"
	search 1
	lacks "refused"
	equals 2 "$(ledger "select count(*) from entry where kind = 'proposal'")"
	run grep -c '^diff --git a/train.c b/train.c$' .infrarsi/patches/*.diff
	equals 0 "$status"
}

@test "what does not fit is refused with the closest place, and what fits twice with both" {
	edits 01-near train.c "static const double  effort = 25;" "static const double effort = 20;"
	edits 02-twice train.c "struct timespec t" "struct timespec u"
	printf '%s\n' '--- a/train.c' '+++ b/train.c' '@@ -1,9 +1,9 @@' '-		milliseconds *= 0.5;' '+		milliseconds *= 0.4;' \
		>patches/03-wrong-counts.diff
	printf '%s\n' '--- a/train.c' '+++ b/train.c' '@@ -1,9 +1,9 @@' '-{' '+{ /* begin */' >patches/06-anywhere.diff
	printf '{"edits": [{"file": "data.txt", "old": "1", "new": "2"}]}' >patches/04-frozen.edits.json
	printf '{"edits": [{"file": "../train.c", "old": "1", "new": "2"}]}' >patches/05-outside.edits.json
	run -0 infrarsi doctor --new --hurry
	has "01-near: refused by patch"
	line=$(grep -n '^static const double effort' train.c | cut -d: -f1)
	has "the closest place is train.c:$line ("
	has "differs in white space"
	has "04-frozen.edits.json: edits[0]: data.txt: this file is frozen"
	has "05-outside.edits.json: edits[0]: ../train.c: the path leaves the task's folder"
	first=$(grep -n 'struct timespec t' train.c | head -1 | cut -d: -f1)
	second=$(grep -n 'struct timespec t' train.c | sed -n 2p | cut -d: -f1)
	has "edits[0]: old occurs 2 times in train.c, at lines $first and $second"
	has "06-anywhere.diff:3: hunk 1 of train.c does not apply: it fits in more than 8 places: at line"
	has "Patches    1 clean, 0 to review, 5 refused"
}

@test "a patch larger than patches.max_lines is refused; its base does not count" {
	less_effort 01-first
	edits 02-second train.c "learning_rate = 0.02;" "learning_rate = 0.02; /* small */"
	python3 - <<-'END'
		import json
		edits = json.load(open("patches/02-second.edits.json"))
		json.dump({"base": ["01-first"], "edits": edits}, open("patches/02-second.edits.json", "w"))
		json.dump([{"file": "train.c", "old": "#include <math.h>", "new": "#include <math.h>\n#include <errno.h>\n\n"}],
			open("patches/03-long.edits.json", "w"))
	END
	printf 'patches: {max_lines: 2}\n' >>infrarsi.yaml
	run -0 infrarsi doctor --new --hurry
	has "Patches    2 clean, 0 to review, 1 refused"
	has "03-long.edits.json: the patch changes 3 lines (3 added, 0 removed), more than the 2 allowed"
	run grep -l "effort = 20" .infrarsi/patches/*.diff
	equals 2 "${#lines[@]}"
}

@test "branches are patches; one that touches another file is refused by that file's name" {
	git checkout -q -b honest
	sed -i 's/double effort = 25/double effort = 20/' train.c
	git commit -q -a -m "Less effort

Predicted: 15%"
	git checkout -q -b wide
	printf 'all:\n' >>Makefile
	git commit -q -a -m "Touches the build"
	git checkout -q master 2>/dev/null || git checkout -q main
	sed -i 's/^proposers:.*/proposers: [{kind: patches, branches: [honest, wide, missing]}]/' infrarsi.yaml
	run -0 infrarsi doctor --new --hurry
	has "Patches    1 clean, 0 to review, 2 refused"
	has "wide: Makefile: this file is not editable"
	has "branch missing: there is no such branch"
	search 1
	has "+honest"
	equals "Less effort" "$(ledger "select json_extract(body, '\$.patch.title') from entry where kind = 'proposal'")"
	equals "" "$(git status --porcelain --untracked-files=no -- train.c Makefile)"
}

@test "patches of the same line are not stacked, and run, report and result.json say which hunks" {
	less_effort 01-twenty
	edits 02-fifteen train.c "effort = 25;" "effort = 15;"
	search 3
	line=$(grep -n '^static const double effort' train.c | cut -d: -f1)
	why="train.c: hunk 1 of 01-twenty (line $line) and hunk 1 of 02-fifteen (line $line) change the same lines"
	has "note: patches 01-twenty and 02-fifteen are not stacked: $why"
	lacks ": +01-twenty +02"
	run -0 infrarsi report
	has "$why"
	run -0 --separate-stderr infrarsi report --json
	equals "$why" "$(json 'd["not_stacked"][0]["reason"]')"
	grep -qF "hunk 1 of 02-fifteen" .infrarsi/REPORT.md
}

@test "patches within each other's context are stacked, built and applied one after another" {
	less_effort 01-effort
	edits 02-rows train.c "static int rows[ROWS][WIDTH + 1];" "static int rows[ROWS][WIDTH + 1]; /* as read */"
	git add patches
	git commit -q -m patches
	run -0 infrarsi doctor --new --hurry
	search 3
	both=$(sed -n 's/^ *\([0-9]*\) .*+01-effort +02-rows.* valid$/\1/p' <<<"$output")
	[ -n "$both" ]
	run -0 infrarsi apply --branch faster --trial "$both" --force
	run git log --format=%s HEAD..faster
	equals 3 "${#lines[@]}"
	run git show faster:train.c
	has "effort = 20"
	has "/* as read */"
	run -0 infrarsi apply --trial "$both" --force
	grep -q "effort = 20" train.c
	grep -q "as read" train.c
	run -0 infrarsi apply --undo
	equals "" "$(git status --porcelain -- train.c)"
}

@test "names that git would take for patterns or for its own, and files that come empty, refuse their patch and no other" {
	sed -i 's/^\(  *editable_files: \).*/\1["**"]/' infrarsi.yaml
	edits 01-pattern ":(glob)x.c" x y
	edits 02-blank "notes.c " "" "int n;"
	edits 03-git "git~1/x.c" "" "int n;"
	less_effort 04-good
	git checkout -q -b package
	mkdir package
	: >package/__init__.py
	git add package
	git commit -q -m "A package"
	git checkout -q master 2>/dev/null || git checkout -q main
	sed -i 's/^proposers:.*/proposers: [{kind: patches, dir: patches, branches: [package]}]/' infrarsi.yaml
	infrarsi init --accept >/dev/null
	run -0 infrarsi doctor --new --hurry
	has "Patches    1 clean, 0 to review, 4 refused"
	has "01-pattern.edits.json: edits[0]: there is no file :(glob)x.c"
	has "02-blank.edits.json: edits[0]: notes.c : names that begin or end with a blank are not accepted"
	has "03-git.edits.json: edits[0]: git~1/x.c: git's own files may not be changed"
	has "package: package/__init__.py: a new file without a line"
}
