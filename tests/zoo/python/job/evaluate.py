"""Validation loss of the averaged weights."""

import torch

from data import build_loader
from loss import token_losses


@torch.no_grad()
def evaluate(model, config, rank, world_size, device, autocast):
    loader, _ = build_loader(config, "val", rank, world_size)
    nll_sum = torch.zeros((), device=device, dtype=torch.float64)
    count_sum = torch.zeros((), device=device, dtype=torch.float64)
    for i, (inputs, targets) in enumerate(loader):
        if i == config.eval_batches:
            break
        with autocast():
            logits, _ = model(inputs.to(device))
        nll, _, count = token_losses(logits, targets.to(device))
        nll_sum += nll.double()
        count_sum += count.double()
    if world_size > 1:
        torch.distributed.all_reduce(nll_sum)
        torch.distributed.all_reduce(count_sum)
    return (nll_sum / count_sum).item()
