"""Functions from numerical textbooks, in plain Python."""

# ruff: noqa: B007

import math

import numpy as np


def cubic(x):
    return x**3 - x - 2.0


def bisection(a, b, tol):
    fa = cubic(a)
    while b - a > tol:
        m = (a + b) / 2
        fm = cubic(m)
        if fm == 0:
            return m
        if fa * fm < 0:
            b = m
        else:
            a, fa = m, fm
    return (a + b) / 2


def newton(x):
    for _ in range(50):
        step = cubic(x) / (3 * x * x - 1)
        x = x - step
        if abs(step) < 1e-12:
            break
    return x


def secant(x0, x1):
    for i in range(100):
        if abs(cubic(x1)) < 1e-12:
            return x1, i
        x0, x1 = x1, x1 - cubic(x1) * (x1 - x0) / (cubic(x1) - cubic(x0))
    return x1, -1


def regula_falsi(a, b):
    fa, fb = cubic(a), cubic(b)
    c = a
    for _ in range(200):
        c = (a * fb - b * fa) / (fb - fa)
        fc = cubic(c)
        if abs(fc) < 1e-12:
            break
        elif fc * fb < 0:
            a, fa = b, fb
        b, fb = c, fc
    return c


def golden_section(a, b):
    g = (math.sqrt(5) - 1) / 2
    c, d = b - g * (b - a), a + g * (b - a)
    while abs(b - a) > 1e-8:
        if (c - 2) ** 2 < (d - 2) ** 2:
            b = d
        else:
            a = c
        c, d = b - g * (b - a), a + g * (b - a)
    return (a + b) / 2


def simpson(a, b, n):
    h = (b - a) / n
    total = math.sin(a) + math.sin(b)
    for i in range(1, n):
        total += (4 if i % 2 == 1 else 2) * math.sin(a + i * h)
    return total * h / 3


def trapezoid_until(a, b, tol):
    n, old = 1, 0.0
    h = b - a
    new = h * (math.exp(a) + math.exp(b)) / 2
    while abs(new - old) > tol:
        old = new
        total = 0.0
        for i in range(n):
            total += math.exp(a + (i + 0.5) * h)
        new = (old + h * total) / 2
        n *= 2
        h /= 2
    return new, n


def slope(t, y):
    return -2.0 * t * y


def rk4_adaptive(y, t_end, tol):
    t, h, steps = 0.0, 0.1, 0
    while t < t_end:
        if t + h > t_end:
            h = t_end - t
        k1 = slope(t, y)
        k2 = slope(t + h / 2, y + h * k1 / 2)
        k3 = slope(t + h / 2, y + h * k2 / 2)
        k4 = slope(t + h, y + h * k3)
        new = y + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6
        error = abs(new - (y + h * k2))
        if error > tol:
            h = h / 2
            continue
        t, y, steps = t + h, new, steps + 1
        if error < tol / 10:
            h = h * 2
    return y, steps


def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


def egcd(a, b):
    x0, x1, y0, y1 = 1, 0, 0, 1
    while b != 0:
        q, a, b = a // b, b, a % b
        x0, x1 = x1, x0 - q * x1
        y0, y1 = y1, y0 - q * y1
    return a, x0, y0


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def is_prime(n):
    if n < 2:
        return False
    i = 2
    while i * i <= n:
        if n % i == 0:
            return False
        i += 1
    return True


def sieve(flags):
    n = len(flags)
    flags[:2] = False
    i = 2
    while i * i < n:
        if flags[i]:
            for j in range(i * i, n, i):
                flags[j] = False
        i += 1
    return flags.sum()


def binary_search(x, key):
    low, high = 0, len(x) - 1
    while low <= high:
        mid = (low + high) // 2
        if x[mid] == key:
            return mid
        elif x[mid] < key:
            low = mid + 1
        else:
            high = mid - 1
    return -1


def insertion_sort(a):
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key


def bubble_sort(a):
    n = len(a)
    for i in range(n):
        swapped = False
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
                swapped = True
        if not swapped:
            break
    return a


def selection_sort(a):
    for i in range(len(a)):
        low = i
        for j in range(i + 1, len(a)):
            if a[j] < a[low]:
                low = j
        a[i], a[low] = a[low], a[i]


def horner(c, x):
    result = 0.0
    for a in c:
        result = result * x + a
    return result


def power_mod(b, e, m):
    result = 1
    b %= m
    while e > 0:
        if e & 1:
            result = result * b % m
        b = b * b % m
        e >>= 1
    return result


def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def digits(n):
    total = 0
    while n > 0:
        n, d = divmod(n, 10)
        total += d
    return total


def power_iteration(A, x):
    old = 0.0
    for k in range(500):
        x = A @ x
        norm = np.sqrt(x @ x)
        x = x / norm
        if abs(norm - old) < 1e-10:
            break
        old = norm
    return norm, x


def gauss(A, b):
    n = len(b)
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[p, k]):
                p = i
        if p != k:
            row = A[k].copy()
            A[k] = A[p]
            A[p] = row
            b[k], b[p] = b[p], b[k]
        for i in range(k + 1, n):
            f = A[i, k] / A[k, k]
            A[i] -= f * A[k]
            b[i] -= f * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        s = b[i]
        for j in range(i + 1, n):
            s -= A[i, j] * x[j]
        x[i] = s / A[i, i]
    return x


def thomas(a, b, c, d):
    n = len(d)
    for i in range(1, n):
        w = a[i] / b[i - 1]
        b[i] -= w * c[i - 1]
        d[i] -= w * d[i - 1]
    x = np.zeros(n)
    x[-1] = d[-1] / b[-1]
    for i in range(n - 2, -1, -1):
        x[i] = (d[i] - c[i] * x[i + 1]) / b[i]
    return x


def jacobi_method(A, b):
    x = np.zeros_like(b)
    d = np.diag(A)
    for k in range(1000):
        new = (b - A @ x + d * x) / d
        if np.abs(new - x).max() < 1e-12:
            return new, k
        x = new
    raise ValueError("no convergence")


def lagrange(xs, ys, x):
    total = 0.0
    for i in range(len(xs)):
        term = ys[i]
        for j in range(len(xs)):
            if i != j:
                term *= (x - xs[j]) / (xs[i] - xs[j])
        total += term
    return total


def largest(x):
    best = None
    where = -1
    for i, v in enumerate(x):
        if best is None or v > best:
            best, where = v, i
    return best, where


def exp_series(x):
    term = total = 1.0
    n = 1
    while abs(term) > 1e-16 * abs(total):
        term *= x / n
        total += term
        n += 1
    return total


def agm(a, b):
    while not abs(a - b) < 1e-14:
        a, b = (a + b) / 2, math.sqrt(a * b)
    return a


def lis(x):
    best = np.ones(len(x), dtype=np.int64)
    for i in range(len(x)):
        for j in range(i):
            if x[j] < x[i] and best[j] + 1 > best[i]:
                best[i] = best[j] + 1
    return best.max()


def edit_distance(a, b):
    d = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    for i in range(len(a) + 1):
        d[i, 0] = i
    for j in range(len(b) + 1):
        d[0, j] = j
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[-1, -1]


def life(board):
    n, m = board.shape
    new = np.zeros_like(board)
    for i in range(n):
        for j in range(m):
            count = 0
            for di in (-1, 0, 1):
                for dj in (-1, 0, 1):
                    if di == 0 and dj == 0:
                        continue
                    count += board[(i + di) % n, (j + dj) % m]
            new[i, j] = 1 if count == 3 or (board[i, j] == 1 and count == 2) else 0
    return new


def knapsack(weights, prices, capacity):
    best = np.zeros(capacity + 1, dtype=np.int64)
    for i in range(len(weights)):
        for c in range(capacity, -1, -1):
            if weights[i] <= c:
                best[c] = max(best[c], best[c - weights[i]] + prices[i])
    return best[capacity]


def clamp(x, low, high):
    assert low <= high, "the bounds are in the wrong order"
    return low if x < low else high if x > high else x


STATIC = {"capacity"}


def cases(n):
    rng = np.random.default_rng(n)
    r = rng.random
    A = r((n, n)) + n * np.eye(n)
    return [
        (bisection, (1.0, 2.0, 1e-10)),
        (newton, (1.5,)),
        (secant, (1.0, 2.0)),
        (regula_falsi, (1.0, 2.0)),
        (golden_section, (0.0, 5.0)),
        (simpson, (0.0, 3.0, 100)),
        (trapezoid_until, (0.0, 1.0, 1e-8)),
        (rk4_adaptive, (1.0, 2.0, 1e-3)),
        (gcd, (1071, 462)),
        (egcd, (240, 46)),
        (collatz, (27,)),
        (is_prime, (7919,)),
        (is_prime, (7917,)),
        (sieve, (np.ones(10 * n, dtype=bool),)),
        (binary_search, (np.sort(r(n)), 2.0)),
        (binary_search, (np.arange(n), 5)),
        (insertion_sort, (r(n),)),
        (bubble_sort, (r(n),)),
        (selection_sort, (r(n),)),
        (horner, (r(n), 0.5)),
        (power_mod, (3, 200, 1000007)),
        (fibonacci, (50,)),
        (digits, (987654321,)),
        (power_iteration, (A + A.T, r(n))),
        (gauss, (A.copy(), r(n))),
        (thomas, (r(n), r(n) + 4, r(n), r(n))),
        (jacobi_method, (A + n * np.eye(n), r(n))),
        (lagrange, (np.linspace(0, 1, n), r(n), 0.3)),
        (largest, (r(n),)),
        (exp_series, (2.5,)),
        (agm, (1.0, 2.0)),
        (lis, (r(n),)),
        (edit_distance, (rng.integers(0, 4, n), rng.integers(0, 4, n))),
        (life, (rng.integers(0, 2, (n, n)),)),
        (knapsack, (rng.integers(1, 9, n), rng.integers(1, 99, n), 30)),
        (clamp, (0.7, 0.0, 0.5)),
    ]
