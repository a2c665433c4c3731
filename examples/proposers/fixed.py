#!/usr/bin/env python3
"""A proposer that needs no model: the untried neighbours of the best trial so far, nearest first.

A neighbour differs in one knob (one step along its settings, or from any setting to any other where steps have
no order) or in one patch. Rules are not evaluated here: the harness drops what they forbid, so a few more
neighbours are given than it wants.

    infrarsi sends a request on standard input and reads the answer from standard output: docs/proposers.md
"""
import json
import sys

MOST_ANSWERED = 32  # no more are read


def levers(request):
    """Name -> (settings, the reference's)."""
    found = {knob["name"]: (knob["settings"], knob["reference"]) for knob in request["knobs"]}
    found.update({patch["name"]: (["off", "on"], "off") for patch in request.get("patches", [])})
    return found


def best_trial(trials):
    """The changes of the fastest valid trial; none where nothing is faster than the reference."""
    valid = [t for t in trials if t["status"] == "valid" and t.get("speedup", 0) > 1]
    return max(valid, key=lambda t: t["speedup"])["changes"] if valid else {}


def neighbours(base, found):
    """(steps, name, changes): one lever away from base."""
    for name, (settings, reference) in found.items():
        here = settings.index(base.get(name, reference))
        for there, setting in enumerate(settings):
            if there == here:
                continue
            changes = {k: v for k, v in base.items() if k != name}
            if setting != reference:
                changes[name] = setting
            yield abs(there - here), name, changes


def answer(request):
    wanted = request["wanted"].get("configurations", 0)
    if not wanted:
        return {"configurations": []}
    trials = request.get("trials", [])
    tried = [{}] + [t["changes"] for t in trials]
    base = best_trial(trials)
    near = sorted(neighbours(base, levers(request)), key=lambda n: n[0])
    return {
        "configurations": [
            {"settings": changes, "reason": f"the best so far with another {name}"}
            for _, name, changes in near
            if changes not in tried
        ][:MOST_ANSWERED]
    }


json.dump(answer(json.load(sys.stdin)), sys.stdout)
