"""What the checks of codemods share: the rewriting itself, and the count of what passed."""
import importlib.util
import json
import subprocess
import sys

import torch

INFRARSI = sys.argv[1]
passed = failed = 0


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def codemods(path, only):
    out = subprocess.run([INFRARSI, "codemods", "--json", "--only", only, path.name], cwd=path.parent, check=True,
                         capture_output=True, text=True).stdout
    return json.loads(out)


def apply(path, only, after):
    """The rewritten program at `after`; None where nothing is rewritten."""
    proposals = codemods(path, only)["proposals"]
    if len(proposals) != 1:
        return None
    subprocess.run(["patch", "-s", "-o", str(after), str(path)], input=proposals[0]["diff"], text=True, check=True)
    return after


def verdict(ok, name, why=""):
    global passed, failed
    passed += ok
    failed += not ok
    print(f"{'ok' if ok else 'not ok'} {name}{'' if ok else ': ' + why}")


def close(what):
    print(f"{what} on torch {torch.__version__}: {passed} passed, {failed} failed")
    sys.exit(failed != 0)
