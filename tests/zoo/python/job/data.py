"""Rows of a flat token file, shuffled once an epoch, dealt to the ranks without overlap."""

import os

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from loss import IGNORE

END_OF_DOCUMENT = 0


class TokenRows(Dataset):
    def __init__(self, data_dir, split, seq_len):
        self.path = os.path.join(data_dir, f"{split}.bin")
        self.tokens = np.memmap(self.path, dtype=np.uint16, mode="r")
        self.seq_len = seq_len

    def __len__(self):
        return (len(self.tokens) - 1) // self.seq_len

    def __getitem__(self, row):
        start = row * self.seq_len
        chunk = torch.from_numpy(self.tokens[start : start + self.seq_len + 1].astype(np.int64))
        inputs, targets = chunk[:-1], chunk[1:].clone()
        targets[inputs == END_OF_DOCUMENT] = IGNORE
        return inputs, targets


class RankSampler(Sampler):
    """The same permutation on every rank, cut into strides; resumes at a given row."""

    def __init__(self, n_rows, rank, world_size, seed):
        self.n_rows, self.rank, self.world_size, self.seed = n_rows, rank, world_size, seed
        self.epoch = 0
        self.start = 0

    def __iter__(self):
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        order = torch.randperm(self.n_rows, generator=generator).tolist()
        usable = self.n_rows - self.n_rows % self.world_size
        yield from order[self.rank : usable : self.world_size][self.start :]

    def __len__(self):
        return self.n_rows // self.world_size


def build_loader(config, split, rank, world_size):
    rows = TokenRows(config.data_dir, split, config.seq_len)
    sampler = RankSampler(len(rows), rank, world_size, config.seed)
    loader = DataLoader(
        rows,
        batch_size=config.micro_batch_size,
        sampler=sampler,
        num_workers=config.num_workers,
        drop_last=True,
    )
    return loader, sampler


def endless(loader, sampler):
    while True:
        for batch in loader:
            yield batch
        sampler.epoch += 1
        sampler.start = 0
