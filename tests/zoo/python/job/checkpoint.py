"""Everything that a resumed run needs to continue as if it had never stopped."""

import os

import torch


def checkpoint_path(out_dir, rank):
    return os.path.join(out_dir, f"rank{rank}.pt")


def save_checkpoint(path, step, model, optimizer, scaler, ema, consumed_rows):
    state = {
        "step": step,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scaler": scaler.state_dict(),
        "ema": ema.state_dict(),
        "consumed_rows": consumed_rows,
        "rng": torch.get_rng_state(),
        "cuda_rng": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }
    os.makedirs(os.path.dirname(path), exist_ok=True)
    torch.save(state, path + ".tmp")
    os.replace(path + ".tmp", path)


def load_checkpoint(path, model, optimizer, scaler, ema, device):
    if not os.path.exists(path):
        return 0, 0
    state = torch.load(path, map_location=device, weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    scaler.load_state_dict(state["scaler"])
    ema.load_state_dict(state["ema"])
    torch.set_rng_state(state["rng"].cpu())
    if state["cuda_rng"]:
        torch.cuda.set_rng_state_all([s.cpu() for s in state["cuda_rng"]])
    return state["step"], state["consumed_rows"]
