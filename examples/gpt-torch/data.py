"""Text to train on, and rows of it.

The text comes from a small seeded grammar, so there is nothing to download: people with habits, places, sums that are
right and quotations that close. A model has letters, words, names that return and a little arithmetic to learn.
"""

import random

import torch
from torch.utils.data import Dataset

NAMES = ["Ada", "Boris", "Chen", "Dalia", "Emil", "Fatou", "Goran", "Hana", "Ivo", "Jun", "Kofi", "Lena"]
PLACES = ["harbour", "market", "old mill", "library", "railway yard", "orchard", "bakery", "north gate"]
GOODS = ["apples", "nails", "candles", "letters", "tiles", "barrels", "books", "lamps"]
VERBS = ["carried", "counted", "sold", "painted", "hid", "found", "weighed", "borrowed"]
TIMES = ["In the morning", "At noon", "Before the rain", "On market day", "Late in the year", "That evening"]


def paragraph(rng):
    who, other = rng.sample(NAMES, 2)
    goods = rng.choice(GOODS)
    lines = []
    for _ in range(rng.randint(3, 6)):
        a, b = rng.randint(2, 60), rng.randint(2, 60)
        lines.append(rng.choice([
            f"{rng.choice(TIMES)} {who} {rng.choice(VERBS)} {a} {goods} at the {rng.choice(PLACES)}.",
            f"{other} had {a} {goods} and got {b} more, which makes {a + b}.",
            f'"{a} and {b} are {a + b}," said {who}, "and {other} knows it."',
            f"Then {who} went from the {rng.choice(PLACES)} to the {rng.choice(PLACES)} with {other}.",
        ]))
    return " ".join(lines) + "\n\n"


def make_text(n_chars, seed):
    rng = random.Random(seed)
    parts, length = [], 0
    while length < n_chars:
        parts.append(paragraph(rng))
        length += len(parts[-1])
    return "".join(parts)[:n_chars]


class CharDataset(Dataset):
    """Emits a chunk of characters, and the same chunk one character later."""

    def __init__(self, text, block_size, chars=None):
        self.chars = chars or sorted(set(text))
        self.stoi = {ch: i for i, ch in enumerate(self.chars)}
        self.vocab_size = len(self.chars)
        self.block_size = block_size
        self.text = text

    def __len__(self):
        return len(self.text) - self.block_size

    def __getitem__(self, idx):
        chunk = self.text[idx:idx + self.block_size + 1]
        dix = [self.stoi[ch] for ch in chunk]
        return torch.tensor(dix[:-1], dtype=torch.long), torch.tensor(dix[1:], dtype=torch.long)


def load(block_size, n_chars=400_000, seed=7):
    """A data set to train on and one, of text that follows it, to evaluate with."""
    text = make_text(n_chars, seed)
    split = int(0.95 * n_chars)
    train = CharDataset(text[:split], block_size)
    return train, CharDataset(text[split:], block_size, train.chars)
