#!/usr/bin/env python3
"""Values that the unit tests of the kernels over knobs are held against: the ledger on ln memory, the structured
time kernel, the probit field of failures.

    python3 tests/oracle/kernel_values.py

writes tests/unit/model/oracle_{memory_log,structure,field}.h (needs clang-format too; the seed is fixed).

Kernels are written out from their definitions, a pair of configurations at a time; posteriors come from
scipy.optimize on the latent values themselves (not the dual Newton steps of the program), evidence from the
determinants of full matrices, Gaussian evidence from scipy.stats.
"""
import itertools
import os
import subprocess

import numpy as np
from scipy import optimize, special, stats

LEVERS = [  # name, settings, reference, patch
    ("micro_batch", ["1", "2", "4", "8", "16"], 0, False),
    ("tensor", ["1", "2", "4", "8"], 3, False),
    ("workers", ["0", "2", "4", "8"], 0, False),
    ("ratio", ["0.5", "0.75", "1"], 1, False),
    ("mode", ["plain", "fused", "graph"], 1, False),
    ("change", ["off", "on"], 0, True),
]
NUMBERS = [0, 1, 2, 3]
REFERENCE = [r for _, _, r, _ in LEVERS]
CAPACITY = 80.0  # GiB


def axis(lever):
    v = np.array([float(s) for s in LEVERS[lever][1]])
    if v.min() > 0 and v.max() / v.min() >= 4:
        return np.log2(v)
    if v.min() == 0 and v.max() >= 4:
        return np.log2(v + 1)
    return (v - v.min()) / (v.max() - v.min()) * np.log2(len(v))


AXES = {l: axis(l) for l in NUMBERS}


def u(a, relative=True):
    return np.array([AXES[l][a[l]] - (AXES[l][REFERENCE[l]] if relative else 0) for l in NUMBERS])


# ---------------------------------------------------------------- ln memory

def memory_kernel(a, b, l, p, r, base, categories, relative=True):
    ua, ub = u(a, relative), u(b, relative)
    linear = ua @ ub
    e = sum(a[c] == b[c] and a[c] != REFERENCE[c] for c in categories)
    pairs = sum(ua[i] * ua[j] * ub[i] * ub[j] for i, j in itertools.combinations(range(len(ua)), 2))
    near = sum(np.exp(-0.5 * ((x - y) / 1.5)**2) for x, y in zip(ua, ub))
    together = np.prod([np.exp(-0.5 * ((x - y) / 3)**2) for x, y in zip(ua, ub)])
    together *= np.prod([1.0 if a[c] == b[c] else 0.4 for c in categories])
    return base**2 + l**2 * (linear + e) + p**2 * (pairs + e * linear) + r**2 * (near + together)


def log_likelihood(kind, low, f, sd):
    t = (f - low) / sd
    return {"exact": -0.5 * t * t, "least": special.log_ndtr(t), "most": special.log_ndtr(-t)}[kind]


def laplace(kernel, mean, kinds, lows, sd):
    """Mode and negative Hessian of the likelihood, by Newton steps of scipy on the whitened latents."""
    root = np.linalg.cholesky(kernel)
    step = 1e-4

    def f_of(w):
        return mean + root @ w

    def objective(w):
        f = f_of(w)
        return 0.5 * w @ w - sum(log_likelihood(k, v, x, sd) for k, v, x in zip(kinds, lows, f))

    def slope(f):
        out = []
        for k, v, x in zip(kinds, lows, f):
            t = (x - v) / sd
            if k == "exact":
                out.append(-t / sd)
            else:
                s = 1 if k == "least" else -1
                out.append(s * np.exp(-0.5 * t * t - 0.5 * np.log(2 * np.pi) - special.log_ndtr(s * t)) / sd)
        return np.array(out)

    def gradient(w):
        return w - root.T @ slope(f_of(w))

    w = optimize.minimize(objective, np.zeros(len(mean)), jac=gradient, method="BFGS", options={"gtol": 1e-9}).x
    for _ in range(20):
        hessian = np.array([(gradient(w + step * e) - gradient(w - step * e)) / (2 * step) for e in np.eye(len(w))])
        w = w - np.linalg.solve(hessian, gradient(w))
    f = f_of(w)
    g = slope(f)
    d = 1e-4 * sd
    curvature = -(slope(f + d) - slope(f - d)) / (2 * d)
    evidence = -objective(w) - 0.5 * np.linalg.slogdet(np.eye(len(f)) + kernel @ np.diag(curvature))[1]
    evidence -= sum(k == "exact" for k in kinds) * np.log(sd)
    return g, curvature, evidence


def predict(kernel, k_star, k_self, mean_star, g, curvature):
    inverse = np.linalg.inv(kernel + np.diag(1 / np.maximum(curvature, 1e-12)))
    return mean_star + k_star @ g, np.sqrt(k_self - k_star @ inverse @ k_star)


def memory_case(rng, n, declared, uncertain, reference_fits):
    """declared, uncertain: GiB and the declared sd of them by (lever, setting)."""
    declares = bool(declared)
    categories = [] if declares else [4]
    rows = [(REFERENCE, "exact" if reference_fits else "least", 40.0 if reference_fits else CAPACITY + 3)]
    base_gib = 40.0 if reference_fits else CAPACITY
    for _ in range(n):
        a = [int(rng.integers(len(s))) if rng.random() < 0.5 else r for _, s, r, _ in LEVERS]
        level = 35.0 * 2**(0.5 * u(a)[0] - 0.4 * u(a)[1]) * np.exp(rng.normal(0, 0.1))
        rows.append((a, "exact", level) if level < CAPACITY else (a, "least", CAPACITY + (3.0 if rng.random() < 0.5 else 0)))

    def share(a):
        return max(base_gib + sum(declared.get((l, a[l]), 0) for l in range(len(a)) if a[l] != REFERENCE[l]), 0.1 * base_gib)

    def own(a, b):
        total = 0.0
        for l in range(len(a)):
            if a[l] != b[l] or a[l] == REFERENCE[l]:
                continue
            gib, sd = declared.get((l, a[l]), 0), uncertain.get((l, a[l]), 0)
            if gib or sd or LEVERS[l][3] or (declares and l not in NUMBERS):
                total += max(0.04 * CAPACITY, 0.5 * abs(gib), sd)**2
        return total / share(a) / share(b)

    def kernel(a, b, l, r, factor):
        return memory_kernel(a, b, factor * l, factor * 0.4 * r, factor * r, 0.05 if reference_fits else 1.0, categories) + own(a, b)

    settings = [r[0] for r in rows]
    mean = np.array([np.log(share(a)) for a in settings])
    best = None
    for sd in ([0.03] if declares else []) + [0.15]:
        for l in (0.2, 0.4, 0.7):
            for r in (0.05, 0.15, 0.4):
                for factor in (1, 0.3) if declares and l < 0.5 else (1,):
                    k = np.array([[kernel(a, b, l, r, factor) for b in settings] for a in settings]) + 1e-8 * np.eye(len(rows))
                    fit = laplace(k, mean, [x[1] for x in rows], [np.log(x[2]) for x in rows], sd)
                    if best is None or fit[2] > best[0]:
                        best = (fit[2], sd, l, r, factor, k, fit)
    _, sd, l, r, factor, k, (g, curvature, _) = best
    out = []
    for _ in range(8):
        a = [int(rng.integers(len(s))) if rng.random() < 0.6 else ref for _, s, ref, _ in LEVERS]
        star = np.array([kernel(a, b, l, r, factor) for b in settings])
        m, s = predict(k, star, kernel(a, a, l, r, factor), np.log(share(a)), g, curvature)
        out.append((a, np.exp(m), np.exp(m) * s, special.ndtr((np.log(CAPACITY) - m) / np.sqrt(s**2 + sd**2))))
    return rows[1:], declared, uncertain, reference_fits, out


# ---------------------------------------------------------------- likeness

def kappas(a, b, length, doublings):
    out = []
    for l, (_, settings, _, patch) in enumerate(LEVERS):
        if patch:
            continue
        if l not in NUMBERS:
            out.append(float(a[l] == b[l]))
        elif doublings:
            reach = length * max(0.5, (AXES[l].max() - AXES[l].min()) / 4)
            out.append(np.exp(-abs(AXES[l][a[l]] - AXES[l][b[l]]) / reach))
        else:
            out.append(np.exp(-abs(a[l] - b[l]) / (length * max(1, len(settings) / 4))))
    return out


def likeness(a, b, length, doublings):
    k = kappas(a, b, length, doublings)
    pairs = [x * y for x, y in itertools.combinations(k, 2)]
    product = np.prod([max(x, np.exp(-1.5))**min(1, 3 / len(k)) for x in k])
    return np.array([np.mean(k), np.mean(pairs), product])


# ---------------------------------------------------------------- time

SPLITS = [(1, 0, 0.15), (0.6, 0.4, 0.1), (0.3, 0.4, 0.4), (0.1, 0.2, 0.8)]


def time_case(rng, n, sigma, wild):
    runs = []
    for i in range(n):
        a = [int(rng.integers(len(s))) if rng.random() < 0.5 else r for _, s, r, _ in LEVERS]
        if a == REFERENCE:
            a = [1] + a[1:]
        if i == 3:
            a = runs[0][0]
        y = wild * (0.3 * u(a)[0] - 0.25 * u(a)[1] - 0.1 * u(a)[0] * u(a)[2]) + rng.normal(0, 0.02)
        runs.append((a, y))
    candidates = [[int(rng.integers(len(s))) for _, s, _, _ in LEVERS] for _ in range(6)] + [runs[0][0]]

    def linear(a, b):
        columns = sum(0.07**2 if not LEVERS[l][3] else 0.06**2 for l in range(len(a)) if a[l] == b[l] != REFERENCE[l])
        na, nb = (sum(x != r for x, r in zip(c, REFERENCE)) for c in (a, b))
        return columns + 0.02**2 * na * nb + (0.02**2 if a == b != REFERENCE else 0)

    def pinned(a, b, metric):
        return likeness(a, b, *metric) - likeness(a, REFERENCE, *metric) - likeness(REFERENCE, b, *metric) + 1

    y = np.array([r[1] for r in runs])
    noise = sigma**2 / 2 * np.eye(n) + sigma**2 / 8 + 1e-10 * np.eye(n)
    settings = [r[0] for r in runs]
    plain = np.array([[linear(a, b) for b in settings] for a in settings])
    spread = max(np.var(np.append(y, 0)), 0.01)
    fits = [(stats.multivariate_normal(np.zeros(n), plain + noise).logpdf(y), plain, None, 0, None)]
    for metric in itertools.product((1, 3), (False, True)):
        between = np.array([[pinned(a, b, metric) for b in settings] for a in settings])
        for scale in (0.7, 2):
            for split in SPLITS:
                k = plain + scale * spread * (between @ np.array(split))
                fits.append((stats.multivariate_normal(np.zeros(n), k + noise).logpdf(y) - 4, k, metric, scale * spread, split))
    fits.sort(key=lambda f: -f[0])
    fits = [f for f in fits if f[0] >= fits[0][0] - 2.5][:8]
    weights = np.exp([f[0] - fits[0][0] for f in fits])
    weights /= weights.sum()
    out = []
    for a in candidates:
        moments = []
        for _, k, metric, s2, split in fits:
            star = np.array([linear(a, b) + (s2 * pinned(a, b, metric) @ np.array(split) if metric else 0) for b in settings])
            itself = linear(a, a) + (s2 * pinned(a, a, metric) @ np.array(split) if metric else 0)
            inverse = np.linalg.inv(k + noise)
            moments.append((star @ inverse @ y, itself - star @ inverse @ star))
        mean = sum(w * m for w, (m, _) in zip(weights, moments))
        square = sum(w * (v + m * m) for w, (m, v) in zip(weights, moments))
        out.append((a, mean, np.sqrt(square - mean**2)))
    return runs, sigma, out, len(fits), fits[0][2] is not None


# ---------------------------------------------------------------- failures

def field_case(rng, n):
    rows = [(REFERENCE, True)]
    for _ in range(n):
        a = [int(rng.integers(len(s))) if rng.random() < 0.6 else r for _, s, r, _ in LEVERS]
        rows.append((a, bool(u(a)[0] < 2.5 or rng.random() < 0.2)))
    spread = np.array([AXES[l].std() for l in NUMBERS])
    parts = 5

    def kernel(a, b, scale):
        e1, e2, product = likeness(a, b, 2, True)
        linear = ((u(a) * u(b) / spread**2).sum() + (a[4] == b[4] != REFERENCE[4])) / parts
        return scale * (0.4 * e1 + 0.3 * e2 + 0.4 * product + 0.5 * linear) + 1

    settings, kinds = [r[0] for r in rows], ["least" if r[1] else "most" for r in rows]
    best = None
    for scale in (1, 4, 10):
        k = np.array([[kernel(a, b, scale) for b in settings] for a in settings]) + 1e-8 * np.eye(len(rows))
        fit = laplace(k, np.full(len(rows), 1.5), kinds, np.zeros(len(rows)), 1.0)
        if best is None or fit[2] > best[0]:
            best = (fit[2], scale, k, fit)
    _, scale, k, (g, curvature, _) = best
    out = []
    for _ in range(8):
        a = [int(rng.integers(len(s))) for _, s, _, _ in LEVERS]
        m, s = predict(k, np.array([kernel(a, b, scale) for b in settings]), kernel(a, a, scale), 1.5, g, curvature)
        out.append((a, special.ndtr(m / np.sqrt(1 + s**2))))
    return rows[1:], out


# ---------------------------------------------------------------- tables

def ints(a):
    return "{" + ", ".join(map(str, a)) + "}"


def write(name, text):
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "unit", "model", name)
    with open(path, "w", encoding="ascii") as out:
        out.write("/* Written by tests/oracle/kernel_values.py (NumPy, SciPy): do not edit. */\n" + text)
    subprocess.run(["clang-format", "-i", path], check=True)


def memory_table(rng):
    declared = {(0, 1): 9.0, (0, 2): 22.0, (4, 0): 5.0, (4, 2): -12.0}
    cases = [memory_case(rng, 4, {}, {}, True), memory_case(rng, 12, {}, {}, True), memory_case(rng, 6, {}, {}, False),
             memory_case(rng, 3, declared, {}, True), memory_case(rng, 12, declared, {}, True)]
    # Above and below what is usual, of numbers, a category and the patch, with and without declared bytes.
    uncertain = {(0, 1): 15.0, (0, 2): 2.0, (1, 1): 8.0, (4, 2): 20.0, (5, 1): 6.0}
    apart = np.random.default_rng(20241130)  # the tables that follow keep their numbers
    cases += [memory_case(apart, 5, {}, uncertain, True), memory_case(apart, 9, declared, uncertain, True)]
    text = ""
    for k, (rows, _, _, _, out) in enumerate(cases):
        text += "static const struct oracle_reading readings_%d[] = {\n" % k
        text += "".join("\t{%s, %s, %r},\n" % (ints(a), "true" if kind == "least" else "false", float(v)) for a, kind, v in rows)
        text += "};\nstatic const struct oracle_peak peaks_%d[] = {\n" % k
        text += "".join("\t{%s, %r, %r, %r},\n" % (ints(a), float(m), float(s), float(p)) for a, m, s, p in out) + "};\n"
    text += "static const struct oracle_case memory_cases[] = {\n"
    for k, (_, gib, sd, fits, _) in enumerate(cases):
        text += "\t{%s, %s, %s, readings_%d, ARRAY_LEN(readings_%d), peaks_%d, ARRAY_LEN(peaks_%d)},\n" % (
            "true" if gib else "false", "true" if sd else "false", "true" if fits else "false", k, k, k, k)
    text += "};\nstatic const struct {\n\tint lever, setting;\n\tdouble gib;\n} "
    text += ", ".join("%s[] = {%s}" % (name, ", ".join("{%d, %d, %r}" % (l, s, g) for (l, s), g in table.items()))
                      for name, table in (("declared", declared), ("uncertain", uncertain))) + ";\n"
    write("oracle_memory_log.h", text)


def time_table(rng):
    cases = [time_case(rng, 3, 0.01, 0.05), time_case(rng, 8, 0.005, 1.0), time_case(rng, 16, 0.02, 0.6)]
    text = ""
    for k, (runs, _, out, _, _) in enumerate(cases):
        text += "static const struct oracle_run runs_%d[] = {\n" % k
        text += "".join("\t{%s, %r},\n" % (ints(a), float(y)) for a, y in runs)
        text += "};\nstatic const struct oracle_gain gains_%d[] = {\n" % k
        text += "".join("\t{%s, %r, %r},\n" % (ints(a), float(m), float(s)) for a, m, s in out) + "};\n"
    text += "static const struct oracle_time_case time_cases[] = {\n"
    for k, (_, sigma, _, n, structured) in enumerate(cases):
        print("time case %d: %d fits, %s" % (k, n, "structured" if structured else "plain"))
        text += "\t{%r, runs_%d, ARRAY_LEN(runs_%d), gains_%d, ARRAY_LEN(gains_%d)},\n" % (sigma, k, k, k, k)
    write("oracle_structure.h", text + "};\n")


def field_table(rng):
    cases = [field_case(rng, 3), field_case(rng, 14)]
    text = ""
    for k, (rows, out) in enumerate(cases):
        text += "static const struct oracle_end ends_%d[] = {\n" % k
        text += "".join("\t{%s, %s},\n" % (ints(a), "true" if ok else "false") for a, ok in rows)
        text += "};\nstatic const struct oracle_chance chances_%d[] = {\n" % k
        text += "".join("\t{%s, %r},\n" % (ints(a), float(p)) for a, p in out) + "};\n"
    text += "static const struct oracle_field_case field_cases[] = {\n"
    for k in range(len(cases)):
        text += "\t{ends_%d, ARRAY_LEN(ends_%d), chances_%d, ARRAY_LEN(chances_%d)},\n" % (k, k, k, k)
    write("oracle_field.h", text + "};\n")


def main():
    rng = np.random.default_rng(20240707)
    memory_table(rng)
    time_table(rng)
    field_table(rng)


if __name__ == "__main__":
    main()
