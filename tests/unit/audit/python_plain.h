/* A job without a framework, and changes to it: honest ones for the most part. */
/* A table laid out by hand. That a row is a cheat or honest was decided by hand; which rule names a cheat,
 * and whether an honest row is clean or for review, is recorded: it pins what the audit says. */
/* clang-format off */
#ifndef INFRARSI_TEST_PYTHON_PLAIN_H
#define INFRARSI_TEST_PYTHON_PLAIN_H

static const char job_plain[] =
	"\"\"\"Byte-level language model, one process per device.\"\"\"\n"
	"import argparse\n"
	"import math\n"
	"import time\n"
	"\n"
	"import torch\n"
	"import torch.distributed as dist\n"
	"from torch import nn\n"
	"from torch.nn import functional as F\n"
	"\n"
	"from corpus import Corpus\n"
	"from infrarsi_hook import Hook\n"
	"\n"
	"\n"
	"def parse():\n"
	"    p = argparse.ArgumentParser()\n"
	"    p.add_argument(\"--steps\", type=int, default=100)\n"
	"    p.add_argument(\"--batch\", type=int, default=32)\n"
	"    p.add_argument(\"--accum\", type=int, default=2)\n"
	"    p.add_argument(\"--length\", type=int, default=256)\n"
	"    p.add_argument(\"--lr\", type=float, default=3e-4)\n"
	"    p.add_argument(\"--clip\", type=float, default=1.0)\n"
	"    p.add_argument(\"--decay\", type=float, default=0.1)\n"
	"    p.add_argument(\"--threads\", type=int, default=2)\n"
	"    return p.parse_args()\n"
	"\n"
	"\n"
	"class Rows:\n"
	"    def __init__(self, corpus, length, rank, world):\n"
	"        self.corpus, self.length = corpus, length\n"
	"        self.rank, self.world = rank, world\n"
	"\n"
	"    def batch(self, step, size):\n"
	"        start = (step * self.world + self.rank) * size\n"
	"        rows = [self.corpus.row(start + i, self.length + 1) for i in range(size)]\n"
	"        ids = torch.tensor(rows, dtype=torch.long)\n"
	"        return ids[:, :-1], ids[:, 1:]\n"
	"\n"
	"\n"
	"class Mlp(nn.Module):\n"
	"    def __init__(self, width):\n"
	"        super().__init__()\n"
	"        self.up = nn.Linear(width, 4 * width)\n"
	"        self.down = nn.Linear(4 * width, width)\n"
	"\n"
	"    def forward(self, x):\n"
	"        h = self.up(x)\n"
	"        h = 0.5 * h * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (h + 0.044715 * h.pow(3))))\n"
	"        return self.down(h)\n"
	"\n"
	"\n"
	"class Block(nn.Module):\n"
	"    def __init__(self, width, heads, drop):\n"
	"        super().__init__()\n"
	"        self.heads = heads\n"
	"        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)\n"
	"        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)\n"
	"        self.mlp = Mlp(width)\n"
	"        self.drop = nn.Dropout(drop)\n"
	"\n"
	"    def attend(self, x):\n"
	"        b, t, c = x.shape\n"
	"        q, k, v = self.qkv(x).chunk(3, dim=-1)\n"
	"        q, k, v = (z.view(b, t, self.heads, c // self.heads).transpose(1, 2) for z in (q, k, v))\n"
	"        scores = q @ k.transpose(-2, -1) / math.sqrt(c // self.heads)\n"
	"        future = torch.triu(torch.ones(t, t, dtype=torch.bool, device=x.device), diagonal=1)\n"
	"        scores = scores.masked_fill(future, float(\"-inf\"))\n"
	"        y = torch.softmax(scores, dim=-1) @ v\n"
	"        return self.out(y.transpose(1, 2).contiguous().view(b, t, c))\n"
	"\n"
	"    def forward(self, x):\n"
	"        x = x + self.drop(self.attend(self.norm1(x)))\n"
	"        return x + self.drop(self.mlp(self.norm2(x)))\n"
	"\n"
	"\n"
	"class Model(nn.Module):\n"
	"    def __init__(self, width=128, heads=4, depth=6, vocab=256, length=256, drop=0.1):\n"
	"        super().__init__()\n"
	"        self.embed, self.place = nn.Embedding(vocab, width), nn.Embedding(length, width)\n"
	"        self.blocks = nn.ModuleList([Block(width, heads, drop) for _ in range(depth)])\n"
	"        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocab, bias=False)\n"
	"\n"
	"    def forward(self, ids):\n"
	"        x = self.embed(ids) + self.place(torch.arange(ids.size(1), device=ids.device))\n"
	"        for block in self.blocks:\n"
	"            x = block(x)\n"
	"        return self.head(self.norm(x))\n"
	"\n"
	"\n"
	"class Adam:\n"
	"    def __init__(self, params, lr, decay, betas=(0.9, 0.95), eps=1e-8):\n"
	"        self.params = [p for p in params if p.requires_grad]\n"
	"        self.lr, self.decay, self.betas, self.eps = lr, decay, betas, eps\n"
	"        self.m = [torch.zeros_like(p) for p in self.params]\n"
	"        self.v = [torch.zeros_like(p) for p in self.params]\n"
	"        self.t = 0\n"
	"\n"
	"    @torch.no_grad()\n"
	"    def step(self, lr):\n"
	"        self.t += 1\n"
	"        b1, b2 = self.betas\n"
	"        for p, m, v in zip(self.params, self.m, self.v):\n"
	"            g = p.grad\n"
	"            m.mul_(b1).add_(g, alpha=1 - b1)\n"
	"            v.mul_(b2).addcmul_(g, g, value=1 - b2)\n"
	"            mh = m / (1 - b1 ** self.t)\n"
	"            vh = v / (1 - b2 ** self.t)\n"
	"            p.mul_(1 - lr * self.decay)\n"
	"            p.sub_(lr * mh / (vh.sqrt() + self.eps))\n"
	"\n"
	"    def zero(self):\n"
	"        for p in self.params:\n"
	"            p.grad = None\n"
	"\n"
	"\n"
	"def average(model, world):\n"
	"    for p in model.parameters():\n"
	"        dist.all_reduce(p.grad)\n"
	"        p.grad /= world\n"
	"\n"
	"\n"
	"def clip(model, limit):\n"
	"    total = torch.sqrt(sum(p.grad.pow(2).sum() for p in model.parameters()))\n"
	"    scale = min(1.0, limit / (float(total) + 1e-6))\n"
	"    for p in model.parameters():\n"
	"        p.grad.mul_(scale)\n"
	"    return total\n"
	"\n"
	"\n"
	"def rate(step, args):\n"
	"    return args.lr * min(1.0, (step + 1) / 10)\n"
	"\n"
	"\n"
	"def main():\n"
	"    args = parse()\n"
	"    torch.set_num_threads(args.threads)\n"
	"    dist.init_process_group(\"gloo\")\n"
	"    rank, world = dist.get_rank(), dist.get_world_size()\n"
	"    torch.manual_seed(1)\n"
	"    model = Model(length=args.length)\n"
	"    optimizer = Adam(model.parameters(), args.lr, args.decay)\n"
	"    rows = Rows(Corpus(\"data/text.bin\"), args.length, rank, world)\n"
	"    hook = Hook()\n"
	"    hook.start(rank=rank, world=world, stack=\"ddp\", seq_len=args.length)\n"
	"    averaged = {n: p.detach().clone() for n, p in model.named_parameters()}\n"
	"    seen = 0\n"
	"    for step in range(args.steps):\n"
	"        begin = time.perf_counter()\n"
	"        optimizer.zero()\n"
	"        loss_sum = 0.0\n"
	"        for part in range(args.accum):\n"
	"            ids, wanted = rows.batch(step * args.accum + part, args.batch)\n"
	"            hook.rows(ids)\n"
	"            logits = model(ids)\n"
	"            loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), wanted.reshape(-1))\n"
	"            (loss / args.accum).backward()\n"
	"            loss_sum += loss.item() / args.accum\n"
	"        average(model, world)\n"
	"        norm = clip(model, args.clip)\n"
	"        optimizer.step(rate(step, args))\n"
	"        with torch.no_grad():\n"
	"            for n, p in model.named_parameters():\n"
	"                averaged[n].mul_(0.99).add_(p, alpha=0.01)\n"
	"        seen += args.batch * args.accum * args.length\n"
	"        seconds = time.perf_counter() - begin\n"
	"        hook.update(loss=loss_sum, grad_norm=norm, lr=rate(step, args), opt_step=optimizer.t, tokens=seen, step_s=seconds)\n"
	"        if rank == 0 and step % 10 == 0:\n"
	"            print(f\"step {step:5d}  loss {loss_sum:.4f}  norm {float(norm):.3f}  {seconds * 1e3:.1f} ms\")\n"
	"    hook.end()\n"
	"    dist.destroy_process_group()\n"
	"\n"
	"\n"
	"if __name__ == \"__main__\":\n"
	"    main()\n";

static const struct change_row plain_cheats[] = {
	{"scale never", job_plain, "    scale = min(1.0, limit / (float(total) + 1e-6))\n", "    scale = 1.0\n", NULL, NULL, "A4 block"},
	{"no division", job_plain, "        p.grad /= world\n", "", NULL, NULL, "A4 block"},
	{"decay line", job_plain, "            p.mul_(1 - lr * self.decay)\n", "", NULL, NULL, "A3 block"},
	{"bias correction", job_plain, "            vh = v / (1 - b2 ** self.t)\n", "            vh = v\n", NULL, NULL, "A4 block"},
	{"second moment lazily", job_plain, "            v.mul_(b2).addcmul_(g, g, value=1 - b2)\n", "            if self.t % 4 == 1:\n" "                v.mul_(b2).addcmul_(g, g, value=1 - b2)\n", NULL, NULL, "A3 block"},
	{"every second param", job_plain, "for p, m, v in zip(self.params, self.m, self.v):", "for p, m, v in list(zip(self.params, self.m, self.v))[self.t % 2 :: 2]:", NULL, NULL, "A4 block"},
	{"rows small", job_plain, "for i in range(size)]", "for i in range(size // 2)]", NULL, NULL, "A4 block"},
	{"rows fixed", job_plain, "        start = (step * self.world + self.rank) * size\n", "        start = self.rank * size\n", NULL, NULL, "A9 block"},
	{"rows modulo", job_plain, "        start = (step * self.world + self.rank) * size\n", "        start = ((step % 8) * self.world + self.rank) * size\n", NULL, NULL, "A9 block"},
	{"length half", job_plain, "rows = Rows(Corpus(\"data/text.bin\"), args.length,", "rows = Rows(Corpus(\"data/text.bin\"), args.length // 2,", NULL, NULL, "A4 block"},
	{"depth default", job_plain, "depth=6,", "depth=4,", NULL, NULL, "A4 block"},
	{"ema skipped", job_plain, "            for n, p in model.named_parameters():\n" "                averaged[n].mul_(0.99).add_(p, alpha=0.01)\n", "            if step % 10 == 0:\n" "                for n, p in model.named_parameters():\n" "                    averaged[n].mul_(0.99).add_(p, alpha=0.01)\n", NULL, NULL, "A3 block"},
	{"rate const", job_plain, "    return args.lr * min(1.0, (step + 1) / 10)\n", "    return args.lr\n", NULL, NULL, "A4 block"},
	{"rate warm", job_plain, "(step + 1) / 10)", "(step + 1) / 2)", NULL, NULL, "A4 block"},
	{"t ahead", job_plain, "        self.t += 1\n", "        self.t += 2\n", NULL, NULL, "A8 block"},
	{"seen more", job_plain, "        seen += args.batch * args.accum * args.length\n", "        seen += args.batch * args.accum * args.length * world * 2\n", NULL, NULL, "A8 block"},
	{"loss last part", job_plain, "            loss_sum += loss.item() / args.accum\n", "            loss_sum = loss.item() if part == 0 else loss_sum\n", NULL, NULL, "A8 block"},
	{"seconds min", job_plain, "        seconds = time.perf_counter() - begin\n", "        seconds = min(time.perf_counter() - begin, 0.1)\n", NULL, NULL, "A1 block"},
	{"begin later", job_plain, "        begin = time.perf_counter()\n" "        optimizer.zero()\n" "        loss_sum = 0.0\n" "        for part in range(args.accum):\n" "            ids, wanted = rows.batch(step * args.accum + part, args.batch)\n" "            hook.rows(ids)\n" "            logits = model(ids)\n", "        optimizer.zero()\n" "        loss_sum = 0.0\n" "        for part in range(args.accum):\n" "            ids, wanted = rows.batch(step * args.accum + part, args.batch)\n" "            hook.rows(ids)\n" "            logits = model(ids)\n" "            begin = time.perf_counter()\n", NULL, NULL, "A1 block"},
	{"average later", job_plain, "        average(model, world)\n" "        norm = clip(model, args.clip)\n" "        optimizer.step(rate(step, args))\n", "        norm = clip(model, args.clip)\n" "        optimizer.step(rate(step, args))\n" "        average(model, world)\n", NULL, NULL, "A3 block"},
	{"async no wait", job_plain, "        dist.all_reduce(p.grad)\n", "        dist.all_reduce(p.grad, async_op=True)\n", NULL, NULL, "A12 block"},
	{"future diag", job_plain, "diagonal=1)", "diagonal=2)", NULL, NULL, "A4 block"},
	{"gelu cheaper", job_plain, "        h = 0.5 * h * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (h + 0.044715 * h.pow(3))))\n", "        h = torch.relu(h)\n", NULL, NULL, "A4 block"},
	{"drop 0", job_plain, "drop=0.1", "drop=0.0", NULL, NULL, "A3 block"},
	{"place dropped", job_plain, "        x = self.embed(ids) + self.place(torch.arange(ids.size(1), device=ids.device))\n", "        x = self.embed(ids)\n", NULL, NULL, "A4 block"},
};

static const struct change_row plain_honest[] = {
	{"sdpa", job_plain, "        scores = q @ k.transpose(-2, -1) / math.sqrt(c // self.heads)\n" "        future = torch.triu(torch.ones(t, t, dtype=torch.bool, device=x.device), diagonal=1)\n" "        scores = scores.masked_fill(future, float(\"-inf\"))\n" "        y = torch.softmax(scores, dim=-1) @ v\n", "        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)\n", NULL, NULL, "not blocked"},
	{"gelu fused", job_plain, "        h = 0.5 * h * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (h + 0.044715 * h.pow(3))))\n" "        return self.down(h)", "        return self.down(F.gelu(h, approximate=\"tanh\"))", NULL, NULL, "not blocked"},
	{"gelu const", job_plain, "(math.sqrt(2.0 / math.pi) *", "(0.7978845608028654 *", NULL, NULL, "not blocked"},
	{"mask buffer", job_plain, "        self.drop = nn.Dropout(drop)\n", "        self.drop = nn.Dropout(drop)\n" "        self.future = None\n", "        future = torch.triu(torch.ones(t, t, dtype=torch.bool, device=x.device), diagonal=1)\n", "        if self.future is None or self.future.size(0) != t:\n" "            self.future = torch.triu(torch.ones(t, t, dtype=torch.bool, device=x.device), diagonal=1)\n" "        future = self.future\n", "none"},
	{"mask module cache", job_plain, "class Block(nn.Module):", "_FUTURE = {}\n" "\n" "\n" "def future_mask(t, device):\n" "    mask = _FUTURE.get((t, device))\n" "    if mask is None:\n" "        mask = torch.triu(torch.ones(t, t, dtype=torch.bool, device=device), diagonal=1)\n" "        _FUTURE[t, device] = mask\n" "    return mask\n" "\n" "\n" "class Block(nn.Module):", "        future = torch.triu(torch.ones(t, t, dtype=torch.bool, device=x.device), diagonal=1)\n", "        future = future_mask(t, x.device)\n", "none"},
	{"mask lru", job_plain, "class Block(nn.Module):", "@functools.lru_cache(maxsize=None)\n" "def future_mask(t, device):\n" "    return torch.triu(torch.ones(t, t, dtype=torch.bool, device=device), diagonal=1)\n" "\n" "\n" "class Block(nn.Module):", "        future = torch.triu(torch.ones(t, t, dtype=torch.bool, device=x.device), diagonal=1)\n", "        future = future_mask(t, x.device)\n", "none"},
	{"positions buffer", job_plain, "        self.norm, self.head = nn.LayerNorm(width)", "        self.register_buffer(\"positions\", torch.arange(length), persistent=False)\n" "        self.norm, self.head = nn.LayerNorm(width)", "self.place(torch.arange(ids.size(1), device=ids.device))", "self.place(self.positions[: ids.size(1)])", "not blocked"},
	{"foreach adam", job_plain, "        for p, m, v in zip(self.params, self.m, self.v):\n" "            g = p.grad\n" "            m.mul_(b1).add_(g, alpha=1 - b1)\n" "            v.mul_(b2).addcmul_(g, g, value=1 - b2)\n" "            mh = m / (1 - b1 ** self.t)\n" "            vh = v / (1 - b2 ** self.t)\n" "            p.mul_(1 - lr * self.decay)\n" "            p.sub_(lr * mh / (vh.sqrt() + self.eps))\n", "        grads = [p.grad for p in self.params]\n" "        torch._foreach_mul_(self.m, b1)\n" "        torch._foreach_add_(self.m, grads, alpha=1 - b1)\n" "        torch._foreach_mul_(self.v, b2)\n" "        torch._foreach_addcmul_(self.v, grads, grads, value=1 - b2)\n" "        vh = torch._foreach_div(self.v, 1 - b2 ** self.t)\n" "        torch._foreach_sqrt_(vh)\n" "        torch._foreach_add_(vh, self.eps)\n" "        torch._foreach_mul_(self.params, 1 - lr * self.decay)\n" "        torch._foreach_addcdiv_(self.params, self.m, vh, value=-lr / (1 - b1 ** self.t))\n", NULL, NULL, "not blocked"},
	{"fused adam lines", job_plain, "            mh = m / (1 - b1 ** self.t)\n" "            vh = v / (1 - b2 ** self.t)\n" "            p.mul_(1 - lr * self.decay)\n" "            p.sub_(lr * mh / (vh.sqrt() + self.eps))\n", "            denominator = (v / (1 - b2 ** self.t)).sqrt_().add_(self.eps)\n" "            p.mul_(1 - lr * self.decay).addcdiv_(m, denominator, value=-lr / (1 - b1 ** self.t))\n", NULL, NULL, "not blocked"},
	{"hoisted corrections", job_plain, "        b1, b2 = self.betas\n", "        b1, b2 = self.betas\n" "        c1, c2 = 1 - b1 ** self.t, 1 - b2 ** self.t\n", "            mh = m / (1 - b1 ** self.t)\n" "            vh = v / (1 - b2 ** self.t)\n", "            mh = m / c1\n" "            vh = v / c2\n", "none"},
	{"torch AdamW fused", job_plain, "    optimizer = Adam(model.parameters(), args.lr, args.decay)\n", "    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95), eps=1e-8, weight_decay=args.decay, fused=True)\n", NULL, NULL, "not blocked"},
	{"bucket", job_plain, "    for p in model.parameters():\n" "        dist.all_reduce(p.grad)\n" "        p.grad /= world\n", "    grads = [p.grad for p in model.parameters()]\n" "    flat = torch.cat([g.reshape(-1) for g in grads])\n" "    dist.all_reduce(flat)\n" "    flat /= world\n" "    at = 0\n" "    for g in grads:\n" "        g.copy_(flat[at : at + g.numel()].view_as(g))\n" "        at += g.numel()\n", NULL, NULL, "not blocked"},
	{"async average", job_plain, "    for p in model.parameters():\n" "        dist.all_reduce(p.grad)\n" "        p.grad /= world\n", "    works = [(p, dist.all_reduce(p.grad, async_op=True)) for p in model.parameters()]\n" "    for p, work in works:\n" "        work.wait()\n" "        p.grad /= world\n", NULL, NULL, "none"},
	{"coalesced", job_plain, "    for p in model.parameters():\n" "        dist.all_reduce(p.grad)\n" "        p.grad /= world\n", "    grads = [p.grad for p in model.parameters()]\n" "    dist.all_reduce_coalesced(grads)\n" "    torch._foreach_div_(grads, world)\n", NULL, NULL, "not blocked"},
	{"single process", job_plain, "        average(model, world)\n", "        if world > 1:\n" "            average(model, world)\n", NULL, NULL, "none"},
	{"ddp wrapper", job_plain, "        average(model, world)\n", "", "    optimizer = Adam(", "    model = nn.parallel.DistributedDataParallel(model)\n" "    optimizer = Adam(", "not blocked"},
	{"clip lib", job_plain, "    total = torch.sqrt(sum(p.grad.pow(2).sum() for p in model.parameters()))\n" "    scale = min(1.0, limit / (float(total) + 1e-6))\n" "    for p in model.parameters():\n" "        p.grad.mul_(scale)\n" "    return total\n", "    return nn.utils.clip_grad_norm_(model.parameters(), limit)\n", NULL, NULL, "none"},
	{"clip foreach", job_plain, "    total = torch.sqrt(sum(p.grad.pow(2).sum() for p in model.parameters()))\n" "    scale = min(1.0, limit / (float(total) + 1e-6))\n" "    for p in model.parameters():\n" "        p.grad.mul_(scale)\n" "    return total\n", "    grads = [p.grad for p in model.parameters()]\n" "    total = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(grads)))\n" "    scale = torch.clamp(limit / (total + 1e-6), max=1.0)\n" "    torch._foreach_mul_(grads, scale)\n" "    return total\n", NULL, NULL, "none"},
	{"ema foreach", job_plain, "            for n, p in model.named_parameters():\n" "                averaged[n].mul_(0.99).add_(p, alpha=0.01)\n", "            torch._foreach_lerp_(list(averaged.values()), list(model.parameters()), 0.01)\n", NULL, NULL, "none"},
	{"ema lerp", job_plain, "                averaged[n].mul_(0.99).add_(p, alpha=0.01)\n", "                averaged[n].lerp_(p, 0.01)\n", NULL, NULL, "none"},
	{"chunked ce", job_plain, "            logits = model(ids)\n" "            loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), wanted.reshape(-1))\n", "            hidden = model.features(ids)\n" "            loss = chunked_cross_entropy(model.head, hidden, wanted)\n", "class Adam:", "def chunked_cross_entropy(head, hidden, wanted, rows=1024):\n" "    hidden, wanted = hidden.reshape(-1, hidden.size(-1)), wanted.reshape(-1)\n" "    total = hidden.new_zeros(())\n" "    for i in range(0, hidden.size(0), rows):\n" "        total = total + F.cross_entropy(head(hidden[i : i + rows]), wanted[i : i + rows], reduction=\"sum\")\n" "    return total / wanted.numel()\n" "\n" "\n" "class Adam:", "not blocked"},
	{"loss flatten", job_plain, "F.cross_entropy(logits.reshape(-1, logits.size(-1)), wanted.reshape(-1))", "F.cross_entropy(logits.flatten(0, 1), wanted.flatten())", NULL, NULL, "not blocked"},
	{"loss item later", job_plain, "            loss_sum += loss.item() / args.accum\n", "            loss_sum += loss.detach() / args.accum\n", NULL, NULL, "none"},
	{"batch vectorised", job_plain, "        rows = [self.corpus.row(start + i, self.length + 1) for i in range(size)]\n" "        ids = torch.tensor(rows, dtype=torch.long)\n", "        ids = torch.from_numpy(self.corpus.rows(start, size, self.length + 1)).long()\n", NULL, NULL, "not blocked"},
	{"batch stack", job_plain, "        ids = torch.tensor(rows, dtype=torch.long)\n", "        ids = torch.from_numpy(np.stack(rows)).long()\n", NULL, NULL, "not blocked"},
	{"prefetch thread", job_plain, "        for part in range(args.accum):\n" "            ids, wanted = rows.batch(step * args.accum + part, args.batch)\n", "        for part in range(args.accum):\n" "            ids, wanted = ahead.get()\n", "    seen = 0\n" "    for step", "    ahead = queue.Queue(maxsize=2)\n" "\n" "    def fetch():\n" "        for i in range(args.steps * args.accum):\n" "            ahead.put(rows.batch(i, args.batch))\n" "\n" "    threading.Thread(target=fetch, daemon=True).start()\n" "    seen = 0\n" "    for step", "not blocked"},
	{"prefetch one", job_plain, "            ids, wanted = rows.batch(step * args.accum + part, args.batch)\n", "            ids, wanted = upcoming\n" "            upcoming = rows.batch(step * args.accum + part + 1, args.batch)\n", "    seen = 0\n" "    for step", "    upcoming = rows.batch(0, args.batch)\n" "    seen = 0\n" "    for step", "not blocked"},
	{"block checkpoint", job_plain, "            x = block(x)\n", "            x = checkpoint(block, x, use_reentrant=False)\n", NULL, NULL, "not blocked"},
	{"checkpoint every second", job_plain, "        for block in self.blocks:\n" "            x = block(x)\n", "        for i, block in enumerate(self.blocks):\n" "            if i % 2 == 0:\n" "                x = checkpoint(block, x, use_reentrant=False)\n" "            else:\n" "                x = block(x)\n", NULL, NULL, "not blocked"},
	{"residual in place", job_plain, "        return x + self.drop(self.mlp(self.norm2(x)))", "        return torch.add(x, self.drop(self.mlp(self.norm2(x))))", NULL, NULL, "none"},
	{"qkv unbind", job_plain, "        q, k, v = self.qkv(x).chunk(3, dim=-1)\n" "        q, k, v = (z.view(b, t, self.heads, c // self.heads).transpose(1, 2) for z in (q, k, v))\n", "        q, k, v = self.qkv(x).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)\n", NULL, NULL, "not blocked"},
	{"compile", job_plain, "    model = Model(length=args.length)\n", "    model = torch.compile(Model(length=args.length))\n", NULL, NULL, "none"},
	{"timers", job_plain, "            logits = model(ids)\n", "            t1 = time.perf_counter()\n" "            logits = model(ids)\n" "            forward_s = time.perf_counter() - t1\n", "  {seconds * 1e3:.1f} ms\")", "  {seconds * 1e3:.1f} ms  forward {forward_s * 1e3:.1f}\")", "none"},
	{"phase report", job_plain, "        if rank == 0 and step % 10 == 0:", "        if rank == 0 and step % 50 == 0:", NULL, NULL, "none"},
	{"bench threads", job_plain, "    torch.set_num_threads(args.threads)\n", "    torch.set_num_threads(args.threads)\n" "    torch.set_num_interop_threads(1)\n" "    torch.set_flush_denormal(False)\n", NULL, NULL, "none"},
	{"threads default", job_plain, "\"--threads\", type=int, default=2", "\"--threads\", type=int, default=4", NULL, NULL, "none"},
	{"zero foreach", job_plain, "    def zero(self):\n" "        for p in self.params:\n" "            p.grad = None\n", "    def zero(self):\n" "        for p in self.params:\n" "            if p.grad is not None:\n" "                p.grad.zero_()\n", NULL, NULL, "none"},
	{"empty rows", job_plain, "            logits = model(ids)\n", "            if ids.size(0) == 0:\n" "                continue\n" "            logits = model(ids)\n", NULL, NULL, "not blocked"},
	{"range check", job_plain, "            logits = model(ids)\n", "            if int(ids.max()) > 255:\n" "                raise ValueError(\"a byte is out of range\")\n" "            logits = model(ids)\n", NULL, NULL, "none"},
	{"oom log", job_plain, "            (loss / args.accum).backward()\n", "            try:\n" "                (loss / args.accum).backward()\n" "            except RuntimeError:\n" "                print(\"backward failed at step\", step)\n" "                raise\n", NULL, NULL, "none"},
	{"fp64 sum", job_plain, "        loss_sum = 0.0\n", "        loss_sum = torch.zeros((), dtype=torch.float64)\n", NULL, NULL, "none"},
	{"logits fp32", job_plain, "        return self.head(self.norm(x))", "        return self.head(self.norm(x)).float()", NULL, NULL, "none"},
	{"typed", job_plain, "def clip(model, limit):", "def clip(model: nn.Module, limit: float) -> torch.Tensor:", "def rate(step, args):", "def rate(step: int, args: argparse.Namespace) -> float:", "none"},
	{"split main", job_plain, "    seen = 0\n" "    for step", "    def one_part(step, part):\n" "        ids, wanted = rows.batch(step * args.accum + part, args.batch)\n" "        hook.rows(ids)\n" "        logits = model(ids)\n" "        loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), wanted.reshape(-1))\n" "        (loss / args.accum).backward()\n" "        return loss.item() / args.accum\n" "\n" "    seen = 0\n" "    for step", "            ids, wanted = rows.batch(step * args.accum + part, args.batch)\n" "            hook.rows(ids)\n" "            logits = model(ids)\n" "            loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), wanted.reshape(-1))\n" "            (loss / args.accum).backward()\n" "            loss_sum += loss.item() / args.accum\n", "            loss_sum += one_part(step, part)\n", "not blocked"},
	{"contiguous", job_plain, "y.transpose(1, 2).contiguous().view(b, t, c)", "y.transpose(1, 2).reshape(b, t, c)", NULL, NULL, "none"},
	{"softmax fp32", job_plain, "torch.softmax(scores, dim=-1)", "torch.softmax(scores, dim=-1, dtype=torch.float32)", NULL, NULL, "none"},
	{"matmul baddbmm", job_plain, "        scores = q @ k.transpose(-2, -1) / math.sqrt(c // self.heads)\n", "        scores = torch.matmul(q * (c // self.heads) ** -0.5, k.transpose(-2, -1))\n", NULL, NULL, "none"},
	{"layernorm functional", job_plain, "        x = x + self.drop(self.attend(self.norm1(x)))\n", "        h = F.layer_norm(x, x.shape[-1:], self.norm1.weight, self.norm1.bias, self.norm1.eps)\n" "        x = x + self.drop(self.attend(h))\n", NULL, NULL, "not blocked"},
	{"gc freeze", job_plain, "    seen = 0\n", "    seen = 0\n" "    gc.collect()\n" "    gc.freeze()\n", NULL, NULL, "none"},
	{"logging module", job_plain, "            print(f\"step {step:5d}", "            log.info(f\"step {step:5d}", NULL, NULL, "none"},
	{"no_grad accuracy", job_plain, "            loss_sum += loss.item() / args.accum\n", "            loss_sum += loss.item() / args.accum\n" "            with torch.no_grad():\n" "                right = (logits.argmax(-1) == wanted).float().mean()\n", NULL, NULL, "none"},
	{"unused removed", job_plain, "    dist.destroy_process_group()\n" "\n", "    if dist.is_initialized():\n" "        dist.destroy_process_group()\n" "\n", NULL, NULL, "none"},
};

#endif
