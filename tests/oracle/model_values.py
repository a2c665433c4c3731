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
        self.memory_sd = {c: rng.uniform(1, 5) for c in self.columns}
        self.pairs = [(0, 2, 2, 1), (1, 1, 4, 0)]

    def random_setting(self, rng, p=0.4):
        return [int(rng.integers(n)) if rng.random() < p else r for n, r in zip(self.sizes, self.reference)]

    def one_hot(self, a):
        return np.array([float(a[l] == s) for l, s in self.columns])


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
        mean.append(min(0.3 * pred, cap))
        sd.append(min(max(0.6 * cap, 0.003), wide))
    mean += [0] * len(task.pairs) + [0, -0.05, 0, 0]
    sd += [0.06] * len(task.pairs) + [0.4, 0.1, 0.4, 0.02]
    return np.array(mean), np.array(sd)


def time_features(task, a, fill):
    pairs = [float(a[l] == s and a[k] == t) for l, s, k, t in task.pairs]
    slope = [0.0, 0.0]
    for l, s in task.columns:
        if a[l] == s and not task.experienced[(l, s)]:
            slope[task.patch[l]] += task.pred[(l, s)]
    z = task.one_hot(a)
    return np.concatenate([z, pairs, [slope[1], max(0, (fill - 0.9) / 0.1), slope[0], z.sum()]])


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
    out = []
    for a, fill in candidates:
        v = np.append(row(a, fill), 0.0)
        m = v @ (latent_mean + latent_sd * whitened)
        w = np.linalg.solve(chol, latent_sd * v)
        out.append((m, np.sqrt(w @ w)))
    return out


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
        runs.append((a, rng.normal(0, 0.2), extra, fill))
    candidates = [(task.random_setting(rng, 0.6), rng.uniform(0.5, 1.1)) for _ in range(8)] + [(runs[-1][0], 0.95)]
    return runs, candidates, time_posterior(task, runs, candidates, sigma, references), sigma, references


def task_table(task):
    rows = []
    for l, n in enumerate(task.sizes):
        for s in range(n):
            c = (l, s)
            if s == task.reference[l]:
                continue
            rows.append("\t{%d, %d, {%s, %s, %s * GIB, %s, %s, %s, %s * GIB}},\n" % (
                l, s, c_number(task.pred[c]), c_number(task.cap[c]), c_number(task.gib[c]),
                "true" if task.experienced[c] else "false", c_number(task.mean[c]), c_number(task.sd[c]),
                c_number(task.memory_sd[c])))
    return "".join(rows)


def time_table(task, rng):
    text = ""
    cases = [time_case(task, rng, 1, 0.01, 4), time_case(task, rng, 9, 0.003, 4), time_case(task, rng, 14, 0.05, 3),
             time_case(task, rng, 10, 0.01, 0)]
    for k, (runs, candidates, _, _, _) in enumerate(cases):
        text += "static const struct oracle_run oracle_runs_%d[] = {\n" % k
        for a, y, extra, fill in runs:
            text += "\t{%s, %s, %s, %s * GIB},\n" % (c_list(a, str), c_number(y), c_number(extra),
                                                   c_number(fill * C_GIB))
        text += "};\n\nstatic const struct oracle_prediction oracle_predictions_%d[] = {\n" % k
        for (a, fill), (m, sd) in zip(candidates, cases[k][2]):
            text += "\t{%s, %s * GIB, %s, %s},\n" % (c_list(a, str), c_number(fill * C_GIB), c_number(m), c_number(sd))
        text += "};\n\n"
    text += "static const struct oracle_time_case oracle_time[] = {\n"
    for k, (_, _, _, sigma, references) in enumerate(cases):
        text += "\t{%s, %d, oracle_runs_%d, ARRAY_LEN(oracle_runs_%d), oracle_predictions_%d, " \
                "ARRAY_LEN(oracle_predictions_%d)},\n" % (c_number(sigma), references, k, k, k, k)
    write("oracle_time.h", text + "};\n")


# ---------------------------------------------------------------- memory (R3), in units of C

def memory_posterior(task, rows, candidates, base_mean, base_sd):
    """rows: (setting, kind, low, high); latents: column coefficients, base, and one 1e-9 jitter per row."""
    declared = np.array([task.gib[c] / C_GIB for c in task.columns])
    sd = np.array([task.memory_sd[c] / C_GIB if task.experienced[c] else max(0.04, 0.5 * abs(g))
                   for c, g in zip(task.columns, declared)])
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


def memory_table(task, rng):
    cases = [memory_case(task, rng, 3, 0.75), memory_case(task, rng, 10, 0.8), memory_case(task, rng, 7, None)]
    text = ""
    for k, (rows, candidates, expected, _) in enumerate(cases):
        text += "static const struct oracle_reading oracle_readings_%d[] = {\n" % k
        for a, kind, low, _ in rows:
            text += "\t{%s, %s, %s * GIB},\n" % (c_list(a, str), "READ_" + kind.upper(), c_number(low * C_GIB))
        text += "};\n\nstatic const struct oracle_peak oracle_peaks_%d[] = {\n" % k
        for a, (m, sd, p) in zip(candidates, expected):
            text += "\t{%s, %s * GIB, %s * GIB, %s},\n" % (c_list(a, str), c_number(m * C_GIB), c_number(sd * C_GIB),
                                                         c_number(p))
        text += "};\n\n"
    text += "static const struct oracle_memory_case oracle_memory[] = {\n"
    for k, (_, _, _, peak) in enumerate(cases):
        text += "\t{%s * GIB, oracle_readings_%d, ARRAY_LEN(oracle_readings_%d), oracle_peaks_%d, " \
                "ARRAY_LEN(oracle_peaks_%d)},\n" % (c_number(np.nan if peak is None else peak * C_GIB), k, k, k, k)
    write("oracle_memory.h", text + "};\n")


def main():
    rng = np.random.default_rng(20240611)
    task = Task(rng)
    normal_table()
    write("oracle_prior.h", "static const struct oracle_prior oracle_prior[] = {\n" + task_table(task) + "};\n")
    time_table(task, rng)
    memory_table(task, rng)


if __name__ == "__main__":
    main()
