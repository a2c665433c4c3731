#!/usr/bin/env python3
"""Reference values for the model tests, from NumPy and SciPy.

    python3 tests/oracle/model_values.py

writes tests/unit/model/oracle_{normal,prior,time,memory}.h (needs numpy, scipy and clang-format;
the seed is fixed). The models are solved here by another road than in src/model: the time model as one joint Gaussian over
weights, configuration nuggets and the error of the reference mean (primal, by information matrix); the memory
model by direct minimisation over its coefficients, with a Hessian from finite differences of the gradient.
"""
import os
import subprocess

import numpy as np
from scipy import optimize, special

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "unit", "model")
HEAD = "/* Written by tests/oracle/model_values.py (NumPy, SciPy): do not edit. */\n"


def c_number(x):
    if np.isnan(x):
        return "NAN"
    if np.isinf(x):
        return "INFINITY" if x > 0 else "-INFINITY"
    return repr(float(x))


def c_list(values, fmt=c_number):
    return "{" + ", ".join(fmt(v) for v in values) + "}"


def write(name, text):
    path = os.path.join(OUT, name)
    with open(path, "w") as f:
        f.write(HEAD + text)
    subprocess.run(["clang-format", "-i", path], check=True)


# ---------------------------------------------------------------- normal tails

def normal_table():
    ts = [-1e6, -1e5, -12345.678, -1e3, -100, -38.6, -37, -20, -8.3, -5, -3, -1.5, -1, -0.5, -1e-3, -1e-12,
          0, 1e-12, 0.25, 1, 2, 3.5, 5, 6.5, 8, 10, 20, 37]
    rows = []
    for t in ts:
        hazard = np.sqrt(2 / np.pi) / special.erfcx(-t / np.sqrt(2))
        rows.append("\t{%s, %s, %s},\n" % (c_number(t), c_number(special.log_ndtr(t)), c_number(hazard)))
    write("oracle_normal.h", "static const struct {\n\tdouble t, log_cdf, hazard;\n} oracle_normal[] = {\n"
          + "".join(rows) + "};\n")


# ---------------------------------------------------------------- a random task

class Task:
    """Levers with priors; one-hot columns over non-reference settings, lever-major."""

    def __init__(self, rng):
        self.sizes = [4, 3, 2, 2, 3, 1, 2]
        self.reference = [1, 0, 0, 0, 2, 0, 0]
        self.patch = [0, 0, 1, 1, 0, 0, 0]
        self.columns = [(l, s) for l, n in enumerate(self.sizes) for s in range(n) if s != self.reference[l]]
        self.pred = {c: rng.normal(0, 0.15) for c in self.columns}
        self.cap = {c: rng.choice([np.inf, 0.003, 0.1, 0.4]) for c in self.columns}
        self.gib = {c: rng.choice([0, rng.normal(0, 12)]) for c in self.columns}
        self.experienced = {c: bool(rng.random() < 0.2) for c in self.columns}
        self.mean = {c: rng.normal(0, 0.1) for c in self.columns}
        self.sd = {c: rng.uniform(0.02, 0.1) for c in self.columns}
        memory_sd = {c: rng.uniform(1, 5) for c in self.columns}
        self.memory_sd = {c: memory_sd[c] if self.experienced[c] else 0.0 for c in self.columns}
        self.pairs = [(0, 2, 2, 1), (1, 1, 4, 0)]
        self.source = {c: 0 for c in self.columns}
        self.pred_sd = {c: 0.0 for c in self.columns}

    def random_setting(self, rng, p=0.4):
        return [int(rng.integers(n)) if rng.random() < p else r for n, r in zip(self.sizes, self.reference)]

    def one_hot(self, a):
        return np.array([float(a[l] == s) for l, s in self.columns])

    def measure(self, rng, a, sigma):
        return rng.normal(0, 0.2)

    def proposers(self):
        return sorted({self.source[c] for c in self.columns if not self.experienced[c] and self.pred[c]} - {0})


class ProposedTask(Task):
    """Proposers 1 and 4 predict beside the task, and say how sure they are. What 1 says comes true, of what 4 says the
    opposite, and of what the task itself says a third."""

    SHARE = {0: 0.3, 1: 1.0, 4: -1.0}

    def __init__(self, rng):
        super().__init__(rng)
        order = [1, 4, 0, 1, 4, 1, 4, 1, 4, 0]  # of the columns; 5 and 6 are the patches
        self.source = dict(zip(self.columns, order))
        self.experienced = {c: c == (1, 2) for c in self.columns}
        self.cap = {c: 0.1 if c == (0, 3) else np.inf for c in self.columns}
        self.pred = {c: rng.choice([-1, 1]) * rng.uniform(0.05, 0.3) for c in self.columns}
        self.pred_sd = {c: rng.choice([0.0, 0.05, 0.3, 0.6]) for c in self.columns}
        self.memory_sd = {c: rng.uniform(1, 14) for c in self.columns}

    def measure(self, rng, a, sigma):
        true = sum(self.SHARE[self.source[c]] * self.pred[c] for c in self.columns if a[c[0]] == c[1])
        return true + rng.normal(0, sigma)


# ---------------------------------------------------------------- time (R1, R2)

def time_prior(task):
    mean, sd = [], []
    for c in task.columns:
        if task.experienced[c]:
            mean.append(task.mean[c])
            sd.append(task.sd[c])
            continue
        pred, cap = task.pred[c], task.cap[c]
        wide = max(0.06, 0.15 * abs(pred)) if task.patch[c[0]] else max(0.07, 0.5 * abs(pred))
        wide = max(wide, np.hypot(0.3, 0.4) * task.pred_sd[c])
        mean.append(min(0.3 * pred, cap))
        sd.append(min(max(0.6 * cap, 0.003), wide))
    others = 2 * len(task.proposers())
    mean += [0] * len(task.pairs) + [0, -0.05, 0, 0] + [0] * others
    sd += [0.06] * len(task.pairs) + [0.4, 0.1, 0.4, 0.02] + [0.4] * others
    return np.array(mean), np.array(sd)


def time_features(task, a, fill):
    pairs = [float(a[l] == s and a[k] == t) for l, s, k, t in task.pairs]
    slope = {k: [0.0, 0.0] for k in [0] + task.proposers()}
    for l, s in task.columns:
        if a[l] == s and not task.experienced[(l, s)]:
            slope[task.source[(l, s)]][task.patch[l]] += task.pred[(l, s)]
    z = task.one_hot(a)
    shared = [slope[0][1], max(0, (fill - 0.9) / 0.1), slope[0][0], z.sum()]
    return np.concatenate([z, pairs, shared] + [slope[k][::-1] for k in task.proposers()])


def slope_feature(task, source, of_patches):
    shared = len(task.columns) + len(task.pairs)
    if source == 0:
        return shared + (0 if of_patches else 2)
    return shared + 4 + 2 * task.proposers().index(source) + (0 if of_patches else 1)


def time_posterior(task, runs, candidates, sigma, references):
    """runs: (setting, gain, extra sd, fill). With references = 0 the first run is the provisional reference."""
    base = time_features(task, task.reference, 0.5)
    base_setting, base_gain = task.reference, 0.0
    if references == 0:
        base_setting, base_gain, base = runs[0][0], runs[0][1], time_features(task, runs[0][0], runs[0][3])
        runs = runs[1:]
    mean, sd = time_prior(task)
    configurations = []
    for a in [r[0] for r in runs] + [c[0] for c in candidates]:
        if a != base_setting and a not in configurations:
            configurations.append(a)

    def row(a, fill):
        nugget = np.array([float(a == c) for c in configurations])
        return np.concatenate([time_features(task, a, fill) - base, nugget])

    run_var = sigma**2 / 2
    latent_sd = np.concatenate([sd, np.full(len(configurations), 0.02), [np.sqrt(run_var / max(references, 1))]])
    latent_mean = np.concatenate([mean, np.zeros(len(configurations) + 1)])
    # Zero-variance latents would make the information matrix infinite; the prior sds here are all positive.
    h = np.array([np.append(row(a, fill), 1.0) for a, _, _, fill in runs])
    noise = np.array([run_var + extra**2 + 1e-10 for _, _, extra, _ in runs])
    y = np.array([gain - base_gain for _, gain, _, _ in runs])
    scaled = h * latent_sd  # whitened latents: prior N(0, I)
    information = np.eye(len(latent_sd)) + scaled.T @ (scaled / noise[:, None])
    chol = np.linalg.cholesky(information)
    rhs = scaled.T @ ((y - h @ latent_mean) / noise)
    whitened = np.linalg.solve(chol.T, np.linalg.solve(chol, rhs))

    def believe(v):
        w = np.linalg.solve(chol, latent_sd * v)
        return v @ (latent_mean + latent_sd * whitened), np.sqrt(w @ w)

    shares = []
    for source in [0] + task.proposers():
        for of_patches in (False, True):
            m, s = believe(np.eye(len(latent_sd))[slope_feature(task, source, of_patches)])
            shares.append((source, of_patches, 0.3 + m, s))
    return [believe(np.append(row(a, fill), 0.0)) for a, fill in candidates], shares


C_GIB = 80.0


def time_case(task, rng, n, sigma, references):
    runs = []
    for i in range(n):
        a = task.random_setting(rng)
        if i and rng.random() < 0.2:
            a = runs[rng.integers(len(runs))][0]  # a configuration that ran before
        if a == task.reference:
            a = [2, 0, 0, 1, 2, 0, 1]
        fill = rng.uniform(0.4, 1.0)
        extra = 0.03 if i and rng.random() < 0.3 else 0.0
        runs.append((a, task.measure(rng, a, sigma), extra, fill))
    candidates = [(task.random_setting(rng, 0.6), rng.uniform(0.5, 1.1)) for _ in range(8)] + [(runs[-1][0], 0.95)]
    return runs, candidates, time_posterior(task, runs, candidates, sigma, references), sigma, references


def task_table(task, name):
    rows = []
    for c in task.columns:
        rows.append("\t{%d, %d, {.predicted_gain_ln = %s, .predicted_sd_ln = %s, .source = %d, .amdahl_cap_ln = %s,"
                    ".declared_bytes = %s * GIB, .memory_sd_bytes = %s * GIB, .experienced = %s, .mean_ln = %s,"
                    ".sd_ln = %s}},\n" % (
                        *c, c_number(task.pred[c]), c_number(task.pred_sd[c]), task.source[c], c_number(task.cap[c]),
                        c_number(task.gib[c]), c_number(task.memory_sd[c]), "true" if task.experienced[c] else "false",
                        c_number(task.mean[c]), c_number(task.sd[c])))
    return "static const struct oracle_prior %s_prior[] = {\n" % name + "".join(rows) + "};\n"


def time_table(task, cases, name):
    text = ""
    for k, (runs, candidates, (predictions, shares), _, _) in enumerate(cases):
        text += "static const struct oracle_run %s_runs_%d[] = {\n" % (name, k)
        for a, y, extra, fill in runs:
            text += "\t{%s, %s, %s, %s * GIB},\n" % (c_list(a, str), c_number(y), c_number(extra),
                                                   c_number(fill * C_GIB))
        text += "};\n\nstatic const struct oracle_prediction %s_predictions_%d[] = {\n" % (name, k)
        for (a, fill), (m, sd) in zip(candidates, predictions):
            text += "\t{%s, %s * GIB, %s, %s},\n" % (c_list(a, str), c_number(fill * C_GIB), c_number(m), c_number(sd))
        text += "};\n\nstatic const struct oracle_share %s_shares_%d[] = {\n" % (name, k)
        for source, of_patches, m, sd in shares:
            text += "\t{%d, %s, %s, %s},\n" % (source, "true" if of_patches else "false", c_number(m), c_number(sd))
        text += "};\n\n"
    text += "static const struct oracle_time_case %s_time[] = {\n" % name
    for k, (_, _, _, sigma, references) in enumerate(cases):
        names = ["%s_%s_%d" % (name, what, k) for what in ("runs", "predictions", "shares")]
        text += "\t{%s, %d, %s},\n" % (c_number(sigma), references, ", ".join("%s, ARRAY_LEN(%s)" % (n, n) for n in names))
    return text + "};\n"


# ---------------------------------------------------------------- memory (R3), in units of C

def memory_posterior(task, rows, candidates, base_mean, base_sd):
    """rows: (setting, kind, low, high); latents: column coefficients, base, and one 1e-9 jitter per row."""
    declared = np.array([task.gib[c] / C_GIB for c in task.columns])
    sd = np.array([task.memory_sd[c] / C_GIB if task.experienced[c] else
                   max(0.04, 0.5 * abs(g), task.memory_sd[c] / C_GIB) for c, g in zip(task.columns, declared)])
    mean0 = np.concatenate([declared, [base_mean], np.zeros(len(rows))])
    sd0 = np.concatenate([sd, [base_sd], np.full(len(rows), np.sqrt(1e-9))])
    h = np.array([np.concatenate([task.one_hot(r[0]), [1.0], np.eye(len(rows))[i]]) for i, r in enumerate(rows)])
    s = 0.02

    def log_likelihood(f):
        total, slope = 0.0, np.zeros(len(rows))
        for i, (_, kind, low, high) in enumerate(rows):
            if kind == "exact":
                total -= 0.5 * ((low - f[i]) / s)**2
                slope[i] = (low - f[i]) / s**2
            elif kind == "least":
                t = (f[i] - low) / s
                total += special.log_ndtr(t)
                slope[i] = np.sqrt(2 / np.pi) / special.erfcx(-t / np.sqrt(2)) / s
            else:
                a, b = (low - f[i]) / s, (high - f[i]) / s
                la, lb = (special.log_ndtr(b), special.log_ndtr(a)) if a <= 0 else \
                    (special.log_ndtr(-a), special.log_ndtr(-b))
                log_mass = la + np.log1p(-np.exp(lb - la))
                total += log_mass
                log_pdf = lambda t: -0.5 * t * t - 0.5 * np.log(2 * np.pi)
                slope[i] = (np.exp(log_pdf(a) - log_mass) - np.exp(log_pdf(b) - log_mass)) / s
        return total, slope

    def gradient(w):
        _, slope = log_likelihood(h @ (mean0 + sd0 * w))
        return w - sd0 * (h.T @ slope)

    w = np.zeros(len(mean0))
    for _ in range(100):  # damped Newton on the whitened coefficients
        hessian = optimize.approx_fprime(w, gradient, 1e-6)
        w = w - np.linalg.solve(hessian, gradient(w)) * (1.0 if np.abs(gradient(w)).max() < 5 else 0.5)
        if np.abs(gradient(w)).max() < 1e-11:
            break
    assert np.abs(gradient(w)).max() < 1e-9
    step, n = 1e-5, len(w)
    hessian = np.array([(gradient(w + step * e) - gradient(w - step * e)) / (2 * step) for e in np.eye(n)])
    covariance = np.linalg.inv((hessian + hessian.T) / 2)
    out = []
    for a in candidates:
        v = np.concatenate([task.one_hot(a), [1.0], np.zeros(len(rows))])
        m = v @ (mean0 + sd0 * w)
        sigma = np.sqrt((sd0 * v) @ covariance @ (sd0 * v))
        out.append((m, sigma, special.ndtr((1 - m) / np.sqrt(sigma**2 + s**2))))
    return out


def memory_case(task, rng, n, reference_peak):
    rows = []
    for _ in range(n):
        a = task.random_setting(rng, 0.5)
        kind = ["exact", "least", "between"][rng.integers(3)]
        low = {"exact": rng.uniform(0.5, 1.0), "least": rng.uniform(1.0, 1.25), "between": 0.9}[kind]
        rows.append((a, kind, low, 1.0))
    candidates = [task.random_setting(rng, 0.6) for _ in range(8)]
    if reference_peak is None:  # does not fit, short of 4 GiB
        reference = [(task.reference, "least", 1 + 4 / C_GIB, 0)]
        expected = memory_posterior(task, reference + rows, candidates, 1.1, 0.15)
    else:
        expected = memory_posterior(task, rows, candidates, reference_peak, 0.005)
    return rows, candidates, expected, reference_peak


def memory_table(cases, name):
    text = ""
    for k, (rows, candidates, expected, _) in enumerate(cases):
        text += "static const struct oracle_reading %s_readings_%d[] = {\n" % (name, k)
        for a, kind, low, _ in rows:
            text += "\t{%s, %s, %s * GIB},\n" % (c_list(a, str), "READ_" + kind.upper(), c_number(low * C_GIB))
        text += "};\n\nstatic const struct oracle_peak %s_peaks_%d[] = {\n" % (name, k)
        for a, (m, sd, p) in zip(candidates, expected):
            text += "\t{%s, %s * GIB, %s * GIB, %s},\n" % (c_list(a, str), c_number(m * C_GIB), c_number(sd * C_GIB),
                                                         c_number(p))
        text += "};\n\n"
    text += "static const struct oracle_memory_case %s_memory[] = {\n" % name
    for k, (_, _, _, peak) in enumerate(cases):
        names = ["%s_%s_%d" % (name, what, k) for what in ("readings", "peaks")]
        text += "\t{%s * GIB, %s},\n" % (c_number(np.nan if peak is None else peak * C_GIB),
                                         ", ".join("%s, ARRAY_LEN(%s)" % (n, n) for n in names))
    return text + "};\n"


def main():
    rng = np.random.default_rng(20240611)
    task = Task(rng)
    times = [time_case(task, rng, n, sigma, references)
             for n, sigma, references in ((1, 0.01, 4), (9, 0.003, 4), (14, 0.05, 3), (10, 0.01, 0))]
    memories = [memory_case(task, rng, n, peak) for n, peak in ((3, 0.75), (10, 0.8), (7, None))]
    rng = np.random.default_rng(20241130)
    proposed = ProposedTask(rng)
    proposed_times = [time_case(proposed, rng, n, sigma, references)
                      for n, sigma, references in ((1, 0.01, 4), (14, 0.005, 4), (10, 0.01, 0))]
    proposed_memories = [memory_case(proposed, rng, n, peak) for n, peak in ((4, 0.75), (9, None))]
    normal_table()
    write("oracle_prior.h", task_table(task, "oracle") + "\n" + task_table(proposed, "proposed"))
    write("oracle_time.h", time_table(task, times, "oracle") + "\n" + time_table(proposed, proposed_times, "proposed"))
    write("oracle_memory.h", memory_table(memories, "oracle") + "\n" + memory_table(proposed_memories, "proposed"))


if __name__ == "__main__":
    main()
