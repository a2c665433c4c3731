"""What tests/integration/gpt-torch/run wants to see in what was printed.

    check.py by-hand WITHOUT WITH SPLIT     output without a hook, with one, and with another split of the same batch
    check.py campaign REPORT FOLDER         `infrarsi report --json`, and .infrarsi/proposed/catalogue
"""

import json
import pathlib
import re
import sys

EXPECTED = {"sdpa", "fused-optimizer", "set-to-none", "compile"}  # read off train.py and model.py by eye


def want(condition, what):
    print(f"gpt-torch: {'ok' if condition else 'FAILED'}: {what}")
    if not condition:
        sys.exit(1)


def events(path):
    lines = pathlib.Path(path).read_text().splitlines()
    return [json.loads(line.removeprefix("@infrarsi ")) for line in lines if line.startswith("@infrarsi ")]


def printed_losses(path):
    return re.findall(r"^step \d+: loss ([\d.]+)", pathlib.Path(path).read_text(), re.MULTILINE)


def by_hand(without, with_hook, split):
    start, *updates, end = events(with_hook)
    other = events(split)[1:-1]
    want(start["e"] == "start" and start["params"] > 1e6 and start["model_digest"], "the hook names the model")
    want(len(updates) == 5 and end == {"e": "end", "updates": 5}, "the hook reports 5 updates and the end")
    want("@infrarsi" not in pathlib.Path(without).read_text(), "without the hook the job says nothing of it")
    want(printed_losses(without) == printed_losses(with_hook) and len(printed_losses(without)) == 5,
         "the losses are the same with and without the hook")
    want(updates[-1]["loss"] < 0.9 * updates[0]["loss"], "the loss falls")
    want([u["data"] for u in updates] == [u["data"] for u in other] and len({u["data"] for u in updates}) == 5,
         "another split of the batch sees the same rows")
    want(all(abs(a["loss"] - b["loss"]) < 1e-3 * a["loss"] for a, b in zip(updates, other)),
         "another split of the batch has the same losses to 0.1%")


def changed_lines(diff):
    return tuple(re.findall(r"^[-+](?![-+]{2} ).*", pathlib.Path(diff).read_text(), re.MULTILINE))


def campaign(report, folder):
    names = {changed_lines(path): path.stem for path in pathlib.Path(folder).glob("*.diff")}
    proposed = set(names.values())
    want(proposed >= EXPECTED, f"the catalogue proposes {', '.join(sorted(proposed))}")
    trials = json.loads(pathlib.Path(report).read_text())["trials"]
    patches = pathlib.Path(folder).parents[1] / "patches"
    tried, valid = set(), set()
    for t in trials:  # a candidate's patches go by the digest of what is applied
        on = [names.get(changed_lines(patches / f"{digest}.diff"), digest) for digest in t["candidate"]["patches"]]
        tried.update(on)
        valid.update(on if t["status"] == "valid" else ())
        print(f"  trial {t['number']}: {' '.join(on) or '-'}: {t['status']} {t['evidence']}")
    want(tried & proposed, "the search tried patches of the catalogue")
    want(valid & proposed, f"valid with the patches {', '.join(sorted(valid))}")


if __name__ == "__main__":
    {"by-hand": by_hand, "campaign": campaign}[sys.argv[1]](*sys.argv[2:])
