/* Rows of test_py_variants.c: small jobs before and after. */
#ifndef PYTHON_VARIANTS_H
#define PYTHON_VARIANTS_H

struct variant {
	const char *name, *old, *new, *expect;
};

/* clang-format off */
static const struct variant variants[] = {
	{"norm: one call for the expression",
		"import torch\n"
		"import torch.nn.functional as F\n"
		"class Norm(torch.nn.Module):\n"
		"    def forward(self, h):\n"
		"        power = h.square().mean(-1, keepdim=True)\n"
		"        return h * torch.rsqrt(power + self.tiny) * self.gain\n",
		"import torch\n"
		"import torch.nn.functional as F\n"
		"class Norm(torch.nn.Module):\n"
		"    def forward(self, h):\n"
		"        return F.rms_norm(h, self.gain.shape, self.gain, self.tiny)\n",
		"not blocked"},
	{"term of a loss dropped",
		"import torch.nn.functional as F\n"
		"def compute_loss(logits, labels, balance, cfg):\n"
		"    ce = F.cross_entropy(logits, labels)\n"
		"    total = ce + cfg.coef * balance\n"
		"    return total\n",
		"import torch.nn.functional as F\n"
		"def compute_loss(logits, labels, balance, cfg):\n"
		"    ce = F.cross_entropy(logits, labels)\n"
		"    total = ce\n"
		"    return total\n",
		"A4 block"},
	{"term of a loss cut off",
		"import torch.nn.functional as F\n"
		"def compute_loss(logits, labels, balance, cfg):\n"
		"    ce = F.cross_entropy(logits, labels)\n"
		"    total = ce + cfg.coef * balance\n"
		"    return total\n",
		"import torch.nn.functional as F\n"
		"def compute_loss(logits, labels, balance, cfg):\n"
		"    ce = F.cross_entropy(logits, labels)\n"
		"    total = ce + cfg.coef * balance.detach()\n"
		"    return total\n",
		"A3 block"},
	{"loss divided once more",
		"import torch.nn.functional as F\n"
		"def compute_loss(logits, labels, balance, cfg):\n"
		"    ce = F.cross_entropy(logits, labels)\n"
		"    total = ce / cfg.count\n"
		"    return total\n",
		"import torch.nn.functional as F\n"
		"def compute_loss(logits, labels, balance, cfg):\n"
		"    ce = F.cross_entropy(logits, labels)\n"
		"    total = ce / cfg.count / cfg.pieces\n"
		"    return total\n",
		"A8 block"},
	{"cross entropy by its parts",
		"import torch.nn.functional as F\n"
		"def compute_loss(logits, labels, balance, cfg):\n"
		"    ce = F.cross_entropy(logits, labels)\n"
		"    total = ce + cfg.coef * balance\n"
		"    return total\n",
		"import torch.nn.functional as F\n"
		"def compute_loss(logits, labels, balance, cfg):\n"
		"    rows = F.log_softmax(logits, dim=-1)\n"
		"    ce = -rows.gather(-1, labels.unsqueeze(-1)).mean()\n"
		"    total = ce + cfg.coef * balance\n"
		"    return total\n",
		"not blocked"},
	{"attention: names only",
		"import torch\n"
		"class Attention(torch.nn.Module):\n"
		"    def forward(self, x):\n"
		"        n = x.size(1)\n"
		"        q, k, v = self.qkv(x).chunk(3, dim=-1)\n"
		"        q = q.view(x.size(0), n, self.heads, -1).transpose(1, 2)\n"
		"        allowed = torch.ones(n, n, dtype=torch.bool).tril()\n"
		"        scores = q @ k.transpose(-2, -1) * self.scale\n"
		"        scores = scores.masked_fill(~allowed, float(\"-inf\"))\n"
		"        return scores.softmax(-1) @ v\n",
		"import torch\n"
		"class Attention(torch.nn.Module):\n"
		"    def forward(self, x):\n"
		"        n = x.size(1)\n"
		"        q, k, v = self.qkv(x).chunk(3, dim=-1)\n"
		"        q = q.view(x.size(0), n, self.heads, -1).transpose(1, 2)\n"
		"        causal = torch.ones(n, n, dtype=torch.bool).tril()\n"
		"        weights = q @ k.transpose(-2, -1) * self.scale\n"
		"        weights = weights.masked_fill(~causal, float(\"-inf\"))\n"
		"        return weights.softmax(-1) @ v\n",
		"not blocked"},
	{"attention: band by triu",
		"import torch\n"
		"class Attention(torch.nn.Module):\n"
		"    def forward(self, x):\n"
		"        n = x.size(1)\n"
		"        q, k, v = self.qkv(x).chunk(3, dim=-1)\n"
		"        q = q.view(x.size(0), n, self.heads, -1).transpose(1, 2)\n"
		"        allowed = torch.ones(n, n, dtype=torch.bool).tril()\n"
		"        scores = q @ k.transpose(-2, -1) * self.scale\n"
		"        scores = scores.masked_fill(~allowed, float(\"-inf\"))\n"
		"        return scores.softmax(-1) @ v\n",
		"import torch\n"
		"class Attention(torch.nn.Module):\n"
		"    def forward(self, x):\n"
		"        n = x.size(1)\n"
		"        q, k, v = self.qkv(x).chunk(3, dim=-1)\n"
		"        q = q.view(x.size(0), n, self.heads, -1).transpose(1, 2)\n"
		"        allowed = torch.ones(n, n, dtype=torch.bool).tril()\n"
		"        allowed = allowed & torch.ones(n, n, dtype=torch.bool).triu(-128)\n"
		"        scores = q @ k.transpose(-2, -1) * self.scale\n"
		"        scores = scores.masked_fill(~allowed, float(\"-inf\"))\n"
		"        return scores.softmax(-1) @ v\n",
		"A4 block"},
	{"attention: band by distance",
		"import torch\n"
		"class Attention(torch.nn.Module):\n"
		"    def forward(self, x):\n"
		"        n = x.size(1)\n"
		"        q, k, v = self.qkv(x).chunk(3, dim=-1)\n"
		"        q = q.view(x.size(0), n, self.heads, -1).transpose(1, 2)\n"
		"        allowed = torch.ones(n, n, dtype=torch.bool).tril()\n"
		"        scores = q @ k.transpose(-2, -1) * self.scale\n"
		"        scores = scores.masked_fill(~allowed, float(\"-inf\"))\n"
		"        return scores.softmax(-1) @ v\n",
		"import torch\n"
		"class Attention(torch.nn.Module):\n"
		"    def forward(self, x):\n"
		"        n = x.size(1)\n"
		"        q, k, v = self.qkv(x).chunk(3, dim=-1)\n"
		"        q = q.view(x.size(0), n, self.heads, -1).transpose(1, 2)\n"
		"        allowed = torch.ones(n, n, dtype=torch.bool).tril()\n"
		"        pos = torch.arange(n)\n"
		"        near = pos[:, None] - pos[None, :] < 200\n"
		"        allowed = allowed & near\n"
		"        scores = q @ k.transpose(-2, -1) * self.scale\n"
		"        scores = scores.masked_fill(~allowed, float(\"-inf\"))\n"
		"        return scores.softmax(-1) @ v\n",
		"A4 block"},
	{"attention: sees ahead",
		"import torch\n"
		"class Attention(torch.nn.Module):\n"
		"    def forward(self, x):\n"
		"        n = x.size(1)\n"
		"        q, k, v = self.qkv(x).chunk(3, dim=-1)\n"
		"        q = q.view(x.size(0), n, self.heads, -1).transpose(1, 2)\n"
		"        allowed = torch.ones(n, n, dtype=torch.bool).tril()\n"
		"        scores = q @ k.transpose(-2, -1) * self.scale\n"
		"        scores = scores.masked_fill(~allowed, float(\"-inf\"))\n"
		"        return scores.softmax(-1) @ v\n",
		"import torch\n"
		"class Attention(torch.nn.Module):\n"
		"    def forward(self, x):\n"
		"        n = x.size(1)\n"
		"        q, k, v = self.qkv(x).chunk(3, dim=-1)\n"
		"        q = q.view(x.size(0), n, self.heads, -1).transpose(1, 2)\n"
		"        allowed = torch.ones(n, n, dtype=torch.bool).tril(diagonal=1)\n"
		"        scores = q @ k.transpose(-2, -1) * self.scale\n"
		"        scores = scores.masked_fill(~allowed, float(\"-inf\"))\n"
		"        return scores.softmax(-1) @ v\n",
		"A4 block"},
	{"attention: blocks of queries",
		"import torch\n"
		"class Attention(torch.nn.Module):\n"
		"    def forward(self, x):\n"
		"        n = x.size(1)\n"
		"        q, k, v = self.qkv(x).chunk(3, dim=-1)\n"
		"        q = q.view(x.size(0), n, self.heads, -1).transpose(1, 2)\n"
		"        allowed = torch.ones(n, n, dtype=torch.bool).tril()\n"
		"        scores = q @ k.transpose(-2, -1) * self.scale\n"
		"        scores = scores.masked_fill(~allowed, float(\"-inf\"))\n"
		"        return scores.softmax(-1) @ v\n",
		"import torch\n"
		"class Attention(torch.nn.Module):\n"
		"    def forward(self, x):\n"
		"        n = x.size(1)\n"
		"        q, k, v = self.qkv(x).chunk(3, dim=-1)\n"
		"        q = q.view(x.size(0), n, self.heads, -1).transpose(1, 2)\n"
		"        allowed = torch.ones(n, n, dtype=torch.bool).tril()\n"
		"        parts = []\n"
		"        for start in range(0, n, 64):\n"
		"            end = min(start + 64, n)\n"
		"            scores = q[:, :, start:end] @ k[:, :, :end].transpose(-2, -1) * self.scale\n"
		"            scores = scores.masked_fill(~allowed[start:end, :end], float(\"-inf\"))\n"
		"            parts.append(scores.softmax(-1) @ v[:, :, :end])\n"
		"        return torch.cat(parts, dim=2)\n",
		"not blocked"},
	{"attention: blocks that forget",
		"import torch\n"
		"class Attention(torch.nn.Module):\n"
		"    def forward(self, x):\n"
		"        n = x.size(1)\n"
		"        q, k, v = self.qkv(x).chunk(3, dim=-1)\n"
		"        q = q.view(x.size(0), n, self.heads, -1).transpose(1, 2)\n"
		"        allowed = torch.ones(n, n, dtype=torch.bool).tril()\n"
		"        scores = q @ k.transpose(-2, -1) * self.scale\n"
		"        scores = scores.masked_fill(~allowed, float(\"-inf\"))\n"
		"        return scores.softmax(-1) @ v\n",
		"import torch\n"
		"class Attention(torch.nn.Module):\n"
		"    def forward(self, x):\n"
		"        n = x.size(1)\n"
		"        q, k, v = self.qkv(x).chunk(3, dim=-1)\n"
		"        q = q.view(x.size(0), n, self.heads, -1).transpose(1, 2)\n"
		"        allowed = torch.ones(n, n, dtype=torch.bool).tril()\n"
		"        parts = []\n"
		"        for start in range(0, n, 64):\n"
		"            end = min(start + 64, n)\n"
		"            first = max(0, start - 192)\n"
		"            scores = q[:, :, start:end] @ k[:, :, first:end].transpose(-2, -1) * self.scale\n"
		"            scores = scores.masked_fill(~allowed[start:end, first:end], float(\"-inf\"))\n"
		"            parts.append(scores.softmax(-1) @ v[:, :, first:end])\n"
		"        return torch.cat(parts, dim=2)\n",
		"A4 block"},
	{"attention: one view for three",
		"import torch\n"
		"class Attention(torch.nn.Module):\n"
		"    def forward(self, x):\n"
		"        n = x.size(1)\n"
		"        q, k, v = self.qkv(x).chunk(3, dim=-1)\n"
		"        q = q.view(x.size(0), n, self.heads, -1).transpose(1, 2)\n"
		"        allowed = torch.ones(n, n, dtype=torch.bool).tril()\n"
		"        scores = q @ k.transpose(-2, -1) * self.scale\n"
		"        scores = scores.masked_fill(~allowed, float(\"-inf\"))\n"
		"        return scores.softmax(-1) @ v\n",
		"import torch\n"
		"class Attention(torch.nn.Module):\n"
		"    def forward(self, x):\n"
		"        n = x.size(1)\n"
		"        q, k, v = self.qkv(x).view(x.size(0), n, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)\n"
		"        allowed = torch.ones(n, n, dtype=torch.bool).tril()\n"
		"        scores = q @ k.transpose(-2, -1) * self.scale\n"
		"        scores = scores.masked_fill(~allowed, float(\"-inf\"))\n"
		"        return scores.softmax(-1) @ v\n",
		"not blocked"},
	{"tokens picked by rank",
		"import torch\n"
		"class FeedForward(torch.nn.Module):\n"
		"    def forward(self, x):\n"
		"        return self.down(self.act(self.up(x)))\n",
		"import torch\n"
		"class FeedForward(torch.nn.Module):\n"
		"    def forward(self, x):\n"
		"        keep = x.abs().sum(-1).topk(int(x.size(1) * 0.6), dim=1).indices\n"
		"        x = x.gather(1, keep.unsqueeze(-1).expand(-1, -1, x.size(2)))\n"
		"        return self.down(self.act(self.up(x)))\n",
		"A4 block"},
	{"interval scaled by names",
		"import time\n"
		"class Watch:\n"
		"    def lap(self):\n"
		"        return time.monotonic() - self.begun\n",
		"import time\n"
		"class Watch:\n"
		"    def lap(self):\n"
		"        return (time.monotonic() - self.begun) * self.ratio\n",
		"A1 block"},
	{"interval without pauses",
		"import time\n"
		"class Watch:\n"
		"    def lap(self):\n"
		"        return time.monotonic() - self.begun\n",
		"import time\n"
		"class Watch:\n"
		"    def lap(self):\n"
		"        took = time.monotonic() - self.begun\n"
		"        return took - self.paused\n",
		"A1 block"},
	{"interval through a variable",
		"import time\n"
		"class Watch:\n"
		"    def lap(self):\n"
		"        return time.monotonic() - self.begun\n",
		"import time\n"
		"class Watch:\n"
		"    def lap(self):\n"
		"        took = time.monotonic() - self.begun\n"
		"        return took\n",
		"not blocked"},
	{"wait that asks only",
		"import torch\n"
		"def hard_sync():\n"
		"    torch.cuda.synchronize()\n",
		"import torch\n"
		"def hard_sync():\n"
		"    torch.cuda.current_stream().query()\n",
		"A12 block"},
	{"length for rows",
		"class Config:\n"
		"    batch_size: int = 4\n"
		"    accum_steps: int = 8\n"
		"    context_length: int = 2048\n",
		"class Config:\n"
		"    batch_size: int = 8\n"
		"    accum_steps: int = 8\n"
		"    context_length: int = 1024\n",
		"A4 block"},
	{"rows for accumulation",
		"class Config:\n"
		"    batch_size: int = 4\n"
		"    accum_steps: int = 8\n"
		"    context_length: int = 2048\n",
		"class Config:\n"
		"    batch_size: int = 2\n"
		"    accum_steps: int = 16\n"
		"    context_length: int = 2048\n",
		"not blocked"},
	{"further targets ignored",
		"IGNORED = -100\n"
		"class Rows:\n"
		"    def __getitem__(self, i):\n"
		"        labels = self.read(i)\n"
		"        labels[self.ends(i)] = IGNORED\n"
		"        return labels\n",
		"IGNORED = -100\n"
		"class Rows:\n"
		"    def __getitem__(self, i):\n"
		"        labels = self.read(i)\n"
		"        labels[self.ends(i)] = IGNORED\n"
		"        labels[labels == self.comma] = IGNORED\n"
		"        return labels\n",
		"A4 block"},
	{"targets ignored in a further reader",
		"IGNORED = -100\n"
		"class Rows:\n"
		"    def __getitem__(self, i):\n"
		"        labels = self.read(i)\n"
		"        labels[self.ends(i)] = IGNORED\n"
		"        return labels\n",
		"IGNORED = -100\n"
		"class Rows:\n"
		"    def __getitem__(self, i):\n"
		"        labels = self.read(i)\n"
		"        labels[self.ends(i)] = IGNORED\n"
		"        return labels\n"
		"\n"
		"class Whole(Rows):\n"
		"    def rows(self, i):\n"
		"        labels = self.read(i)\n"
		"        labels[self.ends(i)] = IGNORED\n"
		"        return labels\n",
		"not blocked"},
	{"parameters left out by name",
		"import torch\n"
		"def build_optimizer(model, cfg):\n"
		"    matrices = [p for p in model.parameters() if p.dim() >= 2]\n"
		"    vectors = [p for p in model.parameters() if p.dim() < 2]\n"
		"    return torch.optim.AdamW([{\"params\": matrices, \"weight_decay\": cfg.wd}, {\"params\": vectors, \"weight_decay\": 0.0}], lr=cfg.lr)\n",
		"import torch\n"
		"def build_optimizer(model, cfg):\n"
		"    matrices = [p for n, p in model.named_parameters() if p.dim() >= 2 and \"gate\" not in n]\n"
		"    vectors = [p for p in model.parameters() if p.dim() < 2]\n"
		"    return torch.optim.AdamW([{\"params\": matrices, \"weight_decay\": cfg.wd}, {\"params\": vectors, \"weight_decay\": 0.0}], lr=cfg.lr)\n",
		"A3 block"},
	{"parameters sorted in one pass",
		"import torch\n"
		"def build_optimizer(model, cfg):\n"
		"    matrices = [p for p in model.parameters() if p.dim() >= 2]\n"
		"    vectors = [p for p in model.parameters() if p.dim() < 2]\n"
		"    return torch.optim.AdamW([{\"params\": matrices, \"weight_decay\": cfg.wd}, {\"params\": vectors, \"weight_decay\": 0.0}], lr=cfg.lr)\n",
		"import torch\n"
		"def build_optimizer(model, cfg):\n"
		"    matrices, vectors = [], []\n"
		"    for p in model.parameters():\n"
		"        (matrices if p.dim() >= 2 else vectors).append(p)\n"
		"    return torch.optim.AdamW([{\"params\": matrices, \"weight_decay\": cfg.wd}, {\"params\": vectors, \"weight_decay\": 0.0}], lr=cfg.lr)\n",
		"not blocked"},
	{"cosine made a line",
		"import math\n"
		"def lr_at(update, cfg):\n"
		"    part = update / cfg.updates\n"
		"    return cfg.floor + 0.5 * (1 + math.cos(math.pi * part)) * (cfg.peak - cfg.floor)\n",
		"import math\n"
		"def lr_at(update, cfg):\n"
		"    part = update / cfg.updates\n"
		"    return cfg.floor + (1 - part) * (cfg.peak - cfg.floor)\n",
		"A3 block"},
	{"clipping by the framework",
		"import torch\n"
		"def clip_grads(params, limit):\n"
		"    norm = torch.sqrt(sum(p.grad.pow(2).sum() for p in params))\n"
		"    for p in params:\n"
		"        p.grad.mul_((limit / (norm + 1e-6)).clamp(max=1.0))\n"
		"    return norm\n",
		"import torch\n"
		"def clip_grads(params, limit):\n"
		"    return torch.nn.utils.clip_grad_norm_(params, limit)\n",
		"not blocked"},
	{"check that logs only",
		"import math\n"
		"def check_loss(value, step):\n"
		"    if math.isnan(value):\n"
		"        raise ValueError(f\"not a number at {step}\")\n",
		"import math\n"
		"def check_loss(value, step):\n"
		"    if math.isnan(value):\n"
		"        print(f\"not a number at {step}\")\n",
		"A6 block"},
	{"rows of the last part only",
		"import infrarsi_hook\n"
		"def train(model, optimizer, scaler, loader, hook, cfg):\n"
		"    updates = 0\n"
		"    for step in range(cfg.steps):\n"
		"        tokens = 0\n"
		"        for part in range(cfg.parts):\n"
		"            x, y = next(loader)\n"
		"            hook.rows(x)\n"
		"            loss = model(x, y) / cfg.parts\n"
		"            loss.backward()\n"
		"            tokens += x.numel()\n"
		"        scaler.step(optimizer)\n"
		"        taken = scaler.update()\n"
		"        optimizer.zero_grad()\n"
		"        if taken:\n"
		"            updates += 1\n"
		"        total = loss.item()\n"
		"        hook.update(loss=total, opt_step=updates, tokens=tokens)\n",
		"import infrarsi_hook\n"
		"def train(model, optimizer, scaler, loader, hook, cfg):\n"
		"    updates = 0\n"
		"    for step in range(cfg.steps):\n"
		"        tokens = 0\n"
		"        for part in range(cfg.parts):\n"
		"            x, y = next(loader)\n"
		"            if part == 0:\n"
		"                hook.rows(x)\n"
		"            loss = model(x, y) / cfg.parts\n"
		"            loss.backward()\n"
		"            tokens += x.numel()\n"
		"        scaler.step(optimizer)\n"
		"        taken = scaler.update()\n"
		"        optimizer.zero_grad()\n"
		"        if taken:\n"
		"            updates += 1\n"
		"        total = loss.item()\n"
		"        hook.update(loss=total, opt_step=updates, tokens=tokens)\n",
		"A10 block"},
	{"counter past its condition",
		"import infrarsi_hook\n"
		"def train(model, optimizer, scaler, loader, hook, cfg):\n"
		"    updates = 0\n"
		"    for step in range(cfg.steps):\n"
		"        tokens = 0\n"
		"        for part in range(cfg.parts):\n"
		"            x, y = next(loader)\n"
		"            hook.rows(x)\n"
		"            loss = model(x, y) / cfg.parts\n"
		"            loss.backward()\n"
		"            tokens += x.numel()\n"
		"        scaler.step(optimizer)\n"
		"        taken = scaler.update()\n"
		"        optimizer.zero_grad()\n"
		"        if taken:\n"
		"            updates += 1\n"
		"        total = loss.item()\n"
		"        hook.update(loss=total, opt_step=updates, tokens=tokens)\n",
		"import infrarsi_hook\n"
		"def train(model, optimizer, scaler, loader, hook, cfg):\n"
		"    updates = 0\n"
		"    for step in range(cfg.steps):\n"
		"        tokens = 0\n"
		"        for part in range(cfg.parts):\n"
		"            x, y = next(loader)\n"
		"            hook.rows(x)\n"
		"            loss = model(x, y) / cfg.parts\n"
		"            loss.backward()\n"
		"            tokens += x.numel()\n"
		"        scaler.step(optimizer)\n"
		"        taken = scaler.update()\n"
		"        optimizer.zero_grad()\n"
		"        updates += 1\n"
		"        if taken:\n"
		"            print(step)\n"
		"        total = loss.item()\n"
		"        hook.update(loss=total, opt_step=updates, tokens=tokens)\n",
		"A8 block"},
	{"counter of more than the inputs",
		"import infrarsi_hook\n"
		"def train(model, optimizer, scaler, loader, hook, cfg):\n"
		"    updates = 0\n"
		"    for step in range(cfg.steps):\n"
		"        tokens = 0\n"
		"        for part in range(cfg.parts):\n"
		"            x, y = next(loader)\n"
		"            hook.rows(x)\n"
		"            loss = model(x, y) / cfg.parts\n"
		"            loss.backward()\n"
		"            tokens += x.numel()\n"
		"        scaler.step(optimizer)\n"
		"        taken = scaler.update()\n"
		"        optimizer.zero_grad()\n"
		"        if taken:\n"
		"            updates += 1\n"
		"        total = loss.item()\n"
		"        hook.update(loss=total, opt_step=updates, tokens=tokens)\n",
		"import infrarsi_hook\n"
		"def train(model, optimizer, scaler, loader, hook, cfg):\n"
		"    updates = 0\n"
		"    for step in range(cfg.steps):\n"
		"        tokens = 0\n"
		"        for part in range(cfg.parts):\n"
		"            x, y = next(loader)\n"
		"            hook.rows(x)\n"
		"            loss = model(x, y) / cfg.parts\n"
		"            loss.backward()\n"
		"            tokens += x.numel() + y.numel()\n"
		"        scaler.step(optimizer)\n"
		"        taken = scaler.update()\n"
		"        optimizer.zero_grad()\n"
		"        if taken:\n"
		"            updates += 1\n"
		"        total = loss.item()\n"
		"        hook.update(loss=total, opt_step=updates, tokens=tokens)\n",
		"A8 block"},
	{"loss of an earlier update",
		"import infrarsi_hook\n"
		"def train(model, optimizer, scaler, loader, hook, cfg):\n"
		"    updates = 0\n"
		"    for step in range(cfg.steps):\n"
		"        tokens = 0\n"
		"        for part in range(cfg.parts):\n"
		"            x, y = next(loader)\n"
		"            hook.rows(x)\n"
		"            loss = model(x, y) / cfg.parts\n"
		"            loss.backward()\n"
		"            tokens += x.numel()\n"
		"        scaler.step(optimizer)\n"
		"        taken = scaler.update()\n"
		"        optimizer.zero_grad()\n"
		"        if taken:\n"
		"            updates += 1\n"
		"        total = loss.item()\n"
		"        hook.update(loss=total, opt_step=updates, tokens=tokens)\n",
		"import infrarsi_hook\n"
		"def train(model, optimizer, scaler, loader, hook, cfg):\n"
		"    updates = 0\n"
		"    waiting = []\n"
		"    for step in range(cfg.steps):\n"
		"        tokens = 0\n"
		"        for part in range(cfg.parts):\n"
		"            x, y = next(loader)\n"
		"            hook.rows(x)\n"
		"            loss = model(x, y) / cfg.parts\n"
		"            loss.backward()\n"
		"            tokens += x.numel()\n"
		"        scaler.step(optimizer)\n"
		"        taken = scaler.update()\n"
		"        optimizer.zero_grad()\n"
		"        if taken:\n"
		"            updates += 1\n"
		"        waiting.append(loss)\n"
		"        total = waiting[0].item()\n"
		"        if len(waiting) > 1:\n"
		"            waiting.pop(0)\n"
		"        hook.update(loss=total, opt_step=updates, tokens=tokens)\n",
		"A8 block"},
	{"two sums in one loop",
		"import torch.distributed as dist\n"
		"def train_sums(a, b, world):\n"
		"    if world > 1:\n"
		"        dist.all_reduce(a)\n"
		"        dist.all_reduce(b)\n"
		"    return a / b\n",
		"import torch.distributed as dist\n"
		"def train_sums(a, b, world):\n"
		"    if world > 1:\n"
		"        for work in [dist.all_reduce(t, async_op=True) for t in (a, b)]:\n"
		"            work.wait()\n"
		"    return a / b\n",
		"not blocked"},
	{"one of two sums left out",
		"import torch.distributed as dist\n"
		"def train_sums(a, b, world):\n"
		"    if world > 1:\n"
		"        dist.all_reduce(a)\n"
		"        dist.all_reduce(b)\n"
		"    return a / b\n",
		"import torch.distributed as dist\n"
		"def train_sums(a, b, world):\n"
		"    if world > 1:\n"
		"        dist.all_reduce(a)\n"
		"    return a / b\n",
		"A3 block"},
	{"a file opened by hand",
		"import torch\n"
		"def save(state, path):\n"
		"    torch.save(state, path)\n",
		"import torch\n"
		"def save(state, path):\n"
		"    with open(path, \"wb\") as out:\n"
		"        torch.save(state, out)\n",
		"not blocked"},
	{"a further file",
		"import torch\n"
		"def save(state, path):\n"
		"    torch.save(state, path)\n",
		"import torch\n"
		"def save(state, path):\n"
		"    torch.save(state, path)\n"
		"    with open(\"/tmp/kept\", \"wb\") as out:\n"
		"        torch.save(state, out)\n",
		"A7 block"},
	{"nothing computed again",
		"from torch.utils.checkpoint import checkpoint\n"
		"class Net:\n"
		"    def forward(self, x):\n"
		"        for layer in self.layers:\n"
		"            x = checkpoint(layer, x) if self.training else layer(x)\n"
		"        return x\n",
		"class Net:\n"
		"    def forward(self, x):\n"
		"        for layer in self.layers:\n"
		"            x = layer(x)\n"
		"        return x\n",
		"not blocked"},
	{"loader: transport",
		"from torch.utils.data import DataLoader\n"
		"def build_batches(rows, cfg):\n"
		"    batches = DataLoader(rows, batch_size=cfg.batch, drop_last=True)\n"
		"    return batches\n",
		"from torch.utils.data import DataLoader\n"
		"def build_batches(rows, cfg):\n"
		"    batches = DataLoader(rows, batch_size=cfg.batch, drop_last=True, pin_memory=True, prefetch_factor=4)\n"
		"    return batches\n",
		"none"},
	{"loader: order",
		"from torch.utils.data import DataLoader\n"
		"def build_batches(rows, cfg):\n"
		"    batches = DataLoader(rows, batch_size=cfg.batch, drop_last=True)\n"
		"    return batches\n",
		"from torch.utils.data import DataLoader\n"
		"def build_batches(rows, cfg):\n"
		"    batches = DataLoader(rows, batch_size=cfg.batch, drop_last=True, sampler=sorted(rows))\n"
		"    return batches\n",
		"A9 block"},
	{"attention: fused",
		"import torch\n"
		"class Attention(torch.nn.Module):\n"
		"    def forward(self, x):\n"
		"        n = x.size(1)\n"
		"        q, k, v = self.qkv(x).chunk(3, dim=-1)\n"
		"        q = q.view(x.size(0), n, self.heads, -1).transpose(1, 2)\n"
		"        allowed = torch.ones(n, n, dtype=torch.bool).tril()\n"
		"        scores = q @ k.transpose(-2, -1) * self.scale\n"
		"        scores = scores.masked_fill(~allowed, float(\"-inf\"))\n"
		"        return scores.softmax(-1) @ v\n",
		"import torch\n"
		"class Attention(torch.nn.Module):\n"
		"    def forward(self, x):\n"
		"        n = x.size(1)\n"
		"        q, k, v = self.qkv(x).chunk(3, dim=-1)\n"
		"        q = q.view(x.size(0), n, self.heads, -1).transpose(1, 2)\n"
		"        return torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=self.scale, is_causal=True)\n",
		"not blocked"},
	{"attention: fused, not causal",
		"import torch\n"
		"class Attention(torch.nn.Module):\n"
		"    def forward(self, x):\n"
		"        n = x.size(1)\n"
		"        q, k, v = self.qkv(x).chunk(3, dim=-1)\n"
		"        q = q.view(x.size(0), n, self.heads, -1).transpose(1, 2)\n"
		"        allowed = torch.ones(n, n, dtype=torch.bool).tril()\n"
		"        scores = q @ k.transpose(-2, -1) * self.scale\n"
		"        scores = scores.masked_fill(~allowed, float(\"-inf\"))\n"
		"        return scores.softmax(-1) @ v\n",
		"import torch\n"
		"class Attention(torch.nn.Module):\n"
		"    def forward(self, x):\n"
		"        n = x.size(1)\n"
		"        q, k, v = self.qkv(x).chunk(3, dim=-1)\n"
		"        q = q.view(x.size(0), n, self.heads, -1).transpose(1, 2)\n"
		"        return torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=self.scale)\n",
		"A4 block"},
	{"clipping by the framework without a limit",
		"import torch\n"
		"def clip_grads(params, limit):\n"
		"    norm = torch.sqrt(sum(p.grad.pow(2).sum() for p in params))\n"
		"    for p in params:\n"
		"        p.grad.mul_((limit / (norm + 1e-6)).clamp(max=1.0))\n"
		"    return norm\n",
		"import torch\n"
		"def clip_grads(params, limit):\n"
		"    return torch.nn.utils.clip_grad_norm_(params, float(\"inf\"))\n",
		"A3 block"},
	{"graph with inputs copied in",
		"import torch\n",
		"import torch\n"
		"class Replayed:\n"
		"    def __call__(self, x):\n"
		"        if self.graph is None:\n"
		"            self.given = x.clone()\n"
		"            self.graph = torch.cuda.CUDAGraph()\n"
		"            with torch.cuda.graph(self.graph):\n"
		"                self.made = self.run(self.given)\n"
		"        self.given.copy_(x)\n"
		"        self.graph.replay()\n"
		"        return self.made.clone()\n"
		"    def __init__(self, run):\n"
		"        self.run = run\n"
		"        self.graph = None\n",
		"not blocked"},
	{"graph of the first inputs",
		"import torch\n",
		"import torch\n"
		"class Replayed:\n"
		"    def __call__(self, x):\n"
		"        if self.graph is None:\n"
		"            self.given = x.clone()\n"
		"            self.graph = torch.cuda.CUDAGraph()\n"
		"            with torch.cuda.graph(self.graph):\n"
		"                self.made = self.run(self.given)\n"
		"        self.graph.replay()\n"
		"        return self.made.clone()\n"
		"    def __init__(self, run):\n"
		"        self.run = run\n"
		"        self.graph = None\n",
		"A5 block"},
	{"the sum of a loss waits behind the step",
		"import torch.distributed as dist\n"
		"def train(model, optimizer, step_loss, grads, world):\n"
		"    dist.all_reduce(step_loss)\n"
		"    dist.all_reduce(grads)\n"
		"    optimizer.step()\n"
		"    return step_loss.item() / world\n",
		"import torch.distributed as dist\n"
		"def train(model, optimizer, step_loss, grads, world):\n"
		"    work = dist.all_reduce(step_loss, async_op=True)\n"
		"    dist.all_reduce(grads)\n"
		"    optimizer.step()\n"
		"    work.wait()\n"
		"    return step_loss.item() / world\n",
		"not blocked"},
	{"gradients wait behind the step",
		"import torch.distributed as dist\n"
		"def train(model, optimizer, step_loss, grads, world):\n"
		"    dist.all_reduce(step_loss)\n"
		"    dist.all_reduce(grads)\n"
		"    optimizer.step()\n"
		"    return step_loss.item() / world\n",
		"import torch.distributed as dist\n"
		"def train(model, optimizer, step_loss, grads, world):\n"
		"    dist.all_reduce(step_loss)\n"
		"    work = dist.all_reduce(grads, async_op=True)\n"
		"    optimizer.step()\n"
		"    work.wait()\n"
		"    return step_loss.item() / world\n",
		"A12 block"},
};
/* clang-format on */

#endif
