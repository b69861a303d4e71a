"""Algorithms with stacks, heaps, queues and tables in arrays, in plain Python: nested loops that leave and go on."""

import math

import numpy as np


def heap_sort(a):
    n = len(a)
    for start in range(n // 2 - 1, -n, -1):
        end = n - 1
        if start < 0:
            end = n + start - 1
            a[0], a[end + 1] = a[end + 1], a[0]
        root = start if start > 0 else 0
        while True:
            child = 2 * root + 1
            if child > end:
                break
            if child + 1 <= end and a[child] < a[child + 1]:
                child += 1
            if a[root] >= a[child]:
                break
            a[root], a[child] = a[child], a[root]
            root = child


def quick_select(a, k):
    low, high = 0, len(a) - 1
    while low < high:
        pivot = a[k]
        i, j = low, high
        while i <= j:
            while a[i] < pivot:
                i += 1
            while pivot < a[j]:
                j -= 1
            if i <= j:
                a[i], a[j] = a[j], a[i]
                i, j = i + 1, j - 1
        if j < k:
            low = i
        if k < i:
            high = j
    return a[k]


def merge_sort(a):
    n, width = len(a), 1
    while width < n:
        out = np.empty_like(a)
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            i, j = low, middle
            for k in range(low, high):
                if i < middle and (j >= high or a[i] <= a[j]):
                    out[k] = a[i]
                    i += 1
                else:
                    out[k] = a[j]
                    j += 1
        a = out
        width *= 2
    return a


def find_pattern(text, pattern):
    m = len(pattern)
    border = np.zeros(m, dtype=np.int64)
    k = 0
    for i in range(1, m):
        while k > 0 and pattern[k] != pattern[i]:
            k = border[k - 1]
        if pattern[k] == pattern[i]:
            k += 1
        border[i] = k
    k = 0
    for i in range(len(text)):
        while k > 0 and (k == m or pattern[k] != text[i]):
            k = border[k - 1]
        if pattern[k] == text[i]:
            k += 1
        if k == m:
            return i - m + 1
    return -1


def components(edges, n):
    parent = np.arange(n)
    count = n
    for a, b in edges:
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            b = parent[b]
        if a != b:
            parent[a] = b
            count -= 1
    return count


def shortest_paths(weights, source):
    n = len(weights)
    distance = np.full(n, np.inf)
    done = np.zeros(n, dtype=bool)
    distance[source] = 0.0
    for _ in range(n):
        best, at = np.inf, -1
        for i in range(n):
            if not done[i] and distance[i] < best:
                best, at = distance[i], i
        if at < 0:
            break
        done[at] = True
        for j in range(n):
            if weights[at, j] > 0 and not done[j]:
                distance[j] = min(distance[j], best + weights[at, j])
    return distance


def breadth_first(links, source):
    n = len(links)
    queue = np.zeros(n, dtype=np.int64)
    depth = np.full(n, -1)
    queue[0], depth[source] = source, 0
    head, tail = 0, 1
    while head < tail:
        at = queue[head]
        head += 1
        for j in range(n):
            if links[at, j] == 0 or depth[j] >= 0:
                continue
            depth[j] = depth[at] + 1
            queue[tail] = j
            tail += 1
    return depth


def lower_hull(x, y):
    stack = np.zeros(len(x), dtype=np.int64)
    size = 0
    for i in range(len(x)):
        while size >= 2:
            a, b = stack[size - 2], stack[size - 1]
            if (x[b] - x[a]) * (y[i] - y[a]) - (y[b] - y[a]) * (x[i] - x[a]) > 0:
                break
            size -= 1
        stack[size] = i
        size += 1
    return stack, size


def line(grid, x0, y0, x1, y1):
    dx, dy = abs(x1 - x0), -abs(y1 - y0)
    sx = 1 if x0 < x1 else -1
    sy = 1 if y0 < y1 else -1
    error = dx + dy
    while True:
        grid[y0, x0] = 1
        if x0 == x1 and y0 == y1:
            return
        twice = 2 * error
        if twice >= dy:
            error += dy
            x0 += sx
        if twice <= dx:
            error += dx
            y0 += sy


def romberg(a, b, tol):
    table = np.zeros((12, 12))
    table[0, 0] = (b - a) * (math.exp(a) + math.exp(b)) / 2
    for i in range(1, 12):
        n = 2**i
        h = (b - a) / n
        total = 0.0
        for k in range(1, n, 2):
            total += math.exp(a + k * h)
        table[i, 0] = table[i - 1, 0] / 2 + h * total
        for j in range(1, i + 1):
            table[i, j] = table[i, j - 1] + (table[i, j - 1] - table[i - 1, j - 1]) / (4**j - 1)
        if abs(table[i, i] - table[i - 1, i - 1]) < tol:
            return table[i, i], i
    return table[-1, -1], -1


def crout(A):
    n = len(A)
    order = np.arange(n)
    for k in range(n):
        p = k + np.argmax(np.abs(A[k:, k]))
        if p != k:
            row = A[k].copy()
            A[k], A[p] = A[p], row
            order[k], order[p] = order[p], order[k]
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
    return order


def gauss_seidel(A, b, tol):
    x = np.zeros_like(b)
    rounds = 0
    while rounds < 200:
        old = x.copy()
        for i in range(len(b)):
            x[i] = (b[i] - A[i, :i] @ x[:i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
        rounds += 1
        if np.abs(x - old).max() < tol:
            break
    else:
        rounds = -1
    return x, rounds


def row_sums(starts, columns, values, x):
    y = np.empty(len(starts) - 1)
    for i in range(len(y)):
        own = slice(starts[i], starts[i + 1])
        y[i] = values[own] @ x[columns[own]]
    return y


def smoothed(x, width):
    out = np.empty_like(x)
    for i in range(len(x)):
        low, high = max(i - width, 0), min(i + width + 1, len(x))
        out[i] = x[low:high].mean()
    return out


STATIC = {"n"}


def cases(n):
    rng = np.random.default_rng(n)
    A = rng.random((n, n)) + n * np.eye(n)
    weights = rng.integers(1, 9, (n, n)) * (rng.random((n, n)) < 0.3)
    x = np.sort(rng.random(n))
    counts = rng.integers(0, 4, n)
    starts = np.concatenate(([0], np.cumsum(counts)))
    return [
        (heap_sort, (rng.random(n),)),
        (quick_select, (rng.random(n), n // 3)),
        (merge_sort, (rng.random(n),)),
        (find_pattern, (np.array([1, 2, 1, 1, 2, 1, 2, 3]), np.array([1, 2, 1, 2]))),
        (find_pattern, (np.array([1, 2, 1, 1, 2, 1, 2, 3]), np.array([2, 2]))),
        (components, (rng.integers(0, n, (n // 2 + 3, 2)), n)),
        (shortest_paths, (weights.astype(float), 0)),
        (breadth_first, (weights, 0)),
        (lower_hull, (x, rng.random(n))),
        (line, (np.zeros((n, n)), 1, 2, n - 1, n - 3)),
        (romberg, (0.0, 1.0, 1e-10)),
        (crout, (A[::-1].copy(),)),
        (gauss_seidel, (A, rng.random(n), 1e-12)),
        (row_sums, (starts, rng.integers(0, n, starts[-1]), rng.random(starts[-1]), x)),
        (smoothed, (x, 2)),
    ]
