"""A real model proposes: campaigns on the test suite's small job with llama.cpp's server as their proposer. The model is
small and its answers are weak: what is tested is the protocol, the schema, the budget and the recovery, and that no
answer costs a trial.

    campaign.py INFRARSI MODEL [LLAMA_SERVER]        `run` beside it finds them
"""

import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
JOB = HERE.parents[1] / "cli" / "job"
KNOBS = {"algorithm": ["plain", "quick", "careful"], "micro_batch": ["1", "2", "4"], "cache": ["off", "on"],
         "define": ["-DLONG", "-DSHORT"], "mode": ["normal", "broken"]}  # the task file's
CONTEXT_TOKENS, SMALL_CONTEXT_TOKENS = 4096, 512  # a question is of 1,300 tokens or so
MAX_OUTPUT_TOKENS = 300
BUDGET_TOKENS = 60_000
PR_SET_PDEATHSIG = 1
LIMIT_S = 3600  # of anything: far beyond what a busy machine needs
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def dies_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Server:
    """llama.cpp's server on one port, which stays its own over restarts."""

    def __init__(self, model: str, program: str | None, log: pathlib.Path):
        self.model, self.program, self.log = model, program, log
        self.process: subprocess.Popen | None = None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]

    def start(self, context_tokens: int) -> None:
        words = [sys.executable, str(HERE / "serve.py"), self.model, str(self.port), str(context_tokens)]
        if self.program:
            words = [self.program, "--model", self.model, "--host", "127.0.0.1", "--port", str(self.port), "--seed", "7",
                     "--ctx-size", str(context_tokens), "--parallel", "1", "--threads", "1", "--cache-ram", "0", "--metrics"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL, preexec_fn=dies_with_parent)
        wait_until(self.is_healthy, "the server to load the model")

    def is_healthy(self) -> bool:
        assert self.process.poll() is None, f"the server ended by itself:\n{self.log.read_text(errors='replace')[-3000:]}"
        try:
            return json.load(OPENER.open(self.address("/health"), timeout=5))["status"] == "ok"
        except (OSError, ValueError):
            return False

    def address(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def counted(self) -> dict[str, int]:
        """What the server itself counts, since it was started."""
        text = OPENER.open(self.address("/metrics"), timeout=60).read().decode()
        return {name: int(float(value)) for name, value in re.findall(r"^llamacpp:(\w+_total) (\S+)$", text, re.M)}

    def kill(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


class Campaign:
    def __init__(self, folder: pathlib.Path, infrarsi: str, server: Server):
        self.repo, self.infrarsi, self.server = folder / "repo", infrarsi, server
        shutil.copytree(JOB, self.repo)
        (folder / "home").mkdir()
        self.environment = os.environ | {"HOME": str(folder / "home"), "XDG_STATE_HOME": str(folder / "state"),
                                         "XDG_DATA_HOME": str(folder / "data"), "LC_ALL": "C"}
        (self.repo / ".gitignore").write_text("train\n")
        self.ask_within(BUDGET_TOKENS)
        for words in (["git", "init", "-q", "."], ["git", "config", "user.name", "Tester"],
                      ["git", "config", "user.email", "tester@example.org"], ["git", "add", "-A"],
                      ["git", "commit", "-q", "-m", "start"], [infrarsi, "init"],
                      [infrarsi, "doctor", "--seed", "7", "--hurry"]):
            self.call(words)

    def ask_within(self, budget_tokens: int) -> None:
        proposer = {"kind": "openai", "name": "local-model", "base_url": self.server.address("/v1"), "model": "smollm2",
                    "max_output_tokens": MAX_OUTPUT_TOKENS, "timeout": "20m", "every": 2, "patches": 0,
                    "budget": {"tokens": budget_tokens}}
        task = self.repo / "infrarsi.yaml"
        kept = [line for line in task.read_text().splitlines() if not line.startswith(("proposers:", "budget:"))]
        task.write_text("\n".join([*kept, f"proposers: [{json.dumps(proposer)}]", "budget: {trials: 20}", ""]))

    def begin(self, words: list[str]) -> subprocess.Popen:
        return subprocess.Popen(words, cwd=self.repo, env=self.environment, text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=dies_with_parent)

    def end(self, process: subprocess.Popen) -> str:
        output, _ = process.communicate(timeout=LIMIT_S)
        assert process.returncode == 0, f"{' '.join(process.args)}: exit code {process.returncode}\n{output}"
        return output

    def call(self, words: list[str]) -> str:
        return self.end(self.begin(words))

    def search(self, trials: int) -> list[str]:
        return [self.infrarsi, "run", "--accept-noise", "--search-only", "--trials", str(trials)]

    def entries(self, kind: str) -> list[dict]:
        with sqlite3.connect(f"file:{self.repo}/.infrarsi/ledger.db?mode=ro", uri=True, timeout=60) as ledger:
            return [json.loads(body) for (body,) in
                    ledger.execute("select body from entry where kind = ? order by id", (kind,))]

    def answers(self) -> list[dict]:
        return [e for e in self.entries("proposal") if e["kind"] == "answer"]

    def transcript(self) -> list[dict]:
        path = self.repo / ".infrarsi/transcripts/local-model.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def schema(self) -> dict:
        shown = json.loads(self.call([self.infrarsi, "prompt", "--json"]))
        return shown["body"]["response_format"]["json_schema"]["schema"]

    def tokens(self) -> int:
        return round(sum(a["cost"]["tokens"] for a in self.answers()))

    def check_books(self, trials: int) -> None:
        """As many trials as were wanted, each finished and with its receipt."""
        finished = [e for e in self.entries("finished") if e["role"] == "search"]
        assert len(finished) == len(self.entries("registered")) == trials, (len(finished), trials)
        assert not self.entries("interrupted") and not self.entries("transient")
        verified = subprocess.run([self.infrarsi, "verify"], cwd=self.repo, env=self.environment, capture_output=True, text=True)
        assert " 0 refused" in verified.stdout, verified.stdout + verified.stderr


def wait_until(condition, what: str) -> None:
    until = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < until, f"waited too long for {what}"
        time.sleep(0.1)


def misfit(value, schema: dict, place: str = "answer") -> str | None:
    """What of a value is not as the schema has it; for the words of JSON Schema that ours uses."""
    types = {"object": dict, "array": list, "string": str, "number": (int, float)}
    if not isinstance(value, types[schema["type"]]) or isinstance(value, bool):
        return f"{place} is no {schema['type']}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{place} is {value!r}"
    parts = []
    if schema["type"] == "object":
        parts = [(value[name], of, f"{place}.{name}") for name, of in schema.get("properties", {}).items() if name in value]
        others = schema.get("additionalProperties")
        if others is not None:
            parts += [(value[name], others, f"{place}.{name}") for name in value.keys() - schema.get("properties", {}).keys()]
        if missing := set(schema.get("required", [])) - value.keys():
            return f"{place} lacks {missing}"
    elif schema["type"] == "array":
        parts = [(item, schema["items"], f"{place}[{i}]") for i, item in enumerate(value)]
    return next((found for part in parts if (found := misfit(*part))), None)


def check_answer(answer: dict) -> None:
    """One that a server gave in full: good and legal, or bad and with its reason; its tokens are the server's."""
    cost = answer["cost"]
    assert cost["tokens_in"] > 0 and cost["tokens_out"] > 0 and not cost["estimated"], answer
    assert cost["attempts"] in (1, 2), answer  # the question, and once more with what was wrong
    assert answer["ok"] or answer["error"], answer
    for configuration in answer.get("configurations", []):
        settings = configuration["candidate"]["settings"]
        assert all(settings[name] in KNOBS[name] for name in settings), settings
        assert set(settings) == set(KNOBS), settings


def check_format(lines: list[dict], schema: dict) -> tuple[int, int]:
    """Every answer as it came has the schema's form; one that the limit of output cut begins so. How many of each."""
    whole = cut = 0
    for line in lines:
        try:
            value = json.loads(line["answer"])
        except ValueError:
            assert line["tokens_out"] >= MAX_OUTPUT_TOKENS, f"neither JSON nor cut: {line['answer']}"
            begun = re.match(r'\s*\{\s*"(\w+)"\s*:', line["answer"])
            assert begun and begun[1] in schema["properties"], f"no answer of this form begins so: {line['answer']}"
            cut += 1
            continue
        assert (fault := misfit(value, schema)) is None, f"{fault}: {line['answer']}"
        whole += 1
    return whole, cut


def asks_and_goes_on(campaign: Campaign, server: Server) -> str:
    output = campaign.call(campaign.search(4))
    answers = campaign.answers()
    assert output.count("asking local-model") == len(answers) >= 2, output
    assert answers[0]["after"] == 0
    for answer in answers:
        check_answer(answer)
    counted = server.counted()
    # It leaves out the part of a prompt that it remembers from the question before.
    assert sum(a["cost"]["tokens_out"] for a in answers) == counted["tokens_predicted_total"], (answers, counted)
    assert sum(a["cost"]["tokens_in"] for a in answers) >= counted["prompt_tokens_total"] > 0, (answers, counted)
    assert campaign.tokens() <= BUDGET_TOKENS
    assert len(campaign.transcript()) == len(answers)
    campaign.check_books(4)
    used = sum(a["ok"] for a in answers)
    return f"{len(answers)} questions, {used} of their answers usable, {campaign.tokens()} tokens, as the server counts them"


def keeps_to_its_budget(campaign: Campaign, server: Server) -> str:
    spent, n_answers, counted = campaign.tokens(), len(campaign.answers()), server.counted()
    campaign.ask_within(spent + MAX_OUTPUT_TOKENS)
    output = campaign.call(campaign.search(5))
    assert f"is beyond the {MAX_OUTPUT_TOKENS} that are left" in output, output
    assert len(campaign.answers()) == n_answers
    assert server.counted() == counted
    campaign.check_books(5)
    campaign.ask_within(BUDGET_TOKENS)
    return "a question that it does not allow is not sent"


def goes_on_without_its_server(campaign: Campaign, server: Server) -> str:
    n_answers = len(campaign.answers())
    process = campaign.begin(campaign.search(9))
    try:
        wait_until(lambda: len(campaign.answers()) > n_answers or process.poll() is not None, "an answer")
        server.kill()
        output = campaign.end(process)
    finally:
        process.kill()
    first, *later = campaign.answers()[n_answers:]
    check_answer(first)
    assert later and not any(a["ok"] for a in later) and all(a["error"] for a in later), later
    assert "local-model: no answer: " in output, output
    campaign.check_books(9)
    return f"all trials ran; said: {later[0]['error']}"


def comes_back(campaign: Campaign, server: Server) -> str:
    n_answers = len(campaign.answers())
    server.start(CONTEXT_TOKENS)
    campaign.call(campaign.search(10))
    answers = campaign.answers()[n_answers:]
    assert answers and answers[0]["after"] == 9, answers  # at once
    check_answer(answers[0])
    campaign.check_books(10)
    return "it is asked at once and answers"


def takes_a_refusal(campaign: Campaign, server: Server) -> str:
    server.kill()
    server.start(SMALL_CONTEXT_TOKENS)
    n_answers = len(campaign.answers())
    campaign.call(campaign.search(13))
    answers = campaign.answers()[n_answers:]
    assert answers and not any(a["ok"] for a in answers), answers
    assert all("HTTP 400" in a["error"] and "context" in a["error"] for a in answers), answers
    assert all(a["cost"]["tokens"] == 0 for a in answers), answers
    campaign.check_books(13)
    return f"said: {answers[0]['error']}"


STEPS = [("asked every two trials", asks_and_goes_on), ("its budget", keeps_to_its_budget),
         ("killed after an answer", goes_on_without_its_server), ("back again", comes_back),
         ("a context too small for the question", takes_a_refusal)]


def show(campaign: Campaign) -> None:
    lines = campaign.transcript()
    for answer in campaign.answers():
        cost = answer["cost"]
        came = " ".join(lines.pop(0)["answer"].split()) if cost["tokens"] and lines else "no reply"
        print(f"  after {answer['after']} trials, {cost['seconds']:.0f} s, {cost['tokens_in']:.0f} tokens in, "
              f"{cost['tokens_out']:.0f} out: {'usable' if answer['ok'] else answer['error'][:200]}\n    {came[:300]}")


def main() -> None:
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    infrarsi, model, program = os.path.realpath(sys.argv[1]), *sys.argv[2:], *[None][: 4 - len(sys.argv)]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    with tempfile.TemporaryDirectory() as name:
        server = Server(model, program, pathlib.Path(name) / "server.log")
        try:
            server.start(CONTEXT_TOKENS)
            campaign = Campaign(pathlib.Path(name), infrarsi, server)
            for what, step in STEPS:
                begun = time.monotonic()
                print(f"{what}: {step(campaign, server)} ({time.monotonic() - begun:.0f} s)", flush=True)
            whole, cut = check_format(campaign.transcript(), campaign.schema())
            print(f"the schema: {whole} answers have its form, {cut} were cut at {MAX_OUTPUT_TOKENS} tokens")
        finally:
            server.kill()
            if "campaign" in locals():
                show(campaign)


main()
