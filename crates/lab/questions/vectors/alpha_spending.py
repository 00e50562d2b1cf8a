"""Nominal levels of six equally spaced looks that spend 5 % as Lan and DeMets (Biometrika 1983) do
for boundaries of Pocock's type: alpha(t) = 0.05 ln(1 + (e - 1) t).

The density of the sum at a look, of paths that crossed no earlier boundary, follows from that of the
look before by numerical integration (Armitage, McPherson and Rowe, JRSS A 1969). Prints the z values
and the two-sided nominal levels.
"""

from math import e, erfc, exp, log, pi, sqrt

LOOKS, ALPHA, STEP = 6, 0.05, 0.01


def spent(t):
    return ALPHA * log(1 + (e - 1) * t)


def normal(x, sigma):
    return exp(-0.5 * (x / sigma) ** 2) / sigma / sqrt(2 * pi)


def level(z):
    return erfc(z / sqrt(2))


def weights(n):
    """Simpson's rule for n + 1 points, n even."""
    return [STEP / 3 * (1 if i in (0, n) else 4 if i % 2 else 2) for i in range(n + 1)]


def main():
    # Sums of standard normal increments, one for each look.
    z = None
    low, high = 1.0, 4.0
    for _ in range(60):
        z = (low + high) / 2
        low, high = (z, high) if level(z) > spent(1 / LOOKS) else (low, z)
    levels = [(z, level(z))]
    n = 2 * round(z / STEP)
    points = [-z + 2 * z * i / n for i in range(n + 1)]
    scale = 2 * z / n / STEP
    density = [normal(x, 1.0) for x in points]
    w = [scale * v for v in weights(n)]
    for look in range(2, LOOKS + 1):
        target = spent(look / LOOKS) - spent((look - 1) / LOOKS)

        def crossing(b):
            tail = lambda x: 0.5 * erfc((b - x) / sqrt(2)) + 0.5 * erfc((b + x) / sqrt(2))
            return sum(v * f * tail(x) for v, f, x in zip(w, density, points))

        low, high = 1.0, 4.0 * sqrt(look)
        for _ in range(50):
            b = (low + high) / 2
            low, high = (b, high) if crossing(b) > target else (low, b)
        levels.append((b / sqrt(look), level(b / sqrt(look))))
        if look == LOOKS:
            break
        n = 2 * round(b / STEP / 2) * 1
        n += n % 2
        new = [-b + 2 * b * i / n for i in range(n + 1)]
        dens = [sum(v * f * normal(y - x, 1.0) for v, f, x in zip(w, density, points)) for y in new]
        scale = 2 * b / n / STEP
        points, density, w = new, dens, [scale * v for v in weights(n)]
    for look, (z, p) in enumerate(levels, 1):
        print(f"{5 * look:2} pairs: z = {z:.4f}, nominal level {p:.5f}")


main()
