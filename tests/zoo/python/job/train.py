"""Trains the model; run alone or under torchrun."""

import math
import os
import sys
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

import infrarsi_hook
from checkpoint import checkpoint_path, load_checkpoint, save_checkpoint
from config import parse_config
from data import build_loader, endless
from evaluate import evaluate
from loss import training_loss
from model import GPT
from optim import EMA, build_optimizer, clip_gradients, learning_rate, set_learning_rate
from timing import StepTimer, peak_memory_bytes, synchronize

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def setup_distributed(config):
    rank = int(os.environ.get("RANK", 0))
    world_size = int(os.environ.get("WORLD_SIZE", 1))
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    device = torch.device(f"cuda:{local_rank}" if config.device == "cuda" else config.device)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    if world_size > 1:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    return rank, world_size, device


def start_hook(model, config, rank, world_size):
    hook = infrarsi_hook.Hook()
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            hook.param(name, parameter.shape, str(parameter.dtype).removeprefix("torch."))
    hook.start(
        rank=rank,
        world=world_size,
        stack="ddp",
        layers=config.n_layer,
        d_attn=config.n_embd,
        seq_len=config.seq_len,
        global_batch=config.micro_batch_size * config.grad_accum_steps * world_size,
        storage="fp32",
        compute={"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}[config.dtype],
    )
    return hook


def all_reduce_mean(value, world_size):
    if world_size > 1:
        dist.all_reduce(value)
        value /= world_size
    return value


def check_finite(loss, grad_norm, step):
    if not math.isfinite(loss):
        raise RuntimeError(f"loss is {loss} at step {step}")
    if not math.isfinite(grad_norm):
        print(f"step {step}: gradient norm is {grad_norm}", file=sys.stderr)


def train(config):
    rank, world_size, device = setup_distributed(config)
    torch.manual_seed(config.seed)
    torch.set_float32_matmul_precision("highest")
    dtype = DTYPES[config.dtype]

    def autocast():
        return nullcontext() if dtype == torch.float32 else torch.autocast(device.type, dtype=dtype)

    raw_model = GPT(config).to(device)
    optimizer = build_optimizer(raw_model, config)
    scaler = torch.amp.GradScaler(device.type, enabled=dtype == torch.float16)
    ema = EMA(raw_model, config.ema_decay)
    path = checkpoint_path(config.out_dir, rank)
    first_step, consumed_rows = load_checkpoint(path, raw_model, optimizer, scaler, ema, device)
    if first_step == 0:
        torch.manual_seed(config.seed + rank)  # dropout differs between ranks
    hook = start_hook(raw_model, config, rank, world_size)
    model = torch.compile(raw_model) if config.compile else raw_model
    if world_size > 1:
        model = DDP(model, device_ids=[device.index] if device.type == "cuda" else None)

    loader, sampler = build_loader(config, "train", rank, world_size)
    sampler.epoch, sampler.start = divmod(consumed_rows, len(sampler))
    batches = endless(loader, sampler)
    timer = StepTimer(device)
    opt_step = first_step
    model.train()
    for step in range(first_step, config.max_steps):
        timer.start()
        lr = learning_rate(step, config)
        set_learning_rate(optimizer, lr)
        step_loss = torch.zeros((), device=device)
        tokens = 0
        for micro in range(config.grad_accum_steps):
            with timer.phase("data"):
                inputs, targets = next(batches)
                hook.rows(inputs)
                inputs, targets = inputs.to(device), targets.to(device)
            if world_size > 1:
                model.require_backward_grad_sync = micro == config.grad_accum_steps - 1
            with timer.phase("forward"), autocast():
                logits, aux_loss = model(inputs)
                loss, ce = training_loss(logits, targets, aux_loss, config)
            with timer.phase("backward"):
                scaler.scale(loss / config.grad_accum_steps).backward()
            step_loss += ce.detach() / config.grad_accum_steps
            tokens += inputs.numel()
            consumed_rows += inputs.size(0)
        with timer.phase("optimizer"):
            scaler.unscale_(optimizer)
            grad_norm = clip_gradients(raw_model.parameters(), config.grad_clip)
            scale_before = scaler.get_scale()
            scaler.step(optimizer)
            scaler.update()
            applied = scaler.get_scale() >= scale_before
            optimizer.zero_grad(set_to_none=False)
            if applied:
                ema.update(raw_model)
                opt_step += 1
        with timer.phase("collective"):
            step_loss = all_reduce_mean(step_loss, world_size)
        loss_value, norm_value = step_loss.item(), grad_norm.item()
        check_finite(loss_value, norm_value, step)
        step_s = timer.stop()
        if applied:
            hook.update(
                loss=loss_value,
                grad_norm=norm_value,
                lr=lr,
                opt_step=opt_step,
                tokens=tokens,
                step_s=step_s,
                mem=peak_memory_bytes(device),
            )
            hook.phase(**timer.phases)
        if rank == 0 and step % config.log_interval == 0:
            synchronize(device)
            rate = tokens * world_size / step_s
            print(f"step {step}: loss {loss_value:.4f}, norm {norm_value:.3f}, {1e3 * step_s:.1f} ms, {rate:.0f} tok/s")
        if config.eval_interval and (step + 1) % config.eval_interval == 0:
            val_loss = evaluate(ema.shadow, config, rank, world_size, device, autocast)
            if rank == 0:
                print(f"step {step}: val loss {val_loss:.4f}")
        if config.save_interval and (step + 1) % config.save_interval == 0:
            save_checkpoint(path, step + 1, raw_model, optimizer, scaler, ema, consumed_rows)
    hook.end()
    if world_size > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    train(parse_config())
