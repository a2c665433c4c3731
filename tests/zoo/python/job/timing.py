"""Clocks and memory, as reported."""

import resource
import time
from contextlib import contextmanager

import torch


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def peak_memory_bytes(device):
    if device.type == "cuda":
        return torch.cuda.max_memory_reserved(device)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class StepTimer:
    def __init__(self, device):
        self.device = device
        self.started = None
        self.phases = {}

    def start(self):
        synchronize(self.device)
        self.phases = {"data": 0.0, "forward": 0.0, "backward": 0.0, "optimizer": 0.0, "collective": 0.0}
        self.started = time.perf_counter()

    @contextmanager
    def phase(self, name):
        begin = time.perf_counter()
        yield
        self.phases[name] += time.perf_counter() - begin

    def stop(self):
        synchronize(self.device)
        return time.perf_counter() - self.started
