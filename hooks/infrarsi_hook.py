"""Tell InfraRSI what a training job is doing.  Standard library only; same protocol as infrarsi_hook.h.

The harness names a FIFO in INFRARSI_EVENT_PATH; the job writes one JSON line per event to it.  Without that variable
every call is a cheap no-op, so an instrumented job still runs by hand.  The path "stdout" sends the lines to standard
output behind "@infrarsi " instead, which is how they cross hosts.

    hook = infrarsi_hook.Hook()
    for name, parameter in model.named_parameters():
        hook.param(name, parameter.shape, "fp32")
    hook.start(stack="ddp", layers=12, d_attn=768, seq_len=1024, global_batch=32, storage="fp32", compute="bf16")
    for batch in batches:
        hook.rows(batch)
        ...  # forward, backward, optimizer step
        hook.update(loss=loss, grad_norm=norm, lr=lr, opt_step=step, tokens=tokens, step_s=seconds, mem=peak_bytes)
    hook.end()

Every call returns True, or False for an event that was not sent (`hook.error` says why); none raises for a reader that
is gone or a line that is too long, because a report must never stop the job.  A line beyond 4096 bytes is refused,
never cut.  One thread at a time may use a hook.
"""

import array
import errno
import fcntl
import hashlib
import json
import math
import os
import platform
import signal
import sys

SCHEMA = 1
LINE_MAX = 4096  # bytes with the newline: PIPE_BUF, so that one write(2) never interleaves with another
_MODULUS = 1 << 128


def _json(value):
    """JSON text; floats with 17 digits, and as strings where JSON has no number for them."""
    if isinstance(value, dict):
        return "{" + ",".join(_json(key) + ":" + _json(item) for key, item in value.items()) + "}"
    if isinstance(value, (str, bool)) or value is None:
        return json.dumps(value)
    if isinstance(value, int):
        return str(value)
    value = float(value)
    if math.isnan(value):
        return '"nan"'
    if math.isinf(value):
        return '"inf"' if value > 0 else '"-inf"'
    return "%.17g" % value


def _plain(ids):
    """A list of Python numbers from whatever holds token ids (list, array, or anything with tolist())."""
    return ids.tolist() if hasattr(ids, "tolist") else list(ids)


def row_digest(ids):
    """SHA-256 over one row of ids as uint32 little-endian, as a number modulo 2**128."""
    words = array.array("I", (token & 0xFFFFFFFF for token in _plain(ids)))
    if sys.byteorder == "big":
        words.byteswap()
    return int.from_bytes(hashlib.sha256(words.tobytes()).digest()[16:], "big")


def model_digest(params):
    """SHA-256 in hex over the lines "name shape dtype\\n" sorted by name; shape is 768x3072, or "scalar"."""
    lines = []
    for name, shape, dtype in params:
        dims = "x".join(str(int(size)) for size in shape) or "scalar"
        lines.append(("%s %s %s\n" % (name, dims, dtype)).encode())
    return hashlib.sha256(b"".join(sorted(lines))).hexdigest()


def _write_quietly(descriptor, data):
    """One write(2) with SIGPIPE held back, whatever the job does with that signal otherwise."""
    pending = signal.SIGPIPE in signal.sigpending()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGPIPE])
    try:
        return os.write(descriptor, data)
    except BrokenPipeError:
        if not pending:
            signal.sigtimedwait([signal.SIGPIPE], 0)
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Hook:
    """One job's line to the harness; see the module's text."""

    def __init__(self):
        self.error = None
        self.updates = 0
        self.rank = 0
        self._descriptor = -1
        self._prefix = ""
        self._params = []
        self._elements = 0
        self._data = 0
        self._rows = 0
        self._profile = os.environ.get("INFRARSI_PROFILE") == "1"
        self._open(os.environ.get("INFRARSI_EVENT_PATH", ""))

    def _open(self, path):
        if not path:
            return
        if path == "stdout":
            self._prefix = "@infrarsi "
            self._descriptor = 1
            return
        # O_NONBLOCK turns a missing reader into an error instead of a hang; afterwards a slow reader may delay us.
        try:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK)
            flags = fcntl.fcntl(self._descriptor, fcntl.F_GETFL)
            fcntl.fcntl(self._descriptor, fcntl.F_SETFL, flags & ~os.O_NONBLOCK)
        except OSError as error:
            self.error = error

    @property
    def active(self):
        return self._descriptor >= 0

    @property
    def profiling(self):
        """True when phase events are wanted.  Timers must run either way."""
        return self.active and self._profile

    def _send(self, event, fields):
        if not self.active:
            return self.error is None
        kept = {"e": event}
        kept.update((key, value) for key, value in fields.items() if value is not None)
        line = (self._prefix + _json(kept) + "\n").encode()
        if len(line) > LINE_MAX:
            self.error = OSError(errno.EMSGSIZE, "event line of %d bytes refused" % len(line))
            return False
        try:
            if self._prefix:
                sys.stdout.flush()  # what the job printed before comes before
            if _write_quietly(self._descriptor, line) == len(line):
                return True
            self.error = OSError(errno.EIO, "event line torn")
        except OSError as error:
            self.error = error
        self.release()  # a torn line must not be followed by a good one
        return False

    def param(self, name, shape, dtype):
        """Names one trainable parameter for the model digest.  Any order; all before start()."""
        if self.active:
            shape = tuple(int(size) for size in shape)
            self._params.append((name, shape, dtype))
            self._elements += math.prod(shape)
        return True

    def start(self, rank=0, world=1, stack="native", params=0, active_params=0, layers=0, d_attn=0, seq_len=0,
              global_batch=0, storage=None, compute=None, versions=None):
        self.rank = rank
        if not self.active:
            return self.error is None
        params = params or self._elements
        known = {"python": platform.python_version()}
        known.update(versions or {})
        fields = {
            "schema": SCHEMA, "nonce": os.environ.get("INFRARSI_NONCE", ""), "rank": rank, "world": world,
            "stack": stack, "params": params, "active_params": active_params or params, "layers": layers,
            "d_attn": d_attn, "model_digest": model_digest(self._params) if self._params else None,
            "precision": {"storage": storage, "compute": compute} if storage and compute else None,
            "seq_len": seq_len, "global_batch": global_batch, "versions": known,
        }
        self._params = []
        return self._send("start", fields)

    def row(self, ids):
        """Adds one row of token ids to the data digest of the coming update; see infrarsi_row() in the header."""
        if self.active:
            self._data = (self._data + row_digest(ids)) % _MODULUS
            self._rows += 1

    def rows(self, batch):
        if self.active:
            for ids in _plain(batch):
                self.row(ids)

    def update(self, loss=None, grad_norm=None, lr=None, opt_step=None, tokens=0, step_s=None, mem=None):
        """Reports one applied optimizer step.  Ranks other than 0 send only what the harness adds up."""
        self.updates += 1
        if not self.active:
            return self.error is None
        fields = {"i": self.updates, "rank": self.rank}
        if self.rank == 0:
            fields.update(
                loss=None if loss is None else float(loss),
                grad_norm=None if grad_norm is None else float(grad_norm),
                lr=None if lr is None else float(lr),
                opt_step=None if opt_step is None else int(opt_step),
            )
        fields.update(
            tokens=int(tokens),
            data="%032x" % self._data if self._rows else None,
            step_s=float(step_s) if step_s else None,
            mem=int(mem) if mem else None,
        )
        self._data = 0
        self._rows = 0
        return self._send("update", fields)

    def phase(self, forward=0.0, backward=0.0, optimizer=0.0, data=0.0, collective=0.0):
        """Where the time of the update just reported went.  Sent only when the harness profiles; call it always."""
        if not self.profiling:
            return True
        return self._send("phase", {
            "i": self.updates, "forward": float(forward), "backward": float(backward),
            "optimizer": float(optimizer), "data": float(data), "collective": float(collective),
        })

    def oom(self, requested, free, capacity):
        return self._send("oom", {"requested": int(requested), "free": int(free), "capacity": int(capacity)})

    def release(self):
        """Gives everything back without a word."""
        if self._descriptor > 1 or (self.active and not self._prefix):
            os.close(self._descriptor)
        self._descriptor = -1

    def end(self):
        sent = self._send("end", {"updates": self.updates})
        self.release()
        return sent
