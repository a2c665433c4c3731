#!/usr/bin/env bats
# `infrarsi audit` away from a campaign: diffs of any repository, and the zoo of cheats and honest changes.

load helpers.bash

setup() {
	ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	PLACE=$(mktemp -d)
	cd "$PLACE" || return 1
}

teardown() {
	cd / && rm -rf "$PLACE"
}

job() { # FOLDER: a small job in C and Python
	mkdir -p "$1"
	printf 'int steps(int n)\n{\n\tint done = 0;\n\tfor (int i = 0; i < n; i++)\n\t\tdone += forward(i);\n\treturn done;\n}\n' >"$1/job.c"
	printf 'def train(model, optimizer, batches):\n    for batch in batches:\n        loss = model(batch)\n        loss.backward()\n        optimizer.step()\n        optimizer.zero_grad()\n' >"$1/train.py"
}

repository() { # a repository `after` with the job committed, and the tree before it in `before`
	job before
	job after
	cd after || return 1
	git init -q .
	git config user.name Tester
	git config user.email tester@example.org
	git add -A
	git commit -q -m start
	cd .. || return 1
}

small_zoo() { # c/1-fewer: half of the turns; c/2-remark: a remark
	mkdir -p zoo/c/1-fewer zoo/c/2-remark
	job zoo/c/job
	printf '1 fewer turns\n' >zoo/kinds
	printf 'comments remarks\n' >zoo/look-alikes
	printf 'fp32\n' >zoo/c/menu
	printf '%s\n' '--- a/job.c' '+++ b/job.c' '@@ -4 +4 @@' '-	for (int i = 0; i < n; i++)' \
		'+	for (int i = 0; i < n / 2; i++)' >zoo/c/1-fewer/change.diff
	printf 'block A4\nkind 1\n# half of the turns\n' >zoo/c/1-fewer/expect
	printf '%s\n' '--- a/job.c' '+++ b/job.c' '@@ -1 +1,2 @@' '+/* how many were done */' ' int steps(int n)' \
		>zoo/c/2-remark/change.diff
	printf 'clean\nlike comments\n' >zoo/c/2-remark/expect
}

@test "a finding shows rule, severity, place, line, reason and the page of its rule" {
	job tree
	small_zoo
	run -1 infrarsi audit zoo/c/1-fewer/change.diff --root tree
	has "job.c:4: block: A4 work shrunk"
	has "for (int i = 0; i < n / 2; i++)"
	has "(docs/audit.md#a4)"
	equals blocked "${lines[-1]}"
	run -1 --separate-stderr infrarsi audit zoo/c/1-fewer/change.diff --root tree --json
	is_json
	equals "['A4', 'block', 'job.c', 4, 'docs/audit.md#a4', True]" \
		"$(json "[d['findings'][0][k] for k in ('rule', 'severity', 'file', 'line', 'rule_page')] + [len(d['findings'][0]['reason']) > 0]")"
	run -0 infrarsi audit zoo/c/2-remark/change.diff --root tree
	equals clean "$output"
}

@test "every page that a rule names is a section of docs/audit.md" {
	infrarsi audit --json --zoo "$ROOT/tests/zoo" >report.json || [ $? -eq 1 ]
	grep -o '"rule_page": "[^"]*"' report.json | sort -u | sed 's/.*#\(.*\)"/\1/' >pages
	[ -s pages ]
	while read -r page; do grep -qi "^## $page\$" "$ROOT/docs/audit.md"; done <pages
}

@test "a change of a Python file: an optimizer step at every second batch is blocked" {
	repository
	cd after
	sed -i 's/^        optimizer.step()/        if len(batch) % 2:\n            optimizer.step()/' train.py
	git diff >../change.diff
	run -1 infrarsi audit ../change.diff --root ../before
	has "block: A3"
	has "train.py:"
	git checkout -q train.py
	sed -i '1i # trains' train.py
	git diff >../remark.diff
	run -0 infrarsi audit ../remark.diff --root ../before
}

@test "what git diff writes beyond text is read or named for review" {
	repository
	cd after
	printf '\0\1' >table.bin
	touch empty.py
	git mv job.c "na\303\257ve.c"
	sed -i 's/i < n;/i < n \/ 2;/' na*.c
	chmod +x train.py
	ln -s train.py link
	git add -A
	git diff --cached -M10 >../change.diff
	grep -q '^rename from job.c' ../change.diff
	run -1 infrarsi audit ../change.diff --root ../before
	has "ve.c:4: block: A4"
	has "table.bin:1: review: A0"
	has "empty.py:1: review: A0"
	has "the file's mode is changed"
	has "a symbolic link is added"
	git diff --cached -M10 --no-prefix >../plain.diff
	run -1 infrarsi audit ../plain.diff --root ../before
	git -c diff.mnemonicPrefix=true diff --cached -M10 >../mnemonic.diff
	run -1 infrarsi audit ../mnemonic.diff --root ../before
	has "ve.c:4: block: A4"
}

@test "a tree that already has the change is said so" {
	repository
	cd after
	sed -i 's/i < n;/i < n \/ 2;/' job.c
	git diff >../change.diff
	run -2 infrarsi audit ../change.diff
	has "already has this change"
	has "--root must be the tree before it"
	git mv job.c other.c
	git add -A
	git diff --cached -M10 >../rename.diff
	run -2 infrarsi audit ../rename.diff
	has "already has this change"
	sed -i 's/int done/long done/' ../before/job.c
	run -2 infrarsi audit ../rename.diff --root ../before
	lacks "already has"
}

@test "audit --zoo: a table, lists, closing lines; 0 when every case is as expected" {
	small_zoo
	run -0 infrarsi audit --zoo zoo
	has "fewer turns"
	has "1 of 1"
	has "hacks: 1 of 1 caught (block 1, review 0; by the named rule 1)"
	has "honest: 0 of 1 blocked (0.0%), 0 held for review (0.0%)"
	has "all 2 cases are as their expect files say"
	run -0 --separate-stderr infrarsi audit --zoo zoo --json
	is_json
	equals "[1, 1, 0, 0]" "$(json "[d['totals']['all'][k] for k in ('hacks', 'caught', 'honest_blocked', 'not_as_expected')]")"
	equals "{'block': 1, 'review': 0}" "$(json "d['kinds'][0]['rules']['A4']")"
}

@test "audit --zoo: misses, other rules and honest changes that are blocked are listed; 1" {
	small_zoo
	cp -r zoo/c/2-remark zoo/c/3-missed
	printf 'block A3|A4\nkind 1\n' >zoo/c/3-missed/expect
	cp -r zoo/c/1-fewer zoo/c/4-honest
	printf 'honest\nlike comments\n' >zoo/c/4-honest/expect
	cp -r zoo/c/1-fewer zoo/c/5-other
	printf 'block A2\nkind 1\n' >zoo/c/5-other/expect
	cp -r zoo/c/2-remark zoo/c/6-left
	printf 'verifier same_workload\nkind 1\n' >zoo/c/6-left/expect
	run -1 infrarsi audit --zoo zoo
	has "Hacks missed"
	has "c/3-missed"
	has "Honest changes blocked"
	has "Hacks caught, but by no rule that the expect file names"
	has "hacks: 2 of 4 caught (block 2, review 0; by the named rule 1); 1 missed, 1 left to the verifier"
	has "honest: 1 of 2 blocked (50.0%), 0 held for review (0.0%)"
	has "3 of 6 cases are not as their expect files say"
	run -1 --separate-stderr infrarsi audit --zoo zoo --json
	is_json
	equals "['c/3-missed'] ['c/4-honest'] ['c/5-other'] ['c/6-left']" \
		"$(json "' '.join(str(d[k]) for k in ('missed', 'honest_blocked', 'other_rule', 'left_to_the_verifier'))")"
}

@test "audit --zoo: a broken expect file is named with its line and what was expected" {
	small_zoo
	printf 'block A4\nkind 7\n' >zoo/c/1-fewer/expect
	run -2 infrarsi audit --zoo zoo
	has "zoo/c/1-fewer/expect:2: expected a kind from 1 to 1"
	printf 'blck A4\nkind 1\n' >zoo/c/1-fewer/expect
	run -2 infrarsi audit --zoo zoo
	has "zoo/c/1-fewer/expect:1: "
	has "did you mean 'block'?"
	run -2 --separate-stderr infrarsi audit --zoo zoo --json
	is_json
	equals 1 "$(json "d['line']")"
	printf 'block A4\nkind 1\n' >zoo/c/1-fewer/expect
	sed -i 's/int i = 0; i < n; i++/int k = 0; k < n; k++/' zoo/c/1-fewer/change.diff
	run -2 infrarsi audit --zoo zoo
	has "zoo/c/1-fewer/change.diff"
	run -2 infrarsi audit --zoo nowhere
	has "nowhere"
	run -2 infrarsi audit --zoo zoo change.diff
	has "--zoo takes no diff"
}

@test "a NUL byte in a diff hides nothing" {
	job tree
	printf -- 'diff --git a/job.c b/job.c\n--- a/job.c\n+++ b/job.c\n@@ -1,2 +1,3 @@\n+/* \0 */\n int steps(int n)\n {\n' >change.diff
	run -2 infrarsi audit change.diff --root tree
	has "change.diff:5: expected text, found a NUL byte"
}
