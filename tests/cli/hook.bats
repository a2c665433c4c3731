#!/usr/bin/env bats
# The hook is the harness's: what stands in its way is passed over, refused, or named.
load helpers

PYTHON=$(command -v /usr/bin/python3 || command -v python3)

setup_file() {
	new_template
}

setup() {
	from_template
}

log_of() { # TRIAL
	infrarsi show "$1" --json | python3 -c 'import json, sys; print(".infrarsi/" + json.load(sys.stdin)["log"])'
}

added() { # PATH CONTENT...: a diff that makes this file
	printf -- '--- /dev/null\n+++ b/%s\n@@ -0,0 +1,%d @@\n' "$1" $(($# - 1))
	shift
	printf '+%s\n' "$@"
}

# A training loop in Python that says where its hook came from.
python_job() { # in a repository of its own
	mkdir -p "$BATS_TEST_TMPDIR/home" "$BATS_TEST_TMPDIR/python"
	export HOME=$BATS_TEST_TMPDIR/home XDG_STATE_HOME=$BATS_TEST_TMPDIR/state
	cd "$BATS_TEST_TMPDIR/python" || return 1
	cat >train.py <<'PY'
import sys, time
import infrarsi_hook
print("hook from", infrarsi_hook.__file__)
print("neighbour from", sys.modules.get("neighbour", "nowhere"))
try:
    import extra
    print("extra from", extra.__file__)
except ImportError:
    pass
hook = infrarsi_hook.Hook()
hook.param("w", (3,), "fp32")
hook.start(seq_len=4, global_batch=2)
for i in range(1, 9):
    time.sleep(float(sys.argv[1]))
    hook.rows([[i, 2, 3, 4], [i, 6, 7, 8]])
    hook.update(loss=9.0 - i, grad_norm=1.0 + i, lr=0.1, opt_step=i, tokens=8)
hook.end()
PY
	echo data >data.txt
	mkdir lib
	echo "where = 'lib'" >lib/extra.py
	cat >infrarsi.yaml <<YAML
version: 1
name: python
stack: native
launch:
  command: ["$PYTHON", "train.py", "{pace}"]
  env: {PYTHONPATH: "lib"}
  timeout: 1m
contract:
  updates: 8
  warmup: 2
  global_batch: 2
  seq_len: 4
  frozen_files: ["data.txt"]
  editable_files: ["**/*.py"]
knobs:
  - {name: pace, values: [0.05, 0.01], reference: 0.05}
proposers: [{kind: patches, dir: patches}]
budget: {trials: 1}
YAML
	mkdir patches
	touch patches/.keep
	git init -q .
	git config user.name Tester
	git config user.email tester@example.org
}

commit_all() {
	git add -A
	git commit -q -m start
	lock
}

@test "Python: the harness's hook is imported, and not a file of its name beside the script" {
	python_job
	cp "$(dirname "$INFRARSI")/../hooks/infrarsi_hook.py" infrarsi_hook.py
	echo 'print("the neighbour")' >>infrarsi_hook.py
	commit_all
	run -0 infrarsi doctor --hurry
	run cat .infrarsi/logs/0001.log
	has "hook from $(realpath "$(dirname "$INFRARSI")/../hooks")/infrarsi_hook.py"
	lacks "the neighbour"
	has "extra from" # what the task itself wants on the path is there, too
	has "lib/extra.py"
}

@test "Python: a sitecustomize of the installation or of the task's path still runs, after the harness's" {
	python_job
	echo 'import sys; sys.modules["neighbour"] = "sitecustomize"; import infrarsi_hook; print("asked for", infrarsi_hook.__file__)' \
		>lib/sitecustomize.py
	commit_all
	run -0 infrarsi doctor --hurry
	run cat .infrarsi/logs/0001.log
	has "neighbour from sitecustomize"
	has "asked for $(realpath "$(dirname "$INFRARSI")/../hooks")/infrarsi_hook.py"
}

@test "a patch that brings a hook, a sitecustomize or a usercustomize is refused before it runs" {
	python_job
	echo '# the task has none' >lib/empty.py
	commit_all
	infrarsi doctor --hurry >/dev/null
	added sitecustomize.py "import sys" >patches/01-site.diff
	added lib/usercustomize.py "import sys" >patches/02-user.diff
	added infrarsi_hook.py "class Hook: pass" >patches/03-hook.diff
	added infrarsi_hook/__init__.py "class Hook: pass" >patches/04-package.diff
	run infrarsi run --accept-noise --search-only --trials 1
	for name in 01-site:sitecustomize.py 02-user:lib/usercustomize.py 03-hook:infrarsi_hook.py \
		04-package:infrarsi_hook/__init__.py; do
		grep -q "patch ${name%:*} .*refused by.*${name#*:}" <<<"$output"
	done
	equals 3 "$(grep -c "would be taken for infrarsi's own hook" <<<"$output")" # the other is refused even earlier
	equals 0 "$(ledger "select count(*) from entry where kind = 'proposal'")"
}

@test "C: a header of the hook's name that the build makes fails the build, and says so" {
	sed -i 's|^train: .*|&\n\tprintf "int own_hook;\\\\n" >infrarsi_hook.h|' Makefile
	[ "$(grep -c infrarsi_hook Makefile)" -eq 1 ]
	git commit -q -a -m shadow
	run -1 infrarsi doctor --new --hurry
	has "infrarsi_hook.h: error: made or changed by a patch or the build"
}

@test "C: the user's own copy of the header, of any version, is the user's affair" {
	hooks=$(dirname "$INFRARSI")/../hooks
	{
		cat "$hooks/infrarsi_hook.h"
		echo "/* of another version */"
	} >infrarsi_hook.h
	sed -i 's/-I$(INFRARSI_HOOK_DIR)/-I./' Makefile
	git add -A
	git commit -q -m vendored
	run -0 infrarsi doctor --new --hurry
	run -0 infrarsi run --accept-noise --search-only --trials 1 --start algorithm=quick
	run -0 infrarsi show 1
	has "trial 1  valid"
}

@test "hooks that are no longer what they were when the campaign began: named, exit 5" {
	own=$BATS_TEST_TMPDIR/own
	mkdir -p "$own/bin" "$own/hooks"
	cp "$(dirname "$INFRARSI")"/../hooks/*.* "$own/hooks/" # never the folder: it may be a link to the real one
	cp "$INFRARSI" "$own/bin/infrarsi"
	run -0 "$own/bin/infrarsi" run --accept-noise --search-only --trials 1 # the same bytes elsewhere
	echo "/* changed */" >>"$own/hooks/infrarsi_hook.h"
	run -5 "$own/bin/infrarsi" run --accept-noise
	has "the hooks in $(realpath "$own/hooks") are not those that this campaign began with"
	run -0 "$own/bin/infrarsi" doctor --new --hurry
}
