"""More functions from numerical textbooks, in plain Python and NumPy."""

# ruff: noqa: B007

import math

import numpy as np


def bell(x):
    return math.exp(-x * x) + 0.1 * x


def adaptive_simpson(a, b, tol):
    lows, highs, tols = np.zeros(60), np.zeros(60), np.zeros(60)
    lows[0], highs[0], tols[0] = a, b, tol
    top, total = 1, 0.0
    while top > 0:
        top -= 1
        low, high, allowed = lows[top], highs[top], tols[top]
        mid = (low + high) / 2
        left, right = (low + mid) / 2, (mid + high) / 2
        once = (high - low) / 6 * (bell(low) + 4 * bell(mid) + bell(high))
        twice = (high - low) / 12 * (bell(low) + 4 * bell(left) + 2 * bell(mid) + 4 * bell(right) + bell(high))
        if abs(twice - once) < 15 * allowed:
            total += twice + (twice - once) / 15
        else:
            lows[top], highs[top], tols[top] = low, mid, allowed / 2
            lows[top + 1], highs[top + 1], tols[top + 1] = mid, high, allowed / 2
            top += 2
    return total


def neville(xs, ys, x):
    table = ys.copy()
    n = len(xs)
    for k in range(1, n):
        for i in range(n - k):
            table[i] = ((x - xs[i + k]) * table[i] + (xs[i] - x) * table[i + 1]) / (xs[i] - xs[i + k])
    return table[0]


def divided_differences(xs, ys, x):
    n = len(xs)
    c = ys.copy()
    for k in range(1, n):
        for i in range(n - 1, k - 1, -1):
            c[i] = (c[i] - c[i - 1]) / (xs[i] - xs[i - k])
    value = c[n - 1]
    for i in range(n - 2, -1, -1):
        value = value * (x - xs[i]) + c[i]
    return value


def spline(xs, ys, x):
    """A natural cubic spline."""
    n = len(xs)
    second, u = np.zeros(n), np.zeros(n)
    for i in range(1, n - 1):
        sig = (xs[i] - xs[i - 1]) / (xs[i + 1] - xs[i - 1])
        p = sig * second[i - 1] + 2
        second[i] = (sig - 1) / p
        slope = (ys[i + 1] - ys[i]) / (xs[i + 1] - xs[i]) - (ys[i] - ys[i - 1]) / (xs[i] - xs[i - 1])
        u[i] = (6 * slope / (xs[i + 1] - xs[i - 1]) - sig * u[i - 1]) / p
    for i in range(n - 2, -1, -1):
        second[i] = second[i] * second[i + 1] + u[i]
    low, high = 0, n - 1
    while high - low > 1:
        k = (high + low) // 2
        if xs[k] > x:
            high = k
        else:
            low = k
    h = xs[high] - xs[low]
    a, b = (xs[high] - x) / h, (x - xs[low]) / h
    return a * ys[low] + b * ys[high] + ((a**3 - a) * second[low] + (b**3 - b) * second[high]) * h * h / 6


def all_shortest_paths(d):
    d = d.copy()
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return d


def bellman_ford(sources, targets, weights, n):
    distance = np.full(n, np.inf)
    distance[0] = 0
    for _ in range(n - 1):
        changed = False
        for s, t, w in zip(sources, targets, weights):
            if distance[s] + w < distance[t]:
                distance[t] = distance[s] + w
                changed = True
        if not changed:
            break
    return distance


def spanning_tree(w):
    """The weight of a minimum spanning tree, by Prim."""
    n = len(w)
    best, done = w[0].copy(), np.zeros(n, dtype=bool)
    done[0] = True
    total = 0.0
    for _ in range(n - 1):
        near = -1
        for v in range(n):
            if not done[v] and (near < 0 or best[v] < best[near]):
                near = v
        total += best[near]
        done[near] = True
        for v in range(n):
            if not done[v] and w[near, v] < best[v]:
                best[v] = w[near, v]
    return total


def jacobi_eigenvalues(A):
    A = A.copy()
    n = len(A)
    for sweep in range(20):
        off = 0.0
        for i in range(n):
            for j in range(i):
                off += A[i, j] ** 2
        if off < 1e-22:
            break
        for p in range(n - 1):
            for q in range(p + 1, n):
                if abs(A[p, q]) < 1e-15:
                    continue
                theta = (A[q, q] - A[p, p]) / (2 * A[p, q])
                t = (1 if theta >= 0 else -1) / (abs(theta) + math.sqrt(theta * theta + 1))
                c = 1 / math.sqrt(t * t + 1)
                s = t * c
                for k in range(n):
                    x, y = A[k, p], A[k, q]
                    A[k, p], A[k, q] = c * x - s * y, s * x + c * y
                for k in range(n):
                    x, y = A[p, k], A[q, k]
                    A[p, k], A[q, k] = c * x - s * y, s * x + c * y
    return np.sort(np.diag(A))


def gram_schmidt(A):
    Q, R = A.copy(), np.zeros((A.shape[1], A.shape[1]))
    for j in range(A.shape[1]):
        for i in range(j):
            R[i, j] = Q[:, i] @ Q[:, j]
            Q[:, j] -= R[i, j] * Q[:, i]
        R[j, j] = np.sqrt(Q[:, j] @ Q[:, j])
        Q[:, j] /= R[j, j]
    return Q, R


def givens(A):
    R = A.copy()
    rows, columns = R.shape
    for j in range(columns):
        for i in range(rows - 1, j, -1):
            if R[i, j] != 0:
                r = math.hypot(R[i - 1, j], R[i, j])
                c, s = R[i - 1, j] / r, R[i, j] / r
                upper, lower = R[i - 1].copy(), R[i].copy()
                R[i - 1] = c * upper + s * lower
                R[i] = c * lower - s * upper
    return R


def determinant(A):
    A = A.copy()
    n, sign = len(A), 1.0
    for k in range(n):
        p = k + np.argmax(np.abs(A[k:, k]))
        if A[p, k] == 0:
            return 0.0
        if p != k:
            A[[k, p]] = A[[p, k]]
            sign = -sign
        for i in range(k + 1, n):
            A[i, k:] -= A[i, k] / A[k, k] * A[k, k:]
    return sign * np.prod(np.diag(A))


def conjugate_gradients(A, b):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    old = r @ r
    rounds = 0
    while old > 1e-20 and rounds < 200:
        Ap = A @ p
        alpha = old / (p @ Ap)
        x += alpha * p
        r -= alpha * Ap
        new = r @ r
        p = r + new / old * p
        old = new
        rounds += 1
    return x


def over_relaxation(A, b, omega, tol):
    x = np.zeros(len(b))
    for count in range(500):
        change = 0.0
        for i in range(len(b)):
            found = x[i] + omega * (b[i] - A[i] @ x) / A[i, i]
            change = max(change, abs(found - x[i]))
            x[i] = found
        if change < tol:
            return x, count
    return x, 500


def brent(a, b):
    """A root of bell(x) - 0.5, by Brent's method."""
    fa, fb = bell(a) - 0.5, bell(b) - 0.5
    c, fc = a, fa
    d = e = b - a
    for _ in range(100):
        if fb * fc > 0:
            c, fc = a, fa
            d = e = b - a
        if abs(fc) < abs(fb):
            a, b, c = b, c, b
            fa, fb, fc = fb, fc, fb
        m = (c - b) / 2
        if abs(m) < 1e-13 or fb == 0:
            break
        if abs(e) >= 1e-13 and abs(fa) > abs(fb):
            s = fb / fa
            if a == c:
                p, q = 2 * m * s, 1 - s
            else:
                q, r = fa / fc, fb / fc
                p, q = s * (2 * m * q * (q - r) - (b - a) * (r - 1)), (q - 1) * (r - 1) * (s - 1)
            if p > 0:
                q = -q
            p = abs(p)
            if 2 * p < min(3 * m * q - abs(1e-13 * q), abs(e * q)):
                e, d = d, p / q
            else:
                d = e = m
        else:
            d = e = m
        a, fa = b, fb
        b += d if abs(d) > 1e-13 else math.copysign(1e-13, m)
        fb = bell(b) - 0.5
    return b


def steffensen(x):
    for i in range(50):
        y = math.cos(x)
        z = math.cos(y)
        below = z - 2 * y + x
        if below == 0:
            return z
        x, before = x - (y - x) ** 2 / below, x
        if abs(x - before) < 1e-13:
            break
    return x


def nelder_mead(start):
    """The minimum of Rosenbrock's function."""

    def f(p):
        return (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2

    points = np.array([start, start + np.array([0.5, 0.0]), start + np.array([0.0, 0.5])])
    values = np.array([f(points[0]), f(points[1]), f(points[2])])
    for _ in range(400):
        order = np.argsort(values)
        points, values = points[order], values[order]
        if values[2] - values[0] < 1e-15:
            break
        center = (points[0] + points[1]) / 2
        turned = center + (center - points[2])
        value = f(turned)
        if value < values[0]:
            further = center + 2 * (center - points[2])
            if f(further) < value:
                points[2], values[2] = further, f(further)
            else:
                points[2], values[2] = turned, value
        elif value < values[1]:
            points[2], values[2] = turned, value
        else:
            nearer = center + 0.5 * (points[2] - center)
            if f(nearer) < values[2]:
                points[2], values[2] = nearer, f(nearer)
            else:
                for i in range(1, 3):
                    points[i] = points[0] + 0.5 * (points[i] - points[0])
                    values[i] = f(points[i])
    return points[0]


def fehlberg(y, end, tol):
    """y' = -2 y + t, by an embedded pair of order two and three."""
    t, h, steps = 0.0, 0.1, 0
    while t < end and steps < 10000:
        h = min(h, end - t)
        k1 = -2 * y + t
        k2 = -2 * (y + h * k1) + t + h
        k3 = -2 * (y + h * (k1 + k2) / 4) + t + h / 2
        error = abs(h * (k1 + k2 - 2 * k3) / 3)
        if error <= tol:
            t += h
            y += h * (k1 + k2 + 4 * k3) / 6
            steps += 1
        h *= min(5.0, max(0.2, 0.9 * (tol / (error + 1e-300)) ** (1 / 3)))
    return y, steps


def kepler(x, y, vx, vy, dt, n):
    """An orbit, by leapfrog."""
    for _ in range(n):
        r = (x * x + y * y) ** 1.5
        vx, vy = vx - dt / 2 * x / r, vy - dt / 2 * y / r
        x, y = x + dt * vx, y + dt * vy
        r = (x * x + y * y) ** 1.5
        vx, vy = vx - dt / 2 * x / r, vy - dt / 2 * y / r
    return x, y, (vx * vx + vy * vy) / 2 - 1 / math.sqrt(x * x + y * y)


def fft(a):
    """An iterative transform of a power of two."""
    n = len(a)
    a = a.copy()
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j ^= bit
        if i < j:
            a[i], a[j] = a[j], a[i]
    length = 2
    while length <= n:
        angle = -2 * math.pi / length
        for i in range(0, n, length):
            for k in range(length // 2):
                w = complex(math.cos(angle * k), math.sin(angle * k))
                u, v = a[i + k], a[i + k + length // 2] * w
                a[i + k], a[i + k + length // 2] = u + v, u - v
        length *= 2
    return a


def cluster(x, centers):
    """Means of groups of numbers, by Lloyd."""
    centers = centers.copy()
    labels = np.zeros(len(x), dtype=int)
    for _ in range(100):
        changed = False
        for i in range(len(x)):
            best = int(np.argmin(np.abs(centers - x[i])))
            if best != labels[i]:
                labels[i], changed = best, True
        for k in range(len(centers)):
            members = labels == k
            if members.any():
                centers[k] = x[members].mean()
        if not changed:
            break
    return centers, labels


def common_subsequence(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    for i in range(len(a)):
        for j in range(len(b)):
            if a[i] == b[j]:
                table[i + 1, j + 1] = table[i, j] + 1
            else:
                table[i + 1, j + 1] = max(table[i, j + 1], table[i + 1, j])
    return table[len(a), len(b)]


def coins(values, amount):
    ways = np.zeros(amount + 1, dtype=int)
    ways[0] = 1
    for value in values:
        for total in range(value, amount + 1):
            ways[total] += ways[total - value]
    return ways[amount]


def matrix_chain(sizes):
    n = len(sizes) - 1
    cost = np.zeros((n, n), dtype=int)
    for span in range(1, n):
        for i in range(n - span):
            j = i + span
            least = -1
            for k in range(i, j):
                found = cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                if least < 0 or found < least:
                    least = found
            cost[i, j] = least
    return cost[0, n - 1]


def sturm_count(d, e, x):
    """How many eigenvalues of a tridiagonal matrix are below a number."""
    count, q = 0, 1.0
    for i in range(len(d)):
        q = d[i] - x - (e[i - 1] ** 2 / q if i > 0 else 0.0)
        if q == 0:
            q = 1e-300
        if q < 0:
            count += 1
    return count


def queens(n):
    """Ways to place queens, with a stack of columns."""
    rows, row, found = np.full(n, -1), 0, 0
    while row >= 0:
        rows[row] += 1
        if rows[row] == n:
            rows[row] = -1
            row -= 1
            continue
        safe = True
        for other in range(row):
            if rows[other] == rows[row] or abs(rows[other] - rows[row]) == row - other:
                safe = False
                break
        if safe:
            if row == n - 1:
                found += 1
            else:
                row += 1
    return found


def relax(grid, tol):
    """Laplace's equation, until it hardly changes."""
    grid = grid.copy()
    rounds = 0
    while True:
        inner = (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:]) / 4
        change = np.abs(inner - grid[1:-1, 1:-1]).max()
        grid[1:-1, 1:-1] = inner
        rounds += 1
        if change < tol or rounds == 1000:
            return grid, rounds


# Arguments that shapes depend on.
STATIC = {"amount", "n"}


def cases(n):
    rng = np.random.default_rng(n)
    A = rng.normal(size=(6, 6))
    spd = A @ A.T + 6 * np.eye(6)
    xs = np.linspace(0.0, 2.0, 6)
    weights = np.abs(A) + np.abs(A).T
    return [
        (adaptive_simpson, (-1.0, 2.0, 1e-8)),
        (neville, (xs, np.sin(xs), 0.77)),
        (divided_differences, (xs, np.sin(xs), 0.77)),
        (spline, (xs, np.sin(xs), 0.77)),
        (all_shortest_paths, (weights,)),
        (bellman_ford, (np.array([0, 1, 2, 0, 3]), np.array([1, 2, 3, 3, 4]), np.array([1.0, 2.0, -1.0, 5.0, 1.0]), 6)),
        (spanning_tree, (weights,)),
        (jacobi_eigenvalues, (spd,)),
        (gram_schmidt, (A,)),
        (givens, (A,)),
        (determinant, (A,)),
        (conjugate_gradients, (spd, A[0])),
        (over_relaxation, (spd, A[0], 1.1, 1e-10)),
        (brent, (0.0, 2.0)),
        (steffensen, (0.5,)),
        (nelder_mead, (np.array([-1.2, 1.0]),)),
        (fehlberg, (1.0, 2.0, 1e-6)),
        (kepler, (1.0, 0.0, 0.0, 1.1, 0.01, 300)),
        (fft, (rng.normal(size=16) + 1j * rng.normal(size=16),)),
        (cluster, (rng.normal(size=30), np.array([-1.0, 0.0, 1.0]))),
        (common_subsequence, (np.array([1, 3, 4, 1, 2, 5]), np.array([3, 4, 1, 2, 1, 3, 5]))),
        (coins, (np.array([1, 2, 5, 10]), 30)),
        (matrix_chain, (np.array([5, 10, 3, 12, 5, 50, 6]),)),
        (sturm_count, (spd[0], A[0, :5], 2.0)),
        (queens, (5,)),
        (relax, (np.pad(np.zeros((8, 8)), 1, constant_values=1.0), 1e-4)),
    ]
