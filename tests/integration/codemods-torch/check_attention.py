"""Attention in the spellings that people use: rewritten by `infrarsi codemods --only sdpa`, applied, and run beside the
original in double precision. Those that mean something else must be left alone."""
import pathlib
import tempfile

import torch

import rewriting
from rewriting import load, verdict

HEAD = """import math
import torch
import torch.nn as nn
import torch.nn.functional as F


def causal(T):
    mask = torch.tril(torch.ones(T, T))
    return mask


class Attention(nn.Module):
    def __init__(self, T, head_dim):
        super().__init__()
        self.head_dim = head_dim
        self.attn_dropout = nn.Dropout(0.1)
        self.other_dropout = nn.Dropout2d(0.1)
        self.maybe_dropout = nn.Dropout(0.1) if T else nn.Identity()
        self.use = True
        self.p = 0.1
{init}
    def forward(self, q, k, v, mask=None):
        T = q.size(-2)
{body}
"""
LOWER = 'self.register_buffer("bias", torch.tril(torch.ones(T, T)).view(1, 1, T, T))'
UPPER = "self.later = torch.triu(torch.ones(T, T), diagonal=1).bool()"
SCALE = "att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))"
MASK = "att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float('-inf'))"
SOFTMAX = "att = F.softmax(att, dim=-1)"
OUT = "return att @ v"

SAME = {  # name: (init, body)
    "nanoGPT": (LOWER, [SCALE, MASK, SOFTMAX, "att = self.attn_dropout(att)", "y = att @ v", "y = y.transpose(1, 2).contiguous()", "return y"]),
    "no mask": ("", [SCALE, SOFTMAX, OUT]),
    "divided by the root": (LOWER, ["att = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))", MASK, SOFTMAX, OUT]),
    "to the power": (LOWER, ["att = (q @ k.transpose(-1, -2)) * k.shape[-1] ** -0.5", MASK, SOFTMAX, OUT]),
    "head_dim": (LOWER, ["att = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.head_dim)", MASK, SOFTMAX, "return torch.matmul(att, v)"]),
    "head_dim ** 0.5": (LOWER, ["att = q @ k.mT / (self.head_dim ** 0.5)", MASK, SOFTMAX, OUT]),
    "a scale of its own": ("self.scale = 2.0 * head_dim ** -0.5", ["scores = (q @ k.transpose(-2, -1)) * self.scale", "attn = scores.softmax(dim=-1)", "attn = self.attn_dropout(attn)", "x = (attn @ v).transpose(1, 2)", "return x.reshape(x.shape[0], T, -1)"]),
    "the scale first": ("self.scale = head_dim ** -0.5", ["scores = self.scale * (q @ k.transpose(-2, -1))", "return torch.softmax(scores, -1) @ v"]),
    "a number": ("", ["att = (q @ k.transpose(-2, -1)) * 0.125", SOFTMAX, OUT]),
    "no scale": ("", ["att = q @ k.transpose(-2, -1)", SOFTMAX, OUT]),
    "a scale by itself": (LOWER, ["d_k = q.size(-1)", "scores = torch.matmul(q, k.transpose(-2, -1))", "scores = scores / math.sqrt(d_k)", "scores = scores.masked_fill(self.bias[:, :, :T, :T] == 0, -1e9)", "weights = torch.softmax(scores, dim=-1)", "out = torch.matmul(weights, v)", "return out"]),
    "upper triangle": (UPPER, [SCALE, "att = att.masked_fill(self.later[:T, :T], float('-inf'))", SOFTMAX, OUT]),
    "lower triangle inverted": ("self.register_buffer('ok', torch.tril(torch.ones(T, T, dtype=torch.bool)))", [SCALE, "att = att.masked_fill(~self.ok[:T, :T], -math.inf)", SOFTMAX, OUT]),
    "in place": (LOWER, [SCALE, "att.masked_fill_(self.bias[:, :, :T, :T] == 0, torch.finfo(att.dtype).min)", SOFTMAX, OUT]),
    "made where it is used": ("", ["later = torch.triu(torch.ones(T, T), diagonal=1)", SCALE, "att = att.masked_fill(later == 1, float('-inf'))", SOFTMAX, OUT]),
    "made in the call": ("", [SCALE, "att = att.masked_fill(torch.tril(torch.ones(T, T)) == 0, float('-inf'))", SOFTMAX, OUT]),
    "added": ("self.register_buffer('low', torch.triu(torch.full((T, T), float('-inf')), diagonal=1))", [SCALE, "att = att + self.low[:T, :T]", SOFTMAX, OUT]),
    "in one line": ("", ["return F.softmax((q @ k.transpose(-2, -1)) / math.sqrt(q.size(-1)), dim=-1) @ v"]),
    "dropout around the softmax": (LOWER, [SCALE, MASK, "att = self.attn_dropout(F.softmax(att, dim=-1))", "y = att @ v", "return y"]),
    "dropout as a function": (LOWER, [SCALE, MASK, SOFTMAX, "att = F.dropout(att, p=self.p, training=self.training)", OUT]),
    "right behind return": ("", [SCALE, SOFTMAX, "return(att @ v)"]),
    "sizes unpacked": ("", ["B, H, T, hs = q.size()", "att = q @ k.transpose(-2, -1)", "att = att / hs ** 0.5", SOFTMAX, OUT]),
    "an earlier product that is not used": ("", ["s = q @ k.transpose(-2, -1) / 8", "return F.softmax(q @ q.transpose(-2, -1), dim=-1) @ v"]),
    "over another variable": (LOWER, [SCALE, "masked = att.masked_fill(self.bias[:, :, :T, :T] == 0, float('-inf'))", "probs = F.softmax(masked, dim=-1)", "return (probs @ v)"]),
}
LEFT_ALONE = {
    "a mask from elsewhere": (LOWER, [SCALE, "att = att.masked_fill(mask == 0, float('-inf'))", SOFTMAX, OUT]),
    "a triangle that is changed": ("", ["later = torch.triu(torch.ones(T, T), diagonal=1)", "later[:, 0] = 0", SCALE, "att = att.masked_fill(later == 1, float('-inf'))", SOFTMAX, OUT]),
    "a triangle and something more": ("", ["ok = torch.tril(torch.ones(T, T))", "ok *= mask", SCALE, "att = att.masked_fill(ok == 0, float('-inf'))", SOFTMAX, OUT]),
    "the diagonal masked, too": ("", ["later = torch.triu(torch.ones(T, T))", SCALE, "att = att.masked_fill(later == 1, float('-inf'))", SOFTMAX, OUT]),
    "the other triangle": (LOWER, [SCALE, "att = att.masked_fill(self.bias[:, :, :T, :T] == 1, float('-inf'))", SOFTMAX, OUT]),
    "a small number for the mask": (LOWER, [SCALE, "att = att.masked_fill(self.bias[:, :, :T, :T] == 0, -1.0)", SOFTMAX, OUT]),
    "a learnt scale": ("self.scale = nn.Parameter(torch.ones(1))", ["att = (q @ k.transpose(-2, -1)) * self.scale", SOFTMAX, OUT]),
    "a bias of positions": ("self.slopes = nn.Parameter(torch.zeros(T, T))", [SCALE, "att = att + self.slopes", SOFTMAX, OUT]),
    "the weights are returned": (LOWER, [SCALE, MASK, SOFTMAX, "y = att @ v", "return y, att"]),
    "another dimension": ("", [SCALE, "att = F.softmax(att, dim=-2)", OUT]),
    "in another precision": ("", [SCALE, "att = F.softmax(att, dim=-1, dtype=torch.float32)", OUT]),
    "something in between": ("", [SCALE, "att = att - att.mean()", SOFTMAX, OUT]),
    "a mask that was unpacked": ("", ["q, mask = mask", SCALE, "att = att.masked_fill(mask == 0, float('-inf'))", SOFTMAX, OUT]),
    "a mask of a loop": ("", ["for mask in [mask]:", "    pass", SCALE, "att = att.masked_fill(mask == 0, float('-inf'))", SOFTMAX, OUT]),
    "rows from the end": (LOWER, [SCALE, "att = att.masked_fill(self.bias[:, :, 16 - T:16, :T] == 0, float('-inf'))", SOFTMAX, OUT]),
    "one row": (LOWER, [SCALE, "att = att.masked_fill(self.bias[:, :, T - 1, :T] == 0, float('-inf'))", SOFTMAX, OUT]),
    "every other row": (LOWER, [SCALE, "att = att.masked_fill(self.bias[:, :, :2 * T:2, :T] == 0, float('-inf'))", SOFTMAX, OUT]),
    "rows and columns cut apart": (LOWER, ["S = k.size(-2)", SCALE, "att = att.masked_fill(self.bias[:, :, :T, :S] == 0, float('-inf'))", SOFTMAX, OUT]),
    "a shifted triangle": ("", ["later = torch.tril(torch.ones(T + 1, T + 1))[1:, :-1]", SCALE, "att = att.masked_fill(later == 0, float('-inf'))", SOFTMAX, OUT]),
    "heads in between": ("self.register_buffer('bias', torch.tril(torch.ones(T, T)).view(1, T, 1, T))", [SCALE, "att = att.masked_fill(self.bias == 0, float('-inf'))", SOFTMAX, OUT]),
    "one row of ones": ("", ["row = torch.tril(torch.ones(1, T))", SCALE, "att = att.masked_fill(row == 0, float('-inf'))", SOFTMAX, OUT]),
    "a triangle multiplied in place": ("", ["ok = torch.tril(torch.ones(T, T))", "ok.mul_(mask)", SCALE, "att = att.masked_fill(ok == 0, float('-inf'))", SOFTMAX, OUT]),
    "a triangle by another name": ("", ["ok = torch.tril(torch.ones(T, T))", "m2 = ok", "m2[:, 0] = 0", SCALE, "att = att.masked_fill(ok == 0, float('-inf'))", SOFTMAX, OUT]),
    "a buffer that is filled elsewhere": (LOWER + "\n        self.bias.fill_(1)", [SCALE, MASK, SOFTMAX, OUT]),
    "a buffer that is set by name": (LOWER + '\n        setattr(self, "bias", torch.ones(T, T))', [SCALE, MASK, SOFTMAX, OUT]),
    "another dropout": ("", [SCALE, SOFTMAX, "att = self.other_dropout(att)", OUT]),
    "a dropout that may be none": ("", [SCALE, SOFTMAX, "att = self.maybe_dropout(att)", OUT]),
    "a dropout under a condition": ("", [SCALE, SOFTMAX, "att = F.dropout(att, p=self.p if self.use else 0.0, training=self.training)", OUT]),
    "another product in between": ("", ["att = q @ k.transpose(-2, -1) * 0.5", "att = k @ q.transpose(-2, -1)", SOFTMAX, OUT]),
    "in a comprehension": ("", [SCALE, SOFTMAX, "return {k: att @ v for k, v in {'a': v}.items()}"]),
    "in a lambda": ("", [SCALE, SOFTMAX, "f = lambda q: att @ v", "return f(q)"]),
    "the scores as values": ("", [SCALE, "probs = F.softmax(att, dim=-1)", "return probs @ att"]),
    "a width that goes away": ("", ["att = q @ k.transpose(-2, -1)", "att = att / math.sqrt(att.size(-1))", SOFTMAX, OUT]),
    "a scale that is a tensor": ("", ["s = q.std() ** 0.5", "att = (q @ k.transpose(-2, -1)) * s", SOFTMAX, OUT]),
    "a scale that is multiplied": ("", ["s = 8 ** -0.5", "s *= q.mean()", "att = (q @ k.transpose(-2, -1)) * s", SOFTMAX, OUT]),
    "a power of a parameter": ("self.g = nn.Parameter(torch.ones(1))", ["att = (q @ k.transpose(-2, -1)) * self.g ** 0.5", SOFTMAX, OUT]),
}


def write(folder, name, init, body):
    path = folder / f"{name}.py"
    path.write_text(HEAD.format(init="".join(f"        {line}\n" for line in [init] if line),
                                body="\n".join("        " + line for line in body)))
    return path


def codemods(path):
    return rewriting.codemods(path, "sdpa")


torch.manual_seed(7)
with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    for i, (name, (init, body)) in enumerate(SAME.items()):
        before = write(folder, f"before{i}", init, body)
        after = rewriting.apply(before, "sdpa", folder / f"after{i}.py")
        if not after:
            verdict(False, name, f"not rewritten: {codemods(before)['refusals']}")
            continue
        q, k, v = (torch.randn(2, 3, 10, 8, dtype=torch.float64, requires_grad=True) for _ in range(3))
        results = []
        for path in (before, after):
            model = load(path).Attention(16, 8).double().eval()
            y = model(q, k, v)
            results.append((y, *torch.autograd.grad(y.square().sum() + 0 * sum(x.sum() for x in (q, k, v)), (q, k, v))))
        error = max((a - b).abs().max().item() for a, b in zip(*results))
        text = after.read_text()
        verdict(error < 1e-12 and "softmax" not in text.split("def forward")[1], name, f"differs by {error}\n{text}")
    for i, (name, (init, body)) in enumerate(LEFT_ALONE.items()):
        proposals = codemods(write(folder, f"alone{i}", init, body))["proposals"]
        verdict(not proposals, f"left alone: {name}", proposals[0]["diff"] if proposals else "")
    # What torch's module is called.
    body = "\n".join("    " + line for line in [SCALE, SOFTMAX, OUT])
    for imports, wanted in (("import torch.nn.functional as F", "F."), ("from torch import nn\nimport torch.nn.functional as F", "F."),
                            ("import torch\nimport torch.nn.functional as F", "torch.nn.functional."),
                            ("import mylib as F", None), ("import torch as t\nimport mylib as F", None)):
        path = folder / "imports.py"
        path.write_text(f"import math\n{imports}\n\n\ndef f(q, k, v):\n{body}\n")
        diffs = [p["diff"] for p in codemods(path)["proposals"]]
        verdict(not diffs if wanted is None else bool(diffs) and f" {wanted}scaled_dot" in diffs[0], f"imports: {imports!r}", str(diffs))
    # A subclass with a mask of its own; a member that is replaced from outside.
    for tail in ("class B(Attention):\n    def __init__(self):\n        super().__init__(4, 4)\n        self.register_buffer('bias', None)\n",
                 "a = Attention(4, 4)\na.bias = torch.ones(4, 4)\n"):
        path = write(folder, "outside", LOWER, [SCALE, MASK, SOFTMAX, OUT])
        path.write_text(path.read_text() + "\n\n" + tail)
        verdict(not codemods(path)["proposals"], f"left alone: {tail.splitlines()[0]}")
    deep = folder / "deep.py"
    deep.write_text("import torch\ndef f(a):\n    x = softmax(" + " + ".join(["a"] * 30000) + ")\n    return x\n")
    verdict(not codemods(deep)["proposals"], "left alone: a sum of 30,000 terms")
rewriting.close("sdpa")
