"""An agent's program that is not ours, at `infrarsi mcp`: the official Python SDK of the Model Context Protocol, in
both of its eras, takes the test suite's small job from a measured reference to a promoted result.

    drive.py INFRARSI        needs requirements.txt; `run` beside it sees to that
"""

import asyncio
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from jsonschema import Draft202012Validator
from mcp import Client, StdioServerParameters

JOB = pathlib.Path(__file__).resolve().parents[2] / "cli" / "job"
TOOLS = ["status", "history", "explain", "space", "propose_settings", "propose_patch", "run", "wait", "promote", "results"]
FORBIDDEN = ("apply", "accept", "init", "doctor", "contract", "lock")


def new_job(folder: pathlib.Path, infrarsi: str) -> dict[str, str]:
    """The fixture in a fresh repository with its reference measured; the environment that belongs to it."""
    shutil.copytree(JOB, folder / "repo")
    (folder / "home").mkdir()
    (folder / "repo" / ".gitignore").write_text("train\n")
    own = {"HOME": str(folder / "home"), "XDG_STATE_HOME": str(folder / "state"), "XDG_DATA_HOME": str(folder / "data")}

    def call(*words: str) -> None:
        done = subprocess.run(words, cwd=folder / "repo", env=os.environ | own, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(words)}: {done.stdout}{done.stderr}")

    call("git", "init", "-q", ".")
    call("git", "config", "user.name", "Tester")
    call("git", "config", "user.email", "tester@example.org")
    call("git", "add", "-A")
    call("git", "commit", "-q", "-m", "start")
    call(infrarsi, "init")
    call(infrarsi, "doctor", "--seed", "7")
    return own


async def call(client: Client, tool: str, **arguments):
    result = await client.call_tool(tool, arguments)
    text = "\n".join(block.text for block in result.content)
    assert not result.is_error, f"{tool}: {text}"
    assert text.strip(), f"{tool} says nothing"
    return result.structured_content


async def refused(client: Client, tool: str, expected: str, **arguments) -> None:
    result = await client.call_tool(tool, arguments)
    text = "\n".join(block.text for block in result.content)
    assert result.is_error and expected in text, f"{tool}: expected an error with {expected!r}, got: {text}"


async def until_idle(client: Client) -> list[dict]:
    trials = []
    for _ in range(20):
        news = await call(client, "wait", seconds=50)
        trials += news["trials"]
        if not news["at_work"]:
            assert news["run_ended"]["exit_code"] == 0, news
            return trials
    raise AssertionError("the run does not end")


async def check_tools(client: Client) -> None:
    tools = (await client.list_tools()).tools
    assert [t.name for t in tools] == TOOLS, tools
    assert not [t.name for t in tools if t.name.startswith(FORBIDDEN)]
    for tool in tools:
        assert tool.description and tool.title
        Draft202012Validator.check_schema(tool.input_schema)


async def campaign(client: Client) -> None:
    await check_tools(client)
    assert (await call(client, "status"))["stage"] == "ready"
    space = await call(client, "space")
    assert {k["name"] for k in space["knobs"]} == {"algorithm", "micro_batch", "cache", "define", "mode"}
    await refused(client, "propose_settings", "did you mean 'algorithm'", settings={"algoritm": "quick"})
    await refused(client, "propose_patch", "A3", name="skips", diff=(JOB / "patches/02-every-other-step.diff").read_text())
    await refused(client, "run", "8 are left", trials=9)
    await call(client, "propose_settings", settings={"algorithm": "careful"}, measure=True)
    await call(client, "propose_settings", settings={"algorithm": "quick", "define": "-DSHORT"}, measure=True, speedup=2)
    await call(client, "run", trials=2)
    trials = await until_idle(client)
    # What was asked for, in that order: one that is known to be slower, one that is known to be faster.
    assert [t["trial"] for t in trials] == [1, 2], trials
    assert trials[0]["changes"] == {"algorithm": "careful"}, trials
    assert trials[1]["changes"] == {"algorithm": "quick", "define": "-DSHORT"}, trials
    assert [t["status"] for t in trials] == ["valid", "valid"], trials
    assert trials[0]["speedup"] < 1 < trials[1]["speedup"], trials
    assert (await call(client, "history"))["trials"] == trials
    assert (await call(client, "explain", trial=2))["trial"] == 2
    beliefs = await call(client, "explain")
    assert beliefs["incumbent"]["trial"] == 2, beliefs["incumbent"]
    await call(client, "promote")
    await until_idle(client)
    results = await call(client, "results")
    assert results["promoted"] and results["delivered"] > 1.5, results


async def in_era(infrarsi: str, mode: str, revision: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        own = new_job(folder, infrarsi)
        server = StdioServerParameters(command=infrarsi, args=["mcp", "--accept-noise"], env=own, cwd=folder / "repo")
        async with Client(server, mode=mode, read_timeout_seconds=90) as client:
            assert client.protocol_version == revision, client.protocol_version
            assert client.server_info.name == "infrarsi"
            assert "propose" in client.instructions
            await campaign(client)
        result = json.loads((folder / "repo/.infrarsi/result.json").read_text())
        assert result["promoted"], result
        print(f"{mode}: revision {revision}, delivered {result['delivered']:.2f}x")


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    infrarsi = os.path.realpath(sys.argv[1])
    asyncio.run(in_era(infrarsi, "auto", "2026-07-28"))
    asyncio.run(in_era(infrarsi, "legacy", "2025-11-25"))


main()
