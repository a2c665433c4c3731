"""A small residual network on images of 32 x 32, with the usual augmentation."""

import argparse
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

import infrarsi_hook


class Residual(nn.Module):
    def __init__(self, width_in, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(width_in, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.shortcut = nn.Conv2d(width_in, width, 1, stride, bias=False)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, n_classes=10, dropout=0.2):
        super().__init__()
        self.stem = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        self.layers = nn.Sequential(Residual(64, 64, 1), Residual(64, 128, 2), Residual(128, 256, 2))
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(256, n_classes)

    def forward(self, x):
        x = self.layers(F.relu(self.stem(x)))
        return self.head(self.dropout(x.mean((2, 3))))


def augment(images, generator):
    """Random flip, and a crop out of the image padded by four."""
    n = images.size(0)
    flip = torch.rand(n, generator=generator) < 0.5
    images = torch.where(flip[:, None, None, None].to(images.device), images.flip(3), images)
    padded = F.pad(images, (4, 4, 4, 4), mode="reflect")
    dy, dx = torch.randint(0, 9, (2, n), generator=generator).tolist()
    return torch.stack([padded[i, :, dy[i] : dy[i] + 32, dx[i] : dx[i] + 32] for i in range(n)])


def train(args):
    device = torch.device(args.device)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    data = np.load(args.data)
    images, labels = torch.from_numpy(data["images"]), torch.from_numpy(data["labels"]).long()
    mean, std = images.float().mean((0, 2, 3), keepdim=True), images.float().std((0, 2, 3), keepdim=True)
    model = ResNet().to(device)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4, nesterov=True
    )
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.steps)
    hook = infrarsi_hook.Hook()
    for name, parameter in model.named_parameters():
        hook.param(name, parameter.shape, "fp32")
    hook.start(stack="ddp", global_batch=args.batch_size, storage="fp32", compute="fp32")
    order = torch.randperm(len(images), generator=generator)
    for step in range(args.steps):
        started = time.perf_counter()
        at = step * args.batch_size % (len(images) - args.batch_size)
        rows = order[at : at + args.batch_size]
        hook.rows(rows.unsqueeze(1))
        x = augment(((images[rows].float() - mean) / std), generator).to(device)
        loss = F.cross_entropy(model(x), labels[rows].to(device), label_smoothing=0.1)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        lr = scheduler.get_last_lr()[0]
        optimizer.step()
        scheduler.step()
        loss_value = loss.item()
        step_s = time.perf_counter() - started
        hook.update(
            loss=loss_value,
            grad_norm=grad_norm.item(),
            lr=lr,
            opt_step=step + 1,
            tokens=rows.numel(),
            step_s=step_s,
        )
        print(f"step {step}: loss {loss_value:.4f}, {1e3 * step_s:.1f} ms")
    hook.end()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="cifar.npz")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--lr", type=float, default=0.2)
    parser.add_argument("--seed", type=int, default=1)
    train(parser.parse_args())
