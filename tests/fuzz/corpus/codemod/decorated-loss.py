# a loss that no statement holds
import torch
import torch.nn as nn
import torch.nn.functional as F
class Net(nn.Module):
    def __init__(self):
        self.head = nn.Linear(4, 9)
    def forward(self, x, y=None):
        logits = self.head(x)
        @F.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1))
        def g():
            pass
        return g
