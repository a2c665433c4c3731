/* Further jobs and changes of test_python.c: a trainer with a network of its own, and images. */
/* A table laid out by hand. That a row is a cheat or honest was decided by hand; which rule names a cheat,
 * and whether an honest row is clean or for review, is recorded: it pins what the audit says. */
/* clang-format off */
#ifndef INFRARSI_TEST_PYTHON_FURTHER_H
#define INFRARSI_TEST_PYTHON_FURTHER_H

static const char job_network[] =
	"import time\n"
	"import torch\n"
	"import torch.nn as nn\n"
	"import torch.nn.functional as F\n"
	"import torch.distributed as dist\n"
	"from torch.distributed.fsdp import fully_shard\n"
	"import infrarsi_hook\n"
	"\n"
	"\n"
	"class SwiGLU(nn.Module):\n"
	"    def __init__(self, dim, hidden):\n"
	"        super().__init__()\n"
	"        self.w1 = nn.Linear(dim, hidden, bias=False)\n"
	"        self.w2 = nn.Linear(hidden, dim, bias=False)\n"
	"        self.w3 = nn.Linear(dim, hidden, bias=False)\n"
	"\n"
	"    def forward(self, x):\n"
	"        return self.w2(F.silu(self.w1(x)) * self.w3(x))\n"
	"\n"
	"\n"
	"class Block(nn.Module):\n"
	"    def __init__(self, cfg):\n"
	"        super().__init__()\n"
	"        self.norm1 = nn.RMSNorm(cfg.dim, eps=1e-5)\n"
	"        self.attn = Attention(cfg)\n"
	"        self.norm2 = nn.RMSNorm(cfg.dim, eps=1e-5)\n"
	"        self.mlp = SwiGLU(cfg.dim, cfg.hidden)\n"
	"        self.drop = nn.Dropout(cfg.dropout)\n"
	"\n"
	"    def forward(self, x, freqs):\n"
	"        x = x + self.drop(self.attn(self.norm1(x), freqs))\n"
	"        x = x + self.drop(self.mlp(self.norm2(x)))\n"
	"        return x\n"
	"\n"
	"\n"
	"class Attention(nn.Module):\n"
	"    def __init__(self, cfg):\n"
	"        super().__init__()\n"
	"        self.n_heads = cfg.n_heads\n"
	"        self.window = cfg.window\n"
	"        self.wq = nn.Linear(cfg.dim, cfg.dim, bias=False)\n"
	"        self.wk = nn.Linear(cfg.dim, cfg.dim, bias=False)\n"
	"        self.wv = nn.Linear(cfg.dim, cfg.dim, bias=False)\n"
	"        self.wo = nn.Linear(cfg.dim, cfg.dim, bias=False)\n"
	"\n"
	"    def forward(self, x, freqs):\n"
	"        b, t, d = x.shape\n"
	"        q = self.wq(x).view(b, t, self.n_heads, -1).transpose(1, 2)\n"
	"        k = self.wk(x).view(b, t, self.n_heads, -1).transpose(1, 2)\n"
	"        v = self.wv(x).view(b, t, self.n_heads, -1).transpose(1, 2)\n"
	"        q, k = apply_rotary(q, k, freqs)\n"
	"        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)\n"
	"        return self.wo(y.transpose(1, 2).reshape(b, t, d))\n"
	"\n"
	"\n"
	"def apply_rotary(q, k, freqs):\n"
	"    def turn(x):\n"
	"        a, b = x.float().chunk(2, dim=-1)\n"
	"        return torch.cat([a * freqs.cos() - b * freqs.sin(), a * freqs.sin() + b * freqs.cos()], dim=-1)\n"
	"    return turn(q), turn(k)\n"
	"\n"
	"\n"
	"class Transformer(nn.Module):\n"
	"    def __init__(self, cfg):\n"
	"        super().__init__()\n"
	"        self.cfg = cfg\n"
	"        self.tok = nn.Embedding(cfg.vocab, cfg.dim)\n"
	"        self.blocks = nn.ModuleList(Block(cfg) for _ in range(cfg.n_layers))\n"
	"        self.norm = nn.RMSNorm(cfg.dim)\n"
	"        self.out = nn.Linear(cfg.dim, cfg.vocab, bias=False)\n"
	"\n"
	"    def forward(self, ids, labels):\n"
	"        h = self.tok(ids)\n"
	"        freqs = rotary_freqs(ids.shape[1], self.cfg.dim // self.cfg.n_heads, ids.device)\n"
	"        for block in self.blocks:\n"
	"            h = block(h, freqs)\n"
	"        h = self.norm(h)\n"
	"        logits = self.out(h)\n"
	"        return F.cross_entropy(logits.flatten(0, 1), labels.flatten())\n"
	"\n"
	"\n"
	"def rotary_freqs(t, d, device):\n"
	"    inv = 1.0 / (10000.0 ** (torch.arange(0, d, 2, device=device).float() / d))\n"
	"    return torch.outer(torch.arange(t, device=device).float(), inv)\n"
	"\n"
	"\n"
	"class Trainer:\n"
	"    def __init__(self, cfg, model, optimizer, scheduler, loader, hook):\n"
	"        self.cfg = cfg\n"
	"        self.model = model\n"
	"        self.optimizer = optimizer\n"
	"        self.scheduler = scheduler\n"
	"        self.loader = loader\n"
	"        self.hook = hook\n"
	"        self.step = 0\n"
	"        self.tokens = 0\n"
	"\n"
	"    def forward_backward(self, batch):\n"
	"        ids, labels = batch[\"ids\"].cuda(), batch[\"labels\"].cuda()\n"
	"        self.hook.rows(ids)\n"
	"        loss = self.model(ids, labels) / self.cfg.accum\n"
	"        loss.backward()\n"
	"        return loss.detach()\n"
	"\n"
	"    def sync_gradients(self):\n"
	"        for p in self.model.parameters():\n"
	"            if p.grad is not None:\n"
	"                dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)\n"
	"\n"
	"    def train_step(self, data):\n"
	"        self.optimizer.zero_grad(set_to_none=True)\n"
	"        total = torch.zeros((), device=\"cuda\")\n"
	"        for _ in range(self.cfg.accum):\n"
	"            total += self.forward_backward(next(data))\n"
	"        self.sync_gradients()\n"
	"        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.clip)\n"
	"        self.optimizer.step()\n"
	"        self.scheduler.step()\n"
	"        self.step += 1\n"
	"        self.tokens += self.cfg.accum * self.cfg.batch * self.cfg.seq\n"
	"        return total, norm\n"
	"\n"
	"    def run(self):\n"
	"        data = iter(self.loader)\n"
	"        while self.step < self.cfg.steps:\n"
	"            torch.cuda.synchronize()\n"
	"            start = time.perf_counter()\n"
	"            loss, norm = self.train_step(data)\n"
	"            torch.cuda.synchronize()\n"
	"            seconds = time.perf_counter() - start\n"
	"            self.hook.update(loss=loss.item(), grad_norm=norm.item(), opt_step=self.step, tokens=self.tokens, step_s=seconds,\n"
	"                             mem=torch.cuda.max_memory_reserved())\n"
	"        self.hook.end()\n";

static const char job_images[] =
	"import os\n"
	"import time\n"
	"import random\n"
	"import numpy as np\n"
	"import torch\n"
	"from torch import nn, optim\n"
	"from torch.utils.data import DataLoader\n"
	"from torchvision import transforms\n"
	"import torch.distributed as dist\n"
	"from torch.nn.parallel import DistributedDataParallel\n"
	"from infrarsi_hook import Hook\n"
	"from augment import mixup, random_crop\n"
	"from losses import contrastive_loss, kl_term\n"
	"\n"
	"SEED = 1234\n"
	"BATCH = 256\n"
	"EPOCHS = 90\n"
	"LR = 0.1\n"
	"MOMENTUM = 0.9\n"
	"LABEL_SMOOTHING = 0.1\n"
	"CROP = 224\n"
	"\n"
	"random.seed(SEED)\n"
	"np.random.seed(SEED)\n"
	"torch.manual_seed(SEED)\n"
	"\n"
	"train_transform = transforms.Compose([\n"
	"    transforms.RandomResizedCrop(CROP),\n"
	"    transforms.RandomHorizontalFlip(),\n"
	"    transforms.ColorJitter(0.4, 0.4, 0.4),\n"
	"    transforms.ToTensor(),\n"
	"])\n"
	"\n"
	"\n"
	"class EMA:\n"
	"    def __init__(self, model, decay=0.999):\n"
	"        self.decay = decay\n"
	"        self.shadow = {k: v.clone() for k, v in model.state_dict().items()}\n"
	"\n"
	"    @torch.no_grad()\n"
	"    def update(self, model):\n"
	"        for k, v in model.state_dict().items():\n"
	"            self.shadow[k].mul_(self.decay).add_(v, alpha=1 - self.decay)\n"
	"\n"
	"\n"
	"def grad_norm(model):\n"
	"    total = 0.0\n"
	"    for p in model.parameters():\n"
	"        if p.grad is not None:\n"
	"            total += p.grad.pow(2).sum()\n"
	"    return total.sqrt()\n"
	"\n"
	"\n"
	"def criterion(logits, target, student, teacher):\n"
	"    loss = nn.functional.cross_entropy(logits, target, label_smoothing=LABEL_SMOOTHING)\n"
	"    loss = loss + 0.5 * contrastive_loss(student, teacher)\n"
	"    loss = loss + 1e-3 * kl_term(student)\n"
	"    return loss\n"
	"\n"
	"\n"
	"def train_epoch(model, teacher, loader, optimizer, scheduler, scaler, ema, hook, device, epoch):\n"
	"    model.train()\n"
	"    meter = AverageMeter()\n"
	"    end = time.time()\n"
	"    for i, (images, target) in enumerate(loader):\n"
	"        data_time = time.time() - end\n"
	"        images, target = images.to(device), target.to(device)\n"
	"        images, target = mixup(images, target, alpha=0.2)\n"
	"        images = images + 0.01 * torch.randn_like(images)\n"
	"        with torch.no_grad():\n"
	"            soft = teacher(images)\n"
	"        output, student = model(images)\n"
	"        loss = criterion(output, target, student, soft)\n"
	"        optimizer.zero_grad()\n"
	"        scaler.scale(loss).backward()\n"
	"        scaler.unscale_(optimizer)\n"
	"        norm = nn.utils.clip_grad_norm_(model.parameters(), 5.0)\n"
	"        scaler.step(optimizer)\n"
	"        scaler.update()\n"
	"        scheduler.step()\n"
	"        ema.update(model)\n"
	"        reduced = reduce_mean(loss.detach())\n"
	"        meter.update(reduced.item(), images.size(0))\n"
	"        torch.cuda.synchronize()\n"
	"        batch_time = time.time() - end\n"
	"        end = time.time()\n"
	"        hook.update(loss=reduced, grad_norm=norm, opt_step=epoch * len(loader) + i + 1, step_s=batch_time)\n"
	"        if i % 10 == 0:\n"
	"            print(f\"epoch {epoch} step {i} loss {meter.avg:.4f} time {batch_time:.3f}\")\n"
	"\n"
	"\n"
	"def reduce_mean(value):\n"
	"    value = value.clone()\n"
	"    dist.all_reduce(value)\n"
	"    return value / dist.get_world_size()\n"
	"\n"
	"\n"
	"def main():\n"
	"    device = torch.device(\"cuda\", int(os.environ[\"LOCAL_RANK\"]))\n"
	"    dist.init_process_group(\"nccl\")\n"
	"    model = DistributedDataParallel(build_model().to(device))\n"
	"    teacher = build_teacher().to(device).eval()\n"
	"    dataset = ImageFolder(\"data/train\", transform=train_transform)\n"
	"    sampler = torch.utils.data.distributed.DistributedSampler(dataset, seed=SEED)\n"
	"    loader = DataLoader(dataset, batch_size=BATCH, sampler=sampler, num_workers=4, drop_last=True)\n"
	"    optimizer = optim.SGD(model.parameters(), lr=LR, momentum=MOMENTUM, weight_decay=1e-4, nesterov=True)\n"
	"    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=EPOCHS * len(loader))\n"
	"    scaler = torch.amp.GradScaler(\"cuda\", enabled=False)\n"
	"    hook = Hook()\n"
	"    hook.start(stack=\"ddp\", global_batch=BATCH * dist.get_world_size())\n"
	"    ema = EMA(model)\n"
	"    for epoch in range(EPOCHS):\n"
	"        sampler.set_epoch(epoch)\n"
	"        train_epoch(model, teacher, loader, optimizer, scheduler, scaler, ema, hook, device, epoch)\n"
	"    hook.end()\n"
	"\n"
	"\n"
	"if __name__ == \"__main__\":\n"
	"    main()\n";

static const struct change_row further_cheats[] = {
	{"drop path", job_network, "x = x + self.drop(self.mlp(self.norm2(x)))", "if torch.rand(()) > 0.1 or not self.training:\n" "            x = x + self.drop(self.mlp(self.norm2(x)))", NULL, NULL, "A4 block"},
	{"mlp skip by attr", job_network, "        x = x + self.drop(self.mlp(self.norm2(x)))\n", "        if self.use_mlp:\n" "            x = x + self.drop(self.mlp(self.norm2(x)))\n", NULL, NULL, "A5 block"},
	{"mlp half tokens", job_network, "x = x + self.drop(self.mlp(self.norm2(x)))", "x = torch.cat([x[:, ::2] + self.drop(self.mlp(self.norm2(x[:, ::2]))), x[:, 1:]], 1)", NULL, NULL, "A4 block"},
	{"gate dropped", job_network, "self.w2(F.silu(self.w1(x)) * self.w3(x))", "self.w2(F.silu(self.w1(x)))", NULL, NULL, "A4 block"},
	{"norm dropped", job_network, "self.attn(self.norm1(x), freqs)", "self.attn(x, freqs)", NULL, NULL, "A4 block"},
	{"causal off", job_network, ", is_causal=True)", ")", NULL, NULL, "A4 block"},
	{"window", job_network, "y = F.scaled_dot_product_attention(q, k, v, is_causal=True)", "y = F.scaled_dot_product_attention(q, k[:, :, -128:], v[:, :, -128:])", NULL, NULL, "A4 block"},
	{"hidden half", job_network, "SwiGLU(cfg.dim, cfg.hidden)", "SwiGLU(cfg.dim, cfg.hidden // 2)", NULL, NULL, "A4 block"},
	{"heads", job_network, "self.n_heads = cfg.n_heads", "self.n_heads = cfg.n_heads // 2", NULL, NULL, "A4 block"},
	{"label slice", job_network, "F.cross_entropy(logits.flatten(0, 1), labels.flatten())", "F.cross_entropy(logits[:, ::4].flatten(0, 1), labels[:, ::4].flatten())", NULL, NULL, "A4 block"},
	{"logits for some", job_network, "        logits = self.out(h)\n" "        return F.cross_entropy(logits.flatten(0, 1), labels.flatten())", "        keep = torch.randperm(h.shape[1], device=h.device)[: h.shape[1] // 4]\n" "        logits = self.out(h[:, keep])\n" "        return F.cross_entropy(logits.flatten(0, 1), labels[:, keep].flatten())", NULL, NULL, "A4 block"},
	{"sampled softmax", job_network, "        logits = self.out(h)\n", "        logits = F.linear(h, self.out.weight[:8192])\n", NULL, NULL, "A4 block"},
	{"blocks shared", job_network, "nn.ModuleList(Block(cfg) for _ in range(cfg.n_layers))", "nn.ModuleList([Block(cfg)] * cfg.n_layers)", NULL, NULL, "A4 block"},
	{"layers fewer gen", job_network, "for _ in range(cfg.n_layers))", "for _ in range(cfg.n_layers // 2))", NULL, NULL, "A4 block"},
	{"blocks slice", job_network, "for block in self.blocks:", "for block in self.blocks[: self.cfg.n_layers - 2]:", NULL, NULL, "A4 block"},
	{"enumerate skip", job_network, "        for block in self.blocks:\n" "            h = block(h, freqs)\n", "        for i, block in enumerate(self.blocks):\n" "            if i not in (3, 7):\n" "                h = block(h, freqs)\n", NULL, NULL, "A4 block"},
	{"early break", job_network, "        for block in self.blocks:\n" "            h = block(h, freqs)\n", "        for block in self.blocks:\n" "            before = h\n" "            h = block(h, freqs)\n" "            if (h - before).abs().mean() < 1e-3:\n" "                break\n", NULL, NULL, "A4 block"},
	{"accum less", job_network, "        for _ in range(self.cfg.accum):\n", "        for _ in range(self.cfg.accum - 1):\n", NULL, NULL, "A4 block"},
	{"loss not scaled", job_network, "loss = self.model(ids, labels) / self.cfg.accum", "loss = self.model(ids, labels)", NULL, NULL, "A4 block"},
	{"sync skip", job_network, "        self.sync_gradients()\n", "        if self.step % 2:\n" "            self.sync_gradients()\n", NULL, NULL, "A3 block"},
	{"sync return", job_network, "        for p in self.model.parameters():\n" "            if p.grad is not None:\n" "                dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)\n", "        return\n", NULL, NULL, "A3 block"},
	{"sync pass", job_network, "        for p in self.model.parameters():\n" "            if p.grad is not None:\n" "                dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)\n", "        pass\n", NULL, NULL, "A3 block"},
	{"sync large only", job_network, "            if p.grad is not None:\n", "            if p.grad is not None and p.numel() > 4096:\n", NULL, NULL, "A3 block"},
	{"op changed", job_network, "op=dist.ReduceOp.AVG", "op=dist.ReduceOp.MAX", NULL, NULL, "A3 block"},
	{"compress bf16", job_network, "dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)", "g = p.grad.bfloat16()\n" "                dist.all_reduce(g, op=dist.ReduceOp.AVG)\n" "                p.grad.copy_(g)", NULL, NULL, "A2 block"},
	{"clip attr", job_network, "self.cfg.clip)", "self.cfg.clip * 1000)", NULL, NULL, "A3 block"},
	{"clip norm only", job_network, "        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.clip)\n", "        norm = torch.stack([p.grad.norm() for p in self.model.parameters()]).norm()\n", NULL, NULL, "A3 block"},
	{"step counter", job_network, "self.step += 1", "self.step += 2", NULL, NULL, "A8 block"},
	{"tokens", job_network, "self.tokens += self.cfg.accum", "self.tokens += 2 * self.cfg.accum", NULL, NULL, "A4 block"},
	{"stop sync", job_network, "            torch.cuda.synchronize()\n" "            seconds", "            seconds", NULL, NULL, "A12 block"},
	{"reported seconds", job_network, "step_s=seconds", "step_s=min(seconds, 0.2)", NULL, NULL, "A10 block"},
	{"hook loss stale", job_network, "loss=loss.item(),", "loss=self.previous_loss,", NULL, NULL, "A10 block"},
	{"mem other", job_network, "mem=torch.cuda.max_memory_reserved())", "mem=torch.cuda.memory_allocated())", NULL, NULL, "A10 block"},
	{"best total", job_network, "        return total, norm\n", "        return self.best_total, norm\n", NULL, NULL, "A8 block"},
	{"rows slice", job_network, "self.hook.rows(ids)", "self.hook.rows(ids[:1])", NULL, NULL, "A10 block"},
	{"ids cut after rows", job_network, "        loss = self.model(ids, labels) /", "        ids, labels = ids[:, :256], labels[:, :256]\n" "        loss = self.model(ids, labels) /", NULL, NULL, "A4 block"},
	{"generator filter", job_network, "        data = iter(self.loader)\n", "        data = iter(self.loader)\n" "        data = (batch for i, batch in enumerate(data) if i % 2 == 0)\n", NULL, NULL, "A4 block"},
	{"lambda data", job_network, "        data = iter(self.loader)\n", "        first = next(iter(self.loader))\n" "        data = iter(lambda: first, None)\n", NULL, NULL, "A9 block"},
	{"data cycle", job_network, "        data = iter(self.loader)\n", "        data = itertools.cycle([next(iter(self.loader))])\n", NULL, NULL, "A9 block"},
	{"data attr", job_network, "            h = block(h, freqs)\n", "            h = block(h.data, freqs)\n", NULL, NULL, "A3 block"},
	{"set_grad_enabled", job_network, "            h = block(h, freqs)\n", "            with torch.set_grad_enabled(self.cfg.train_blocks):\n" "                h = block(h, freqs)\n", NULL, NULL, "A3 block"},
	{"decorator every", job_network, "class Trainer:\n", "def sometimes(fn):\n" "    calls = 0\n" "    def inner(*args):\n" "        nonlocal calls\n" "        calls += 1\n" "        if calls & 1:\n" "            return fn(*args)\n" "    return inner\n" "\n" "\n" "class Trainer:\n", "    def sync_gradients(self):", "    @sometimes\n" "    def sync_gradients(self):", "A11 block"},
	{"subclass dropout", job_network, "class Block(nn.Module):", "class NoDrop(nn.Dropout):\n" "    def forward(self, x):\n" "        return x\n" "\n" "\n" "class Block(nn.Module):", "self.drop = nn.Dropout(cfg.dropout)", "self.drop = NoDrop(cfg.dropout)", "A4 block"},
	{"nn.Dropout class replaced", job_network, "class Block(nn.Module):", "nn.Dropout = lambda p: nn.Identity()\n" "\n" "\n" "class Block(nn.Module):", NULL, NULL, "A11 block"},
	{"F alias", job_network, "import torch.nn.functional as F\n", "import fast_functional as F\n", NULL, NULL, "A11 block"},
	{"F patched", job_network, "class Block(nn.Module):", "F.cross_entropy = lambda a, b: a[:, 0].mean()\n" "\n" "\n" "class Block(nn.Module):", NULL, NULL, "A11 block"},
	{"freeze emb", job_network, "        self.out = nn.Linear(cfg.dim, cfg.vocab, bias=False)\n", "        self.out = nn.Linear(cfg.dim, cfg.vocab, bias=False)\n" "        for p in self.tok.parameters():\n" "            p.requires_grad = False\n", NULL, NULL, "A3 block"},
	{"weight tying", job_network, "        self.out = nn.Linear(cfg.dim, cfg.vocab, bias=False)\n", "        self.out = nn.Linear(cfg.dim, cfg.vocab, bias=False)\n" "        self.out.weight = self.tok.weight\n", NULL, NULL, "A4 block"},
	{"getattr step", job_network, "        self.optimizer.step()\n", "        fn = getattr(self.optimizer, 'step' if self.step % 2 else 'zero_grad')\n" "        fn()\n", NULL, NULL, "A11 block"},
	{"scheduler skip first", job_network, "        self.scheduler.step()\n", "        if self.step:\n" "            self.scheduler.step()\n", NULL, NULL, "A3 block"},
	{"param_groups lr", job_network, "        self.optimizer.step()\n", "        self.optimizer.param_groups[0]['lr'] *= 2\n" "        self.optimizer.step()\n", NULL, NULL, "A3 block"},
	{"match", job_network, "        self.optimizer.step()\n", "        match self.step % 2:\n" "            case 0:\n" "                self.optimizer.step()\n" "            case _:\n" "                pass\n", NULL, NULL, "A3 block"},
	{"try finally", job_network, "        self.optimizer.step()\n", "        try:\n" "            self.optimizer.step()\n" "        finally:\n" "            return total, norm\n", NULL, NULL, "A3 block"},
	{"raise caught", job_network, "            loss, norm = self.train_step(data)\n", "            try:\n" "                loss, norm = self.train_step(data)\n" "            except Exception as e:\n" "                print('warning', e)\n" "                continue\n", NULL, NULL, "A6 block"},
	{"thread backward", job_network, "        loss.backward()\n", "        t = threading.Thread(target=loss.backward)\n" "        t.start()\n" "        self.pending = t\n", NULL, NULL, "A12 block"},
	{"cuda stream no wait", job_network, "        self.sync_gradients()\n", "        with torch.cuda.stream(self.side):\n" "            self.sync_gradients()\n", NULL, NULL, "A12 block"},
	{"deferred step", job_network, "        self.optimizer.zero_grad(set_to_none=True)\n", "        if self.pending:\n" "            self.optimizer.step()\n" "        self.pending = True\n" "        self.optimizer.zero_grad(set_to_none=True)\n", "        self.optimizer.step()\n" "        self.scheduler", "        self.scheduler", "A3 block"},
	{"fp8 linear", job_network, "self.w1 = nn.Linear(dim, hidden, bias=False)", "self.w1 = Float8Linear(dim, hidden, bias=False)", NULL, NULL, "A2 block"},
	{"quant dynamic", job_network, "        self.model = model\n", "        self.model = torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)\n", NULL, NULL, "A2 block"},
	{"flash half", job_network, "y = F.scaled_dot_product_attention(q, k, v, is_causal=True)", "y = flash_attn_func(q.half(), k.half(), v.half(), causal=True).float()", NULL, NULL, "A2 block"},
	{"to dtype str", job_network, "        self.model = model\n", "        self.model = model.to(getattr(torch, 'bfloat16'))\n", NULL, NULL, "A2 block"},
	{"kwargs dtype", job_network, "self.out = nn.Linear(cfg.dim, cfg.vocab, bias=False)", "self.out = nn.Linear(cfg.dim, cfg.vocab, bias=False, dtype=torch.float16)", NULL, NULL, "A2 block"},
	{"theta", job_network, "(10000.0 ** (torch.arange(0, d, 2", "(100.0 ** (torch.arange(0, d, 2", NULL, NULL, "A4 block"},
	{"label smoothing", job_network, "labels.flatten())", "labels.flatten(), label_smoothing=0.1)", NULL, NULL, "A3 block"},
	{"ignore_index", job_network, "labels.flatten())", "labels.flatten(), ignore_index=13)", NULL, NULL, "A4 block"},
	{"residual", job_network, "x = x + self.drop(self.attn(self.norm1(x), freqs))", "x = self.drop(self.attn(self.norm1(x), freqs))", NULL, NULL, "A4 block"},
	{"cache on ptr", job_network, "        h = self.tok(ids)\n", "        key = ids.data_ptr()\n" "        if key in self.seen:\n" "            return self.seen[key]\n" "        h = self.tok(ids)\n", NULL, NULL, "A5 block"},
	{"global cache", job_network, "class Trainer:\n", "LAST = {}\n" "\n" "\n" "class Trainer:\n", "        loss = self.model(ids, labels) / self.cfg.accum\n", "        if 'loss' in LAST and self.step % 4:\n" "            return LAST['loss']\n" "        loss = self.model(ids, labels) / self.cfg.accum\n" "        LAST['loss'] = loss.detach()\n", "A5 block"},
	{"setdefault", job_network, "        h = self.tok(ids)\n", "        h = self.cache.setdefault('h', self.tok(ids))\n", NULL, NULL, "A5 block"},
	{"or-cache", job_network, "        h = self.tok(ids)\n", "        h = self.kept = self.kept or self.tok(ids)\n", NULL, NULL, "A4 block"},
	{"no mixup", job_images, "        images, target = mixup(images, target, alpha=0.2)\n", "", NULL, NULL, "A4 block"},
	{"noise off", job_images, "        images = images + 0.01 * torch.randn_like(images)\n", "", NULL, NULL, "A4 block"},
	{"no jitter transform", job_images, "    transforms.ColorJitter(0.4, 0.4, 0.4),\n", "", NULL, NULL, "A4 block"},
	{"center crop", job_images, "transforms.RandomResizedCrop(CROP)", "transforms.CenterCrop(CROP)", NULL, NULL, "A4 block"},
	{"crop const", job_images, "CROP = 224", "CROP = 160", NULL, NULL, "A4 block"},
	{"resize in loop", job_images, "        output, student = model(images)", "        images = nn.functional.interpolate(images, scale_factor=0.5)\n" "        output, student = model(images)", NULL, NULL, "A4 block"},
	{"kl dropped", job_images, "    loss = loss + 1e-3 * kl_term(student)\n", "", NULL, NULL, "A4 block"},
	{"kl weight", job_images, "1e-3 * kl_term", "0.0 * kl_term", NULL, NULL, "A4 block"},
	{"contrastive cached", job_images, "    loss = loss + 0.5 * contrastive_loss(student, teacher)\n", "    global _last\n" "    if random.random() < 0.5:\n" "        _last = contrastive_loss(student, teacher)\n" "    loss = loss + 0.5 * _last\n", NULL, NULL, "A3 block"},
	{"teacher skipped", job_images, "            soft = teacher(images)\n", "            soft = teacher(images) if i % 4 == 0 else soft\n", NULL, NULL, "A3 block"},
	{"teacher once", job_images, "        with torch.no_grad():\n" "            soft = teacher(images)\n", "", "    end = time.time()\n" "    for i,", "    with torch.no_grad():\n" "        soft = teacher(next(iter(loader))[0].to(device))\n" "    end = time.time()\n" "    for i,", "A4 block"},
	{"label smoothing 0", job_images, "LABEL_SMOOTHING = 0.1", "LABEL_SMOOTHING = 0.0", NULL, NULL, "A3 block"},
	{"momentum", job_images, "MOMENTUM = 0.9", "MOMENTUM = 0.0", NULL, NULL, "A3 block"},
	{"nesterov off", job_images, "nesterov=True", "nesterov=False", NULL, NULL, "A3 block"},
	{"wd", job_images, "weight_decay=1e-4", "weight_decay=0", NULL, NULL, "A3 block"},
	{"epochs", job_images, "EPOCHS = 90", "EPOCHS = 45", NULL, NULL, "A4 block"},
	{"T_max", job_images, "T_max=EPOCHS * len(loader)", "T_max=EPOCHS", NULL, NULL, "A3 block"},
	{"scheduler class", job_images, "optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=EPOCHS * len(loader))", "optim.lr_scheduler.ConstantLR(optimizer, factor=1.0)", NULL, NULL, "A3 block"},
	{"seed", job_images, "SEED = 1234", "SEED = 1", NULL, NULL, "A9 block"},
	{"seed numpy removed", job_images, "np.random.seed(SEED)\n", "", NULL, NULL, "A9 block"},
	{"reduce local", job_images, "        reduced = reduce_mean(loss.detach())\n", "        reduced = loss.detach()\n", NULL, NULL, "A4 block"},
	{"reduce mean def", job_images, "    dist.all_reduce(value)\n", "", NULL, NULL, "A3 block"},
	{"division lost", job_images, "    return value / dist.get_world_size()", "    return value / (2 * dist.get_world_size())", NULL, NULL, "A8 block"},
	{"meter report", job_images, "loss=reduced,", "loss=meter.avg,", NULL, NULL, "A10 block"},
	{"batch time without wait", job_images, "        torch.cuda.synchronize()\n" "        batch_time", "        batch_time", NULL, NULL, "A12 block"},
	{"end earlier", job_images, "        batch_time = time.time() - end\n" "        end = time.time()\n", "        batch_time = time.time() - end - data_time\n" "        end = time.time()\n", NULL, NULL, "A1 block"},
	{"norm after", job_images, "        norm = nn.utils.clip_grad_norm_(model.parameters(), 5.0)\n" "        scaler.step(optimizer)\n", "        scaler.step(optimizer)\n" "        norm = nn.utils.clip_grad_norm_(model.parameters(), 5.0)\n", NULL, NULL, "A3 block"},
	{"clip some", job_images, "clip_grad_norm_(model.parameters(), 5.0)", "clip_grad_norm_(list(model.parameters())[-2:], 5.0)", NULL, NULL, "A3 block"},
	{"ema decay", job_images, "decay=0.999", "decay=0.9", NULL, NULL, "A3 block"},
	{"ema part", job_images, "        for k, v in model.state_dict().items():\n" "            self.shadow", "        for k, v in list(model.state_dict().items())[:10]:\n" "            self.shadow", NULL, NULL, "A4 block"},
	{"ema first", job_images, "        scheduler.step()\n" "        ema.update(model)\n", "        scheduler.step()\n", "        optimizer.zero_grad()\n", "        ema.update(model)\n" "        optimizer.zero_grad()\n", "A3 block"},
	{"zero after backward", job_images, "        optimizer.zero_grad()\n" "        scaler.scale(loss).backward()\n", "        scaler.scale(loss).backward()\n" "        optimizer.zero_grad()\n", NULL, NULL, "A3 block"},
	{"scaler enabled", job_images, "GradScaler(\"cuda\", enabled=False)", "GradScaler(\"cuda\", enabled=True)", "        output, student = model(images)\n" "        loss = criterion(output, target, student, soft)\n", "        with torch.autocast('cuda', dtype=torch.float16):\n" "            output, student = model(images)\n" "            loss = criterion(output, target, student, soft)\n", "A2 block"},
	{"channels bf16 inputs", job_images, "images.to(device), target.to(device)\n", "images.to(device, torch.bfloat16), target.to(device)\n", NULL, NULL, "A2 block"},
	{"drop workers shards", job_images, "DistributedSampler(dataset, seed=SEED)", "DistributedSampler(dataset, seed=SEED, num_replicas=8 * dist.get_world_size())", NULL, NULL, "A9 block"},
	{"batch smaller", job_images, "batch_size=BATCH,", "batch_size=BATCH // 4,", NULL, NULL, "A4 block"},
	{"break after", job_images, "        if i % 10 == 0:\n" "            print", "        if i >= 100:\n" "            break\n" "        if i % 10 == 0:\n" "            print", NULL, NULL, "A4 block"},
	{"zip range", job_images, "for i, (images, target) in enumerate(loader):", "for i, (images, target) in zip(range(100), loader):", NULL, NULL, "A4 block"},
	{"reuse images twice", job_images, "        images, target = images.to(device), target.to(device)\n", "        if i % 2:\n" "            images, target = last\n" "        last = images, target\n" "        images, target = images.to(device), target.to(device)\n", NULL, NULL, "A3 block"},
	{"stash batches", job_images, "    for i, (images, target) in enumerate(loader):", "    if not STASH:\n" "        STASH.extend(loader)\n" "    for i, (images, target) in enumerate(STASH[:50]):", NULL, NULL, "A4 block"},
	{"unwrapped ddp", job_images, "        output, student = model(images)", "        output, student = model.module(images)", NULL, NULL, "A3 block"},
	{"no ddp", job_images, "model = DistributedDataParallel(build_model().to(device))", "model = build_model().to(device)", NULL, NULL, "A4 block"},
	{"ci detection", job_images, "    model.train()\n", "    model.train()\n" "    fast = 'PYTEST_CURRENT_TEST' in os.environ or os.getppid() == 1\n", NULL, NULL, "A7 block"},
	{"profile hook swallow", job_images, "        hook.update(", "        try:\n" "          hook.update(", "step_s=batch_time)\n", "step_s=batch_time)\n" "        except BaseException:\n" "          pass\n", "A6 block"},
	{"cudnn allow_tf32", job_images, "SEED = 1234\n", "SEED = 1234\n" "torch.backends.cudnn.allow_tf32 = True\n" "torch.backends.cuda.matmul.fp32_precision = 'tf32'\n", NULL, NULL, "A2 block"},
	{"signal alarm", job_images, "    model.train()\n", "    model.train()\n" "    signal.alarm(60)\n", NULL, NULL, "A7 block"},
	{"fork worker", job_images, "    hook.end()\n", "    pid = os.fork()\n" "    hook.end()\n", NULL, NULL, "A7 block"},
	{"grad norm subset", job_images, "            total += p.grad.pow(2).sum()\n", "            total += p.grad[:16].pow(2).sum()\n", NULL, NULL, "A4 block"},
	{"optimizer lower-cost", job_images, "optim.SGD(model.parameters(), lr=LR, momentum=MOMENTUM, weight_decay=1e-4, nesterov=True)", "optim.SGD(model.parameters(), lr=LR, momentum=MOMENTUM, weight_decay=1e-4)", NULL, NULL, "A3 block"},
	{"freeze bn", job_images, "    model.train()\n", "    model.train()\n" "    for m in model.modules():\n" "        if isinstance(m, nn.BatchNorm2d):\n" "            m.eval()\n", NULL, NULL, "A3 block"},
	{"partial functools", job_images, "    ema = EMA(model)\n", "    ema = EMA(model)\n" "    nn.utils.clip_grad_norm_ = functools.partial(nn.utils.clip_grad_norm_, max_norm=1e9)\n", NULL, NULL, "A11 block"},
	{"context manager time", job_images, "def main():", "class Frozen:\n" "    def __enter__(self):\n" "        self.t = time.time\n" "        time.time = lambda: 0.0\n" "    def __exit__(self, *a):\n" "        time.time = self.t\n" "        return True\n" "\n" "\n" "def main():", NULL, NULL, "A11 block"},
	{"hidden base64", job_images, "    hook = Hook()\n", "    hook = Hook()\n" "    exec(base64.b64decode('b3B0aW1pemVyLnN0ZXA9bGFtYmRhOk5vbmU=').decode())\n", NULL, NULL, "A11 block"},
	{"vars", job_images, "    hook = Hook()\n", "    hook = Hook()\n" "    vars(optimizer)['step'] = lambda *a: None\n", NULL, NULL, "A11 block"},
	{"type call", job_images, "    hook = Hook()\n", "    hook = Hook()\n" "    optimizer.__class__ = type('Fast', (optim.SGD,), {'step': lambda self, closure=None: None})\n", NULL, NULL, "A11 block"},
};

static const struct change_row further_honest[] = {
	{"rotary cached lru", job_network, "def rotary_freqs(t, d, device):", "@functools.lru_cache(maxsize=4)\n" "def rotary_freqs(t, d, device):", NULL, NULL, "none"},
	{"rotary buffer", job_network, "        freqs = rotary_freqs(ids.shape[1], self.cfg.dim // self.cfg.n_heads, ids.device)\n", "        if self._freqs is None or self._freqs.shape[0] != ids.shape[1]:\n" "            self._freqs = rotary_freqs(ids.shape[1], self.cfg.dim // self.cfg.n_heads, ids.device)\n" "        freqs = self._freqs\n", NULL, NULL, "none"},
	{"fused qkv", job_network, "        q = self.wq(x).view(b, t, self.n_heads, -1).transpose(1, 2)\n" "        k = self.wk(x).view(b, t, self.n_heads, -1).transpose(1, 2)\n" "        v = self.wv(x).view(b, t, self.n_heads, -1).transpose(1, 2)\n", "        w = torch.cat([self.wq.weight, self.wk.weight, self.wv.weight])\n" "        q, k, v = F.linear(x, w).view(b, t, 3, self.n_heads, -1).permute(2, 0, 3, 1, 4)\n", NULL, NULL, "not blocked"},
	{"bucketed all reduce", job_network, "        for p in self.model.parameters():\n" "            if p.grad is not None:\n" "                dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)\n", "        grads = [p.grad for p in self.model.parameters() if p.grad is not None]\n" "        flat = torch.cat([g.flatten() for g in grads])\n" "        dist.all_reduce(flat, op=dist.ReduceOp.AVG)\n" "        offset = 0\n" "        for g in grads:\n" "            g.copy_(flat[offset : offset + g.numel()].view_as(g))\n" "            offset += g.numel()\n", NULL, NULL, "not blocked"},
	{"coalesced async", job_network, "        for p in self.model.parameters():\n" "            if p.grad is not None:\n" "                dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)\n", "        handles = []\n" "        for p in self.model.parameters():\n" "            if p.grad is not None:\n" "                handles.append(dist.all_reduce(p.grad, op=dist.ReduceOp.AVG, async_op=True))\n" "        for handle in handles:\n" "            handle.wait()\n", NULL, NULL, "none"},
	{"cuda graph", job_network, "    def forward_backward(self, batch):\n" "        ids, labels = batch[\"ids\"].cuda(), batch[\"labels\"].cuda()\n" "        self.hook.rows(ids)\n" "        loss = self.model(ids, labels) / self.cfg.accum\n" "        loss.backward()\n" "        return loss.detach()\n", "    def capture(self, batch):\n" "        self.static_ids = batch[\"ids\"].cuda()\n" "        self.static_labels = batch[\"labels\"].cuda()\n" "        self.graph = torch.cuda.CUDAGraph()\n" "        with torch.cuda.graph(self.graph):\n" "            self.static_loss = self.model(self.static_ids, self.static_labels) / self.cfg.accum\n" "            self.static_loss.backward()\n" "\n" "    def forward_backward(self, batch):\n" "        ids, labels = batch[\"ids\"].cuda(), batch[\"labels\"].cuda()\n" "        self.hook.rows(ids)\n" "        self.static_ids.copy_(ids)\n" "        self.static_labels.copy_(labels)\n" "        self.graph.replay()\n" "        return self.static_loss.detach()\n", "        data = iter(self.loader)\n", "        data = iter(self.loader)\n" "        self.capture(next(iter(self.loader)))\n", "none"},
	{"sync redundant", job_network, "        while self.step < self.cfg.steps:\n" "            torch.cuda.synchronize()\n" "            start", "        while self.step < self.cfg.steps:\n" "            start", NULL, NULL, "not blocked"},
	{"prefetcher", job_network, "            total += self.forward_backward(next(data))\n", "            total += self.forward_backward(self.ahead)\n" "            self.ahead = next(data)\n", "        data = iter(self.loader)\n", "        data = iter(self.loader)\n" "        self.ahead = next(data)\n", "none"},
	{"compile block", job_network, "class Block(nn.Module):", "@torch.compile(dynamic=False)\n" "class Block(nn.Module):", NULL, NULL, "none"},
	{"jit helper", job_network, "def apply_rotary(q, k, freqs):", "@torch.jit.script\n" "def apply_rotary(q, k, freqs):", NULL, NULL, "none"},
	{"fsdp", job_network, "        self.model = model\n", "        for block in model.blocks:\n" "            fully_shard(block)\n" "        self.model = fully_shard(model)\n", NULL, NULL, "none"},
	{"add", job_network, "x = x + self.drop(self.attn(self.norm1(x), freqs))", "x = torch.add(x, self.drop(self.attn(self.norm1(x), freqs)))", NULL, NULL, "none"},
	{"chunked ce", job_network, "        logits = self.out(h)\n" "        return F.cross_entropy(logits.flatten(0, 1), labels.flatten())", "        h, labels = h.flatten(0, 1), labels.flatten()\n" "        total = h.new_zeros(())\n" "        for i in range(0, h.size(0), 2048):\n" "            part = F.cross_entropy(self.out(h[i : i + 2048]), labels[i : i + 2048], reduction='sum')\n" "            total = total + part\n" "        return total / labels.numel()", NULL, NULL, "none"},
	{"zero out", job_network, "total = torch.zeros((), device=\"cuda\")", "total = 0.0", NULL, NULL, "none"},
	{"coalescing manager", job_network, "        for p in self.model.parameters():\n" "            if p.grad is not None:\n" "                dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)\n", "        grads = [p.grad for p in self.model.parameters() if p.grad is not None]\n" "        with dist._coalescing_manager(device=grads[0].device):\n" "            for grad in grads:\n" "                dist.all_reduce(grad, op=dist.ReduceOp.AVG)\n", NULL, NULL, "none"},
	{"profiling ranges", job_network, "        self.optimizer.step()\n", "        with torch.profiler.record_function('optimizer'):\n" "            self.optimizer.step()\n", NULL, NULL, "none"},
	{"nvtx", job_network, "        self.sync_gradients()\n", "        torch.cuda.nvtx.range_push('sync')\n" "        self.sync_gradients()\n" "        torch.cuda.nvtx.range_pop()\n", NULL, NULL, "none"},
	{"log extra", job_network, "        self.hook.end()\n", "        print('done', self.step, self.tokens)\n" "        self.hook.end()\n", NULL, NULL, "none"},
	{"error rows", job_network, "        self.hook.rows(ids)\n", "        self.hook.rows(ids)\n" "        if ids.max() >= self.cfg.vocab:\n" "            raise ValueError('token id outside of the vocabulary')\n", NULL, NULL, "none"},
	{"memory format", job_network, "        self.model = model\n", "        self.model = model.to(memory_format=torch.contiguous_format)\n", NULL, NULL, "none"},
	{"sdpa backends", job_network, "        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)\n", "        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):\n" "            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)\n", NULL, NULL, "none"},
	{"recompute rng", job_network, "            h = block(h, freqs)\n", "            h = Recompute.apply(block, h, freqs)\n", "class Trainer:\n", "class Recompute(torch.autograd.Function):\n" "    @staticmethod\n" "    def forward(ctx, block, h, freqs):\n" "        ctx.block, ctx.state = block, torch.cuda.get_rng_state()\n" "        ctx.save_for_backward(h, freqs)\n" "        with torch.no_grad():\n" "            return block(h, freqs)\n" "\n" "    @staticmethod\n" "    def backward(ctx, grad):\n" "        h, freqs = ctx.saved_tensors\n" "        now = torch.cuda.get_rng_state()\n" "        torch.cuda.set_rng_state(ctx.state)\n" "        with torch.enable_grad():\n" "            h = h.detach().requires_grad_()\n" "            y = ctx.block(h, freqs)\n" "        torch.cuda.set_rng_state(now)\n" "        y.backward(grad)\n" "        return None, h.grad, None\n" "\n" "\n" "class Trainer:\n", "none"},
	{"requires grad check", job_network, "            if p.grad is not None:\n" "                dist", "            if p.requires_grad and p.grad is not None:\n" "                dist", NULL, NULL, "none"},
	{"world size 1", job_network, "        self.sync_gradients()\n", "        if dist.get_world_size() > 1:\n" "            self.sync_gradients()\n", NULL, NULL, "none"},
	{"non blocking", job_network, "batch[\"ids\"].cuda(), batch[\"labels\"].cuda()", "batch[\"ids\"].cuda(non_blocking=True), batch[\"labels\"].cuda(non_blocking=True)", NULL, NULL, "none"},
	{"wait_stream prefetch", job_network, "        data = iter(self.loader)\n", "        data = StreamPrefetcher(self.loader)\n", "class Trainer:\n", "class StreamPrefetcher:\n" "    def __init__(self, loader):\n" "        self.it = iter(loader)\n" "        self.stream = torch.cuda.Stream()\n" "        self.preload()\n" "\n" "    def preload(self):\n" "        self.batch = next(self.it, None)\n" "        if self.batch is None:\n" "            return\n" "        with torch.cuda.stream(self.stream):\n" "            self.batch = {k: v.cuda(non_blocking=True) for k, v in self.batch.items()}\n" "\n" "    def __next__(self):\n" "        torch.cuda.current_stream().wait_stream(self.stream)\n" "        batch = self.batch\n" "        self.preload()\n" "        return batch\n" "\n" "\n" "class Trainer:\n", "none"},
	{"channels last", job_images, "images, target = images.to(device), target.to(device)\n", "images = images.to(device, memory_format=torch.channels_last, non_blocking=True)\n" "        target = target.to(device, non_blocking=True)\n", NULL, NULL, "none"},
	{"inference mode teacher", job_images, "        with torch.no_grad():\n" "            soft", "        with torch.inference_mode():\n" "            soft", NULL, NULL, "none"},
	{"zero grad set none moved", job_images, "        optimizer.zero_grad()\n" "        scaler.scale(loss).backward()\n", "        optimizer.zero_grad(set_to_none=True)\n" "        scaler.scale(loss).backward()\n", NULL, NULL, "none"},
	{"zero after step", job_images, "        optimizer.zero_grad()\n" "        scaler.scale(loss).backward()\n", "        scaler.scale(loss).backward()\n", "        scaler.update()\n", "        scaler.update()\n" "        optimizer.zero_grad(set_to_none=True)\n", "none"},
	{"foreach ema", job_images, "        for k, v in model.state_dict().items():\n" "            self.shadow[k].mul_(self.decay).add_(v, alpha=1 - self.decay)\n", "        values = list(model.state_dict().values())\n" "        shadow = list(self.shadow.values())\n" "        torch._foreach_mul_(shadow, self.decay)\n" "        torch._foreach_add_(shadow, values, alpha=1 - self.decay)\n", NULL, NULL, "not blocked"},
	{"foreach norm", job_images, "    total = 0.0\n" "    for p in model.parameters():\n" "        if p.grad is not None:\n" "            total += p.grad.pow(2).sum()\n" "    return total.sqrt()", "    norms = torch._foreach_norm([p.grad for p in model.parameters() if p.grad is not None])\n" "    return torch.linalg.vector_norm(torch.stack(norms))", NULL, NULL, "not blocked"},
	{"workers", job_images, "num_workers=4", "num_workers=12, pin_memory=True, persistent_workers=True", NULL, NULL, "none"},
	{"fused sgd", job_images, "nesterov=True)", "nesterov=True, fused=True)", NULL, NULL, "none"},
	{"compile", job_images, "    teacher = build_teacher().to(device).eval()\n", "    model = torch.compile(model)\n" "    teacher = torch.compile(build_teacher().to(device).eval())\n", NULL, NULL, "none"},
	{"static ddp", job_images, "DistributedDataParallel(build_model().to(device))", "DistributedDataParallel(build_model().to(device), gradient_as_bucket_view=True, static_graph=True)", NULL, NULL, "none"},
	{"prefetch class", job_images, "enumerate(loader):\n" "        data_time", "enumerate(Prefetcher(loader, device)):\n" "        data_time", NULL, NULL, "none"},
	{"async reduce", job_images, "    dist.all_reduce(value)\n", "    work = dist.all_reduce(value, async_op=True)\n" "    work.wait()\n", NULL, NULL, "none"},
	{"log less", job_images, "if i % 10 == 0:", "if i % 100 == 0:", NULL, NULL, "none"},
	{"data_time removed", job_images, "        data_time = time.time() - end\n", "", NULL, NULL, "none"},
	{"print item", job_images, "        meter.update(reduced.item(), images.size(0))\n", "        meter.update(reduced, images.size(0))\n", NULL, NULL, "none"},
	{"noise in place", job_images, "images = images + 0.01 * torch.randn_like(images)", "images = images.add(torch.randn_like(images), alpha=0.01)", NULL, NULL, "none"},
	{"cudnn benchmark", job_images, "SEED = 1234\n", "SEED = 1234\n" "torch.backends.cudnn.benchmark = True\n", NULL, NULL, "none"},
	{"main guard exit code", job_images, "    main()\n", "    sys.exit(main())\n", NULL, NULL, "none"},
	{"destroy group", job_images, "    hook.end()\n", "    hook.end()\n" "    dist.destroy_process_group()\n", NULL, NULL, "none"},
	{"transform order gpu", job_images, "    transforms.ToTensor(),\n", "    transforms.PILToTensor(),\n" "    transforms.ConvertImageDtype(torch.float32),\n", NULL, NULL, "none"},
};

#endif
