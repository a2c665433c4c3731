#!/usr/bin/env bats
# What the catalogue would change in a file, without a task.
load helpers

setup() {
	new_repo "$BATS_TEST_TMPDIR/case"
	cat >model.py <<'PY'
import torch
import torch.nn.functional as F


def attend(q, k, v):
    att = (q @ k.transpose(-2, -1)) * k.size(-1) ** -0.5
    att = F.softmax(att, dim=-1)
    return att @ v


optimizer = torch.optim.AdamW(attend.parameters(), foreach=True)
PY
	git add model.py
	git commit -q -m model
}

@test "diffs that apply, and what is left alone and why" {
	run -0 infrarsi codemods model.py
	has "# sdpa: attention by scaled_dot_product_attention (1 place)"
	has "+    return torch.nn.functional.scaled_dot_product_attention(q, k, v)"
	has "# fused-optimizer leaves model.py:11 alone: the optimizer's implementation is chosen already"
	infrarsi codemods --only sdpa model.py | git apply
	run -0 infrarsi codemods --only sdpa model.py
	equals "# nothing to change" "$output"
}

@test "one alone is a patch as it stands, whatever it leaves alone" {
	sed -i 's/editable_files: .*/editable_files: ["train.c", "model.py"]/' infrarsi.yaml
	cat >>model.py <<'PY'


def weights(q, k, v):
    att = (q @ k.transpose(-2, -1)) * k.size(-1) ** -0.5
    att = F.softmax(att, dim=-1)
    return att @ v, att
PY
	git add -A
	git commit -q -m weights
	lock
	infrarsi codemods --only sdpa model.py data.txt >sdpa.diff
	run cat sdpa.diff
	has "# sdpa leaves model.py:15 alone: the scores are used elsewhere too"
	has "# not read, for it is neither C nor Python: data.txt"
	git apply --check sdpa.diff
	run -0 infrarsi audit sdpa.diff
	has "clean"
}

@test "--json and --list" {
	run -0 infrarsi codemods --json model.py
	is_json
	equals "[('sdpa', 1, 'attention_backend')]" "$(json '[(p["name"], p["places"], p["mechanism"]) for p in d["proposals"]]')"
	equals "[('fused-optimizer', 'model.py', 11)]" "$(json '[(r["name"], r["file"], r["line"]) for r in d["refusals"]]')"
	run -0 infrarsi codemods --list
	has "sdpa  "
	run -0 infrarsi codemods --list --json
	equals True "$(json 'len(d) > 20 and all(set(c) == {"name", "title", "mechanism", "when"} for c in d)')"
}

@test "a C file, and files in no language that is read" {
	run -0 infrarsi codemods train.c data.txt
	has "# not read, for it is neither C nor Python: data.txt"
}

@test "mistakes" {
	run -2 infrarsi codemods
	has "expected source files, such as  infrarsi codemods train.py model.py"
	run -2 infrarsi codemods patches
	has "codemods: patches is a folder"
	run infrarsi codemods absent.py
	[ "$status" -ne 0 ]
	has "absent.py"
	run -2 infrarsi codemods "$PWD/model.py"
	has "expected a path below the current folder"
	run -2 infrarsi codemods --only sdpaa model.py
	has "there is no codemod 'sdpaa'"
	printf 'a\0b' >binary.py
	run -2 infrarsi codemods binary.py
	has "binary.py is no text"
}
