import math

import torch


def new_gelu(x):
    """The approximation that the first GPT used."""
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))
