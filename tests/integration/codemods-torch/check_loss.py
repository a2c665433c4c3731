"""Losses of language models in the spellings that people use: rewritten by `infrarsi codemods --only chunked-loss`, applied,
and run beside the original in double precision and under bf16. Those that need the logits must be left alone."""
import pathlib
import tempfile

import torch

import rewriting
from rewriting import load, verdict

WIDTH, WORDS, ROWS = 12, 40, (3, 700)  # more rows than two parts have, and no multiple of them
PROGRAM = """import contextlib
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.vocab_size = 40
        self.verbose = False
        self.norm = nn.LayerNorm(12)
        self.head = nn.Linear(12, self.vocab_size)
        self.head_dim = 3
{init}
    def forward(self, x, targets=None):
{body}
"""
LOGITS = "logits = self.head(self.norm(x))"
LOSS = "loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))"
SAME = {  # name: (init, body)
    "nanoGPT": ("", [LOGITS, LOSS, "return loss"]),
    "returned at once": ("", [LOGITS, "return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))"]),
    "no variable": ("", ["return F.cross_entropy(self.head(x).view(-1, self.vocab_size), targets.flatten())"]),
    "as floats": ("", ["logits = self.head(x).float()", LOSS, "return loss"]),
    "as floats in the loss": ("", [LOGITS, "return F.cross_entropy(logits.float().reshape(-1, logits.size(2)), targets.reshape(-1))"]),
    "flattened": ("", [LOGITS, "return F.cross_entropy(logits.flatten(0, 1), targets.flatten())"]),
    "some are ignored": ("", [LOGITS, "return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=3)"]),
    "where there are targets": ("", [LOGITS, "loss = None", "if targets is not None:", "    " + LOSS, "return loss"]),
    "where there are none": ("", [LOGITS, "if targets is None:", "    loss = None", "else:", "    # the usual one", "    " + LOSS, "return loss"]),
    "a weight that is shared": ("        self.words = nn.Embedding(40, 12)\n        self.head.weight = self.words.weight\n", [LOGITS, LOSS, "return loss"]),
    "without a bias": ("        self.last = nn.Linear(12, 40, bias=False)\n", ["logits = self.last(x)", LOSS, "return loss"]),
    "the loss goes on": ("", [LOGITS, "return 0.5 * F.cross_entropy(logits.view(-1, self.vocab_size), targets.view(-1)) + x.mean()"]),
    "ignored by a name": ("", [LOGITS, "pad = 3", "return F.cross_entropy(logits.view(-1, self.vocab_size), targets.view(-1), ignore_index=pad)"]),
    "over several lines": ("", ["logits = self.head(x +", "                   self.norm(x))", LOSS, "return loss"]),
    "in black's style": ("", ["logits = self.head(", "    # as it is", "    x.transpose(1, 2)", "    .transpose(1, 2)", ")", LOSS, "return loss"]),
    "with a name in it": ("", ["logits = self.head(h := self.norm(x))", LOSS, "return loss + h.mean()"]),
    "with remarks": ("", [LOGITS, "return F.cross_entropy(", "    logits.view(-1, self.vocab_size),  # (B * T, V)", "    targets.view(-1),  # (B * T)", "    reduction='mean')"]),
    "two conditions": ("", [LOGITS, "loss = None", "if targets is not None and self.training:", "    " + LOSS, "return loss"]),
    "targets laid out anew": ("", [LOGITS, "return F.cross_entropy(logits.view(-1, self.vocab_size), targets.contiguous().view(-1))"]),
    "a mark on the layer": ("        self.head.SKIP_INIT = 1\n        nn.init.normal_(self.head.weight)\n", [LOGITS, LOSS, "return loss"]),
}
LEFT_ALONE = {
    "the logits are returned": ("", [LOGITS, LOSS, "return logits, loss"]),
    "the logits are looked at": ("", [LOGITS, LOSS, "print(logits.mean())", "return loss"]),
    "a condition on the logits": ("", [LOGITS, LOSS, "return loss if logits.isfinite().all() else None"]),
    "a soft cap": ("", ["logits = 30 * torch.tanh(self.head(x) / 30)", LOSS, "return loss"]),
    "logits made twice": ("", [LOGITS, "logits = self.head(x)", LOSS, "return loss"]),
    "another layer": ("        self.head = nn.Sequential(nn.Linear(12, 40), nn.Dropout(0.1))\n", [LOGITS, LOSS, "return loss"]),
    "perhaps another layer": ("        if self.verbose:\n            self.head = nn.Identity()\n", [LOGITS, LOSS, "return loss"]),
    "a function": ("", ["head = self.head", "logits = head(x)", LOSS, "return loss"]),
    "smoothed": ("", [LOGITS, "return F.cross_entropy(logits.view(-1, self.vocab_size), targets.view(-1), label_smoothing=0.1)"]),
    "summed": ("", [LOGITS, "return F.cross_entropy(logits.view(-1, self.vocab_size), targets.view(-1), reduction='sum')"]),
    "weighted": ("", [LOGITS, "return F.cross_entropy(logits.view(-1, self.vocab_size), targets.view(-1), torch.ones(40))"]),
    "ignored by a call": ("", [LOGITS, "return F.cross_entropy(logits.view(-1, self.vocab_size), targets.view(-1), ignore_index=self.pad())"]),
    "other rows": ("        self.wide = nn.Linear(12, 80)\n", ["logits = self.wide(x)", "return F.cross_entropy(logits.view(-1, self.vocab_size), torch.stack([targets] * 2, -1).view(-1))"]),
    "several vocabularies": ("        self.wide = nn.Linear(12, 2 * self.vocab_size)\n", ["logits = self.wide(x)", "return F.cross_entropy(logits.view(-1, self.vocab_size), torch.stack([targets] * 2, -1).view(-1))"]),
    "a condition that changes something": ("", [LOGITS, "loss = None", "if x.mul_(2) is not None:", "    " + LOSS, "return loss"]),
    "a condition that names something": ("", [LOGITS, "loss = None", "if (n := self.norm(x)) is not None:", "    " + LOSS, "return loss"]),
    "a factor that may change something": ("", [LOGITS, "return self.renorm() * F.cross_entropy(logits.view(-1, self.vocab_size), targets.view(-1))"]),
    "a choice that may change something": ("", [LOGITS, "return F.cross_entropy(logits.view(-1, self.vocab_size), targets.view(-1)) if self.renorm() else None"]),
    "targets that may change something": ("", [LOGITS, "return F.cross_entropy(logits.view(-1, self.vocab_size), self.targets_of(x).view(-1))"]),
    "the logits by name": ("", [LOGITS, LOSS, "print(locals()['logits'])", "return loss"]),
    "made in two branches": ("", ["if targets is None:", "    logits = self.head(x[:, -1:])", "    return None", LOGITS, LOSS, "return loss"]),
    "arguments from elsewhere": ("", ["logits = self.head(**dict(input=x))", LOSS, "return loss"]),
    "a hook": ("        self.head.register_forward_hook(print)\n", [LOGITS, LOSS, "return loss"]),
    "given to a function": ("        wrap(self)\n        change(self.head)\n", [LOGITS, LOSS, "return loss"]),
    "set by name": ("        setattr(self, 'head', nn.Sequential(nn.Dropout(0.5), self.head))\n", [LOGITS, LOSS, "return loss"]),
    "a weight that is worked out": ("        nn.utils.parametrizations.spectral_norm(self.head)\n", [LOGITS, LOSS, "return loss"]),
    "shifted": ("", [LOGITS, "return F.cross_entropy(logits[:, :-1].reshape(-1, 40), targets[:, 1:].reshape(-1))"]),
    "not flat": ("", [LOGITS, "return F.cross_entropy(logits.transpose(1, 2), targets)"]),
    "what it is made of changes": ("", ["logits = self.head(x)", "x += 1", LOSS, "return loss"]),
    "something happens": ("", [LOGITS, "x = self.norm(x)", LOSS, "return loss"]),
    "in a loop": ("", [LOGITS, "for _ in range(2):", "    " + LOSS, "return loss"]),
    "in another context": ("", [LOGITS, "with contextlib.nullcontext():", "    " + LOSS, "return loss"]),
    "a condition that may do something": ("", [LOGITS, "if self.train():", "    " + LOSS, "return loss"]),
    "in a lambda": ("", [LOGITS, "f = lambda: F.cross_entropy(logits.view(-1, self.vocab_size), targets.view(-1))", "return f()"]),
    "in a comprehension": ("", [LOGITS, "return [F.cross_entropy(logits.view(-1, self.vocab_size), targets.view(-1)) for _ in range(2)][0]"]),
    "made under a condition": ("", ["if self.verbose:", "    logits = self.head(x)", "return F.cross_entropy(logits.view(-1, self.vocab_size), targets.view(-1))"]),
    "the name is taken": ("", ["cross_entropy_in_parts = 1", LOGITS, LOSS, "return loss"]),
}


def write(folder, name, init, body):
    path = folder / f"{name}.py"
    path.write_text(PROGRAM.format(init=init, body="\n".join("        " + line for line in body)))
    return path


def run(path, targets, dtype):
    """The loss, and its gradients of the input and of all parameters."""
    torch.manual_seed(7)
    model = load(path).Model().to(torch.float64 if dtype is torch.float64 else torch.float32)
    x = torch.randn(*ROWS, WIDTH, dtype=next(model.parameters()).dtype, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16, enabled=dtype is torch.bfloat16):
        loss = model(x, targets)
    given = [x, *model.parameters()]
    return [loss, *torch.autograd.grad(loss, given, allow_unused=True)]


def distance(a, b):
    if a is None or b is None:
        return 0.0 if a is b else float("inf")
    if a.isnan().all() and b.isnan().all():
        return 0.0
    return ((a - b).abs().max() / a.abs().max().clamp(min=1e-300)).item()


def compare(before, after, targets, dtype):
    return max(distance(a, b) for a, b in zip(run(before, targets, dtype), run(after, targets, dtype)))


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    targets = torch.randint(WORDS, ROWS, generator=torch.Generator().manual_seed(1))
    for i, (name, (init, body)) in enumerate(SAME.items()):
        before = write(folder, f"before{i}", init, body)
        after = rewriting.apply(before, "chunked-loss", folder / f"after{i}.py")
        if not after:
            verdict(False, name, f"not rewritten: {rewriting.codemods(before, 'chunked-loss')['refusals']}")
            continue
        error = compare(before, after, targets, torch.float64)
        # The original then rounds to single precision, the parts stay in double.
        allowed = 1e-6 if any(".float()" in line for line in body) else 1e-12
        verdict(error < allowed, name, f"differs by {error}\n{after.read_text()}")
        error = compare(before, after, targets, torch.bfloat16)
        verdict(error < 0.02, f"{name}, under bf16", f"differs by {error}")
    before = write(folder, "nothing", "", [LOGITS, LOSS, "return loss"])
    after = rewriting.apply(before, "chunked-loss", folder / "nothing_after.py")
    verdict(compare(before, after, torch.full(ROWS, -100), torch.float64) == 0, "every target ignored: not a number, as before")
    for i, (name, (init, body)) in enumerate(LEFT_ALONE.items()):
        proposals = rewriting.codemods(write(folder, f"alone{i}", init, body), "chunked-loss")["proposals"]
        verdict(not proposals, f"left alone: {name}", proposals[0]["diff"] if proposals else "")
    # The layer is replaced, the class has children, nn is somebody else's, a remark behind something else.
    outside = {"replaced": ("", "\n\ndef lora(model):\n    model.head = Lora(model.head)\n"),
               "a subclass": ("", "\n\nclass B(Model):\n    def __init__(self):\n        super().__init__()\n        self.head = nn.Identity()\n"),
               "another forward": ("", "\n\ndef quantise(m):\n    m.forward = lambda x: x\n"),
               "another nn": ("import torch.nn as nn", "")}
    for name, (gone, added) in outside.items():
        path = write(folder, "outside", "", [LOGITS, LOSS, "return loss"])
        path.write_text((path.read_text().replace(gone, "import mynn as nn") if gone else path.read_text()) + added)
        verdict(not rewriting.codemods(path, "chunked-loss")["proposals"], f"left alone: {name}")
    for remark in ("import torch.nn.functional as F  # noqa\nclass", "SIZE = 3  # words\n# of one kind\nclass"):
        path = write(folder, "remark", "", [LOGITS, LOSS, "return loss"])
        path.write_text(path.read_text().replace("\n\nclass", "\n" + remark))
        after = rewriting.apply(path, "chunked-loss", folder / "remark_after.py")
        verdict(compare(path, after, targets, torch.float64) < 1e-12, f"a remark: {remark!r}")
    # Bytes: -100 is 156 in them.
    path = write(folder, "bytes", "        self.head = nn.Linear(12, 256)\n", [LOGITS, LOSS, "return loss"])
    path.write_text(path.read_text().replace("        self.head = nn.Linear(12, self.vocab_size)\n", ""))
    after = rewriting.apply(path, "chunked-loss", folder / "bytes_after.py")
    verdict(compare(path, after, torch.full(ROWS, 156, dtype=torch.uint8), torch.float64) < 1e-12, "bytes for targets")
    for word in ("FSDP", "fully_shard", "deepspeed", "CUDAGraph"):
        path = write(folder, "outside", "", [LOGITS, LOSS, "return loss"])
        path.write_text(path.read_text() + f"\n\nfrom somewhere import {word}\n")
        verdict(not rewriting.codemods(path, "chunked-loss")["proposals"], f"left alone: {word}")

    # What it is for: the largest tensors that autograd keeps are no logits of all tokens any more.
    largest = []
    for path in (before, after):
        kept = []
        model = load(path).Model()
        with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.numel()) or t, lambda t: t):
            model(torch.randn(*ROWS, WIDTH), targets)
        largest.append(max(kept))
    verdict(largest[0] >= ROWS[0] * ROWS[1] * WORDS > 2 * largest[1], "less is kept for the gradient", str(largest))
rewriting.close("chunked-loss")
