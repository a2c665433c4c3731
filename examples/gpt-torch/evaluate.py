"""Loss of a trained model on the text that follows what it was trained on.

    python3 evaluate.py [ckpt.pt]

Under infrarsi this file, model.py and data.py are the untouched ones, whatever trained the model.
"""

import os
import sys

import torch

import data
from model import GPT, GPTConfig


@torch.no_grad()
def main():
    path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.environ.get("INFRARSI_RUN_DIR", "."), "ckpt.pt")
    saved = torch.load(path, map_location="cpu", weights_only=True)
    model = GPT(GPTConfig(**saved["config"]))
    model.load_state_dict(saved["model"])
    model.eval()
    _, val_data = data.load(model.config.block_size)
    rows = range(0, len(val_data), model.config.block_size)
    total = 0.0
    for first in range(0, len(rows), 16):
        x, y = (torch.stack(t) for t in zip(*(val_data[i] for i in rows[first:first + 16])))
        total += model(x, y)[1].item() * len(x)
    print(f"validation loss {total / len(rows):.5f}")


if __name__ == "__main__":
    main()
