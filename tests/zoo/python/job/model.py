"""A decoder-only transformer with rotary positions; every second block has a mixture of experts."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        variance = x.float().pow(2).mean(-1, keepdim=True)
        return (x.float() * torch.rsqrt(variance + self.eps)).type_as(x) * self.weight


def rope_tables(seq_len, head_dim, device, base=10000.0):
    inv_freq = 1.0 / (base ** (torch.arange(0, head_dim, 2, device=device).float() / head_dim))
    angles = torch.outer(torch.arange(seq_len, device=device).float(), inv_freq)
    return angles.cos(), angles.sin()


def apply_rope(x, cos, sin):
    even, odd = x[..., 0::2], x[..., 1::2]
    rotated = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)
    return rotated.flatten(-2).type_as(x)


class CausalSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.n_head = config.n_head
        self.head_dim = config.n_embd // config.n_head
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=False)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=False)
        self.attn_dropout = nn.Dropout(config.dropout)
        self.resid_dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(C, dim=2)
        q = q.view(B, T, self.n_head, self.head_dim).transpose(1, 2)
        k = k.view(B, T, self.n_head, self.head_dim).transpose(1, 2)
        v = v.view(B, T, self.n_head, self.head_dim).transpose(1, 2)
        cos, sin = rope_tables(T, self.head_dim, x.device)
        q, k = apply_rope(q, cos, sin), apply_rope(k, cos, sin)
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(self.head_dim)
        mask = torch.tril(torch.ones(T, T, dtype=torch.bool, device=x.device))
        scores = scores.masked_fill(~mask, float("-inf"))
        weights = self.attn_dropout(F.softmax(scores, dim=-1))
        y = (weights @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.resid_dropout(self.c_proj(y))


class MLP(nn.Module):
    def __init__(self, config, hidden):
        super().__init__()
        self.w_gate = nn.Linear(config.n_embd, hidden, bias=False)
        self.w_up = nn.Linear(config.n_embd, hidden, bias=False)
        self.w_down = nn.Linear(hidden, config.n_embd, bias=False)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        return self.dropout(self.w_down(F.silu(self.w_gate(x)) * self.w_up(x)))


class MoE(nn.Module):
    """Top-k routing with a capacity per expert; tokens over capacity pass on the residual path alone."""

    def __init__(self, config):
        super().__init__()
        self.n_experts = config.n_experts
        self.top_k = config.top_k
        self.capacity_factor = config.capacity_factor
        self.router = nn.Linear(config.n_embd, config.n_experts, bias=False)
        self.experts = nn.ModuleList(MLP(config, 2 * config.n_embd) for _ in range(config.n_experts))

    def forward(self, x):
        B, T, C = x.size()
        tokens = x.reshape(-1, C)
        probs = F.softmax(self.router(tokens).float(), dim=-1)
        gates, chosen = probs.topk(self.top_k, dim=-1)
        gates = gates / gates.sum(dim=-1, keepdim=True)
        capacity = math.ceil(self.capacity_factor * tokens.size(0) * self.top_k / self.n_experts)
        out = torch.zeros_like(tokens)
        for e, expert in enumerate(self.experts):
            rows, slot = torch.where(chosen == e)
            rows, slot = rows[:capacity], slot[:capacity]
            y = expert(tokens[rows]) * gates[rows, slot].unsqueeze(-1).type_as(tokens)
            out.index_add_(0, rows, y.type_as(out))
        load = F.one_hot(chosen, self.n_experts).float().sum(1).mean(0) / self.top_k
        aux_loss = self.n_experts * torch.sum(load * probs.mean(0))
        return out.view(B, T, C), aux_loss


class Block(nn.Module):
    def __init__(self, config, layer):
        super().__init__()
        self.norm_1 = RMSNorm(config.n_embd)
        self.attn = CausalSelfAttention(config)
        self.norm_2 = RMSNorm(config.n_embd)
        self.is_moe = layer % 2 == 1
        self.mlp = MoE(config) if self.is_moe else MLP(config, 4 * config.n_embd)

    def forward(self, x):
        x = x + self.attn(self.norm_1(x))
        h = self.norm_2(x)
        if self.is_moe:
            h, aux_loss = self.mlp(h)
        else:
            h, aux_loss = self.mlp(h), x.new_zeros(())
        return x + h, aux_loss


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.drop = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config, i) for i in range(config.n_layer))
        self.norm_f = RMSNorm(config.n_embd)
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.lm_head.weight = self.wte.weight
        self.apply(self._init_weights)

    @staticmethod
    def _init_weights(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)

    def flops_per_token(self):
        n_params = sum(p.numel() for p in self.parameters()) - self.wte.weight.numel()
        c = self.config
        return 6 * n_params + 12 * c.n_layer * c.n_embd * c.seq_len

    def forward(self, idx):
        x = self.drop(self.wte(idx))
        aux_losses = []
        for block in self.blocks:
            x, aux_loss = checkpoint(block, x, use_reentrant=False) if self.training else block(x)
            aux_losses.append(aux_loss)
        logits = self.lm_head(self.norm_f(x))
        return logits, torch.stack(aux_losses).sum()
