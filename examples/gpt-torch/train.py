"""Trains a character-level GPT.

    python3 train.py --steps 30
"""

import argparse
import math
import resource
import time

import torch
from torch.utils.data import DataLoader

import data
from model import GPT, GPTConfig

try:
    from infrarsi_hook import Hook
except ImportError:  # nobody is watching
    class Hook:
        __getattr__ = lambda self, name: lambda *args, **kwargs: None


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=30, help="optimizer updates")
    p.add_argument("--global-batch", type=int, default=8, help="sequences of an update")
    p.add_argument("--micro-batch", type=int, default=2, help="sequences of a forward and backward pass")
    p.add_argument("--workers", type=int, default=0, help="processes that load data")
    p.add_argument("--block-size", type=int, default=192, help="characters of a sequence")
    p.add_argument("--layers", type=int, default=4)
    p.add_argument("--heads", type=int, default=6)
    p.add_argument("--width", type=int, default=192)
    p.add_argument("--dropout", type=float, default=0.0)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--warmup-steps", type=int, default=10)
    p.add_argument("--weight-decay", type=float, default=0.1)
    p.add_argument("--grad-clip", type=float, default=1.0)
    p.add_argument("--log-every", type=int, default=5)
    p.add_argument("--seed", type=int, default=1337)
    p.add_argument("--device", default="cpu")
    p.add_argument("--out", default="ckpt.pt", help="where the model goes in the end")
    return p.parse_args()


def get_lr(step, args, horizon=2000):
    """Linear warm-up, then a cosine down to a tenth."""
    if step < args.warmup_steps:
        return args.lr * (step + 1) / args.warmup_steps
    progress = min(1.0, (step - args.warmup_steps) / (horizon - args.warmup_steps))
    return args.lr * (0.1 + 0.45 * (1.0 + math.cos(math.pi * progress)))


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    device = torch.device(args.device)
    grad_accum = args.global_batch // args.micro_batch
    assert grad_accum * args.micro_batch == args.global_batch

    train_data, _ = data.load(args.block_size)
    loader = DataLoader(train_data, batch_size=args.micro_batch, shuffle=True, drop_last=True,
                        num_workers=args.workers, generator=torch.Generator().manual_seed(args.seed))

    config = GPTConfig(vocab_size=train_data.vocab_size, block_size=args.block_size, n_layer=args.layers,
                       n_head=args.heads, n_embd=args.width, dropout=args.dropout)
    model = GPT(config).to(device)
    decay = [p for p in model.parameters() if p.dim() >= 2]
    no_decay = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": args.weight_decay},
                                   {"params": no_decay, "weight_decay": 0.0}], lr=args.lr, betas=(0.9, 0.95))
    dtype = str(next(model.parameters()).dtype).removeprefix("torch.")
    n_params = sum(p.numel() for p in model.parameters())
    print(f"{n_params / 1e6:.2f}M parameters of {dtype}, vocabulary of {config.vocab_size}")

    hook = Hook()
    for name, p in model.named_parameters():
        hook.param(name, p.shape, str(p.dtype))
    hook.start(stack="ddp", layers=args.layers, d_attn=args.width, seq_len=args.block_size, storage=dtype,
               compute=dtype, global_batch=args.global_batch, versions={"torch": torch.__version__})

    model.train()
    running_loss = 0.0
    batches = iter(loader)
    t_last = time.perf_counter()
    for step in range(args.steps):
        lr = get_lr(step, args)
        for group in optimizer.param_groups:
            group["lr"] = lr

        optimizer.zero_grad(set_to_none=False)
        step_loss = 0.0
        for _ in range(grad_accum):
            x, y = next(batches)
            hook.rows(x)
            x, y = x.to(device), y.to(device)
            logits, loss = model(x, y)
            loss = loss / grad_accum
            loss.backward()
            step_loss += loss.item()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), args.grad_clip)
        optimizer.step()

        running_loss += step_loss
        now = time.perf_counter()
        dt, t_last = now - t_last, now
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # bytes; Linux counts in KiB
        hook.update(loss=step_loss, grad_norm=norm.item(), lr=lr, opt_step=step + 1, step_s=dt, mem=peak,
                    tokens=args.global_batch * args.block_size)
        if (step + 1) % args.log_every == 0:
            print(f"step {step + 1}: loss {running_loss / args.log_every:.4f}, norm {norm:.3f}, "
                  f"{dt * 1000:.1f} ms, peak {peak / 2**20:.0f} MiB")
            running_loss = 0.0

    torch.save({"model": model.state_dict(), "config": vars(config)}, args.out)
    hook.end()


if __name__ == "__main__":
    main()
