#
import math
import torch
import torch.nn as nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

class Attention(nn.Module):
    def __init__(self):
        self.register_buffer("bias", torch.tril(torch.ones(8, 8)))
    def forward(self, q, k, v, T):
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float('-inf'))
        att = F.softmax(att, dim=-1)
        att = self.attn_dropout(att)
        y = att @ v
        return y

def main():
    model = GPT(cfg)
    model.to("cuda")
    model = DDP(model, device_ids=[0])
    opt = torch.optim.AdamW(
        model.parameters(),
        lr=1e-3,
    )
    loader = DataLoader(data, batch_size=4, shuffle=False)
    total = 0.0
    for step, (x, y) in enumerate(loader):
        loss = model(x, y)
        opt.zero_grad(set_to_none=False)
        loss.backward()
        opt.step()
        total += loss.item()
        if step % 10 == 0:
            print(f"loss {total / 10:.4f}")
            total = 0.0
