"""Settings of the job; every field is also a flag (--grad-accum-steps 8)."""

import argparse
from dataclasses import dataclass, fields


@dataclass
class TrainConfig:
    # data
    data_dir: str = "data"
    seq_len: int = 1024
    micro_batch_size: int = 8
    grad_accum_steps: int = 4
    num_workers: int = 2
    # model
    vocab_size: int = 50304
    n_layer: int = 12
    n_head: int = 12
    n_embd: int = 768
    n_experts: int = 8
    top_k: int = 2
    capacity_factor: float = 1.25
    dropout: float = 0.1
    # loss
    aux_loss_coef: float = 0.01
    z_loss_coef: float = 1e-4
    # optimizer
    max_steps: int = 1000
    learning_rate: float = 6e-4
    min_lr: float = 6e-5
    warmup_steps: int = 100
    weight_decay: float = 0.1
    beta1: float = 0.9
    beta2: float = 0.95
    grad_clip: float = 1.0
    ema_decay: float = 0.999
    # system
    dtype: str = "bfloat16"
    device: str = "cuda"
    compile: bool = False
    seed: int = 1337
    # output
    log_interval: int = 1
    eval_interval: int = 250
    eval_batches: int = 20
    save_interval: int = 500
    out_dir: str = "out"


def parse_config(argv=None) -> TrainConfig:
    parser = argparse.ArgumentParser(description="trains a small mixture-of-experts language model")
    for field in fields(TrainConfig):
        flag = "--" + field.name.replace("_", "-")
        if field.type in (bool, "bool"):
            parser.add_argument(flag, action=argparse.BooleanOptionalAction, default=field.default)
        else:
            parser.add_argument(flag, type=type(field.default), default=field.default)
    return TrainConfig(**vars(parser.parse_args(argv)))
