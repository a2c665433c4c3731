"""Rewrites an example's task file for one row of the bench, and prints the --fix arguments that it needs, one a line."""
import json
import re
import sys

path, row, before = sys.argv[1:4]
if row not in ("knobs", "catalogue", "both", "tuned"):
    sys.exit(f"no such row: {row}")
text = open(path).read()
knobs = dict(re.findall(r'^  - \{name: (\w+),.*?reference: ("[^"]*"|[^,}]+)', text, re.MULTILINE))
if row == "tuned":
    winner = json.load(open(before))["candidate"]["settings"]
    for name, value in winner.items():
        if name in knobs:
            quoted = value == "" or re.search(r'name: %s, values: \[[^\]]*"%s"' % (name, re.escape(value)), text)
            knobs[name] = json.dumps(value) if quoted else value
            text, n = re.subn(r'(- \{name: %s,.*?reference: )("[^"]*"|[^,}]+)' % name,
                              lambda m: m.group(1) + knobs[name], text, count=1)
            assert n == 1, name
    text = re.sub(r",\s*prior: \{.*\}\}(?=\}$)", "", text, flags=re.MULTILINE)  # relative to the old reference
    text = re.sub(r"^starts:\n(  - .*\n)+", "", text, flags=re.MULTILINE)
proposers = "[]" if row == "knobs" else "[{kind: catalogue}]"
text, n = re.subn(r"^proposers: .*$", f"proposers: {proposers}", text, flags=re.MULTILINE)
assert n == 1
open(path, "w").write(text)
if row in ("catalogue", "tuned"):
    for name, value in knobs.items():
        print("--fix")
        print(f"{name}={json.loads(value) if value.startswith(chr(34)) else value}")
