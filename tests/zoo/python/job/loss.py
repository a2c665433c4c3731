"""What is minimised: cross entropy over the tokens that have a target, a z-loss, and the router's balance."""

import torch
import torch.nn.functional as F

IGNORE = -1  # targets at document ends


def token_losses(logits, targets):
    """Sum of the cross entropy, sum of the squared log-partition, and the number of tokens that count."""
    logits = logits.float().view(-1, logits.size(-1))
    targets = targets.reshape(-1)
    valid = targets != IGNORE
    nll = F.cross_entropy(logits, targets, ignore_index=IGNORE, reduction="sum")
    log_z = torch.logsumexp(logits, dim=-1)
    z_sum = (log_z.square() * valid).sum()
    return nll, z_sum, valid.sum()


def training_loss(logits, targets, aux_loss, config):
    nll, z_sum, count = token_losses(logits, targets)
    ce = nll / count
    total = ce + config.z_loss_coef * z_sum / count + config.aux_loss_coef * aux_loss
    return total, ce
