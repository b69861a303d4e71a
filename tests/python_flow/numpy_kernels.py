"""Kernels in the style of npbench: plain NumPy, with results that are returned or written to arguments.

`CASES` has for each function its arguments for a size; those named in `STATIC` are Python's.
"""

# ruff: noqa: B007, SIM300

import numpy as np


def atax(A, x):
    return (A @ x) @ A


def bicg(A, p, r):
    return r @ A, A @ p


def gemm(alpha, beta, C, A, B):
    C[:] = alpha * A @ B + beta * C


def gemver(alpha, beta, A, u1, v1, u2, v2, w, x, y, z):
    A += np.multiply.outer(u1, v1) + np.multiply.outer(u2, v2)
    x += beta * y @ A + z
    w += alpha * A @ x


def gesummv(alpha, beta, A, B, x):
    return alpha * A @ x + beta * B @ x


def k2mm(alpha, beta, A, B, C, D):
    D[:] = alpha * A @ B @ C + beta * D


def mvt(x1, x2, y1, y2, A):
    x1 += A @ y1
    x2 += y2 @ A


def jacobi_1d(T, A, B):
    for t in range(1, T):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])


def jacobi_2d(T, A, B):
    for t in range(1, T):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])


def heat_3d(T, A, B):
    for t in range(1, T):
        B[1:-1, 1:-1, 1:-1] = (
            0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[:-2, 1:-1, 1:-1])
            + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, :-2, 1:-1])
            + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, 1:-1, :-2])
            + A[1:-1, 1:-1, 1:-1]
        )
        A[:] = B


def seidel_2d(T, N, A):
    for t in range(T - 1):
        for i in range(1, N - 1):
            A[i, 1:-1] += A[i - 1, :-2] + A[i - 1, 1:-1] + A[i - 1, 2:] + A[i, 2:] + A[i + 1, :-2] + A[i + 1, 1:-1]
            for j in range(1, N - 1):
                A[i, j] += A[i, j - 1]
                A[i, j] /= 9.0


def durbin(r):
    y = np.empty_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


def trisolv(L, x, b):
    for i in range(x.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]


def cholesky(A):
    A[0, 0] = np.sqrt(A[0, 0])
    for i in range(1, A.shape[0]):
        for j in range(i):
            A[i, j] -= np.dot(A[i, :j], A[j, :j])
            A[i, j] /= A[j, j]
        A[i, i] -= np.dot(A[i, :i], A[i, :i])
        A[i, i] = np.sqrt(A[i, i])


def cholesky2(A):
    A[:] = np.linalg.cholesky(A) + np.triu(A, k=1)


def lu(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            A[i, j] -= A[i, :i] @ A[:i, j]


def gramschmidt(A):
    Q = np.zeros_like(A)
    R = np.zeros((A.shape[1], A.shape[1]), dtype=A.dtype)
    for k in range(A.shape[1]):
        nrm = np.dot(A[:, k], A[:, k])
        R[k, k] = np.sqrt(nrm)
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, A.shape[1]):
            R[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= Q[:, k] * R[k, j]
    return Q, R


def floyd_warshall(path):
    for k in range(path.shape[0]):
        path[:] = np.minimum(path[:], np.add.outer(path[:, k], path[k, :]))


def match(b1, b2):
    if b1 + b2 == 3:
        return 1
    else:
        return 0


def nussinov(N, seq):
    table = np.zeros((N, N), np.int32)
    for i in range(N - 1, -1, -1):
        for j in range(i + 1, N):
            if j - 1 >= 0:
                table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < N:
                table[i, j] = max(table[i, j], table[i + 1, j])
            if j - 1 >= 0 and i + 1 < N:
                if i < j - 1:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1] + match(seq[i], seq[j]))
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


def deriche(alpha, imgIn):
    k = (1.0 - np.exp(-alpha)) ** 2 / (1.0 + alpha * np.exp(-alpha) - np.exp(2.0 * alpha))
    a1 = a5 = k
    a2 = a6 = k * np.exp(-alpha) * (alpha - 1.0)
    b1 = 2.0 ** (-alpha)
    b2 = -np.exp(-2.0 * alpha)
    y1 = np.empty_like(imgIn)
    y1[:, 0] = a1 * imgIn[:, 0]
    y1[:, 1] = a1 * imgIn[:, 1] + a2 * imgIn[:, 0] + b1 * y1[:, 0]
    for j in range(2, imgIn.shape[1]):
        y1[:, j] = a1 * imgIn[:, j] + a2 * imgIn[:, j - 1] + b1 * y1[:, j - 1] + b2 * y1[:, j - 2]
    y2 = np.empty_like(imgIn)
    y2[:, -1] = 0.0
    y2[:, -2] = a5 * imgIn[:, -1]
    for j in range(imgIn.shape[1] - 3, -1, -1):
        y2[:, j] = a5 * imgIn[:, j + 1] + a6 * imgIn[:, j + 2] + b1 * y2[:, j + 1] + b2 * y2[:, j + 2]
    return y1 + y2


def adi(T, N, u):
    v = np.empty(u.shape, dtype=u.dtype)
    p = np.empty(u.shape, dtype=u.dtype)
    q = np.empty(u.shape, dtype=u.dtype)
    a = c = -0.5
    b = 2.0
    for t in range(1, T + 1):
        v[0, 1 : N - 1] = 1.0
        p[1 : N - 1, 0] = 0.0
        q[1 : N - 1, 0] = v[0, 1 : N - 1]
        for j in range(1, N - 1):
            p[1 : N - 1, j] = -c / (a * p[1 : N - 1, j - 1] + b)
            q[1 : N - 1, j] = (u[j, 0 : N - 2] + 0.5 * u[j, 1 : N - 1] + u[j, 2:N] - a * q[1 : N - 1, j - 1]) / (
                a * p[1 : N - 1, j - 1] + b
            )
        v[N - 1, 1 : N - 1] = 1.0
        for j in range(N - 2, 0, -1):
            v[j, 1 : N - 1] = p[1 : N - 1, j] * v[j + 1, 1 : N - 1] + q[1 : N - 1, j]
        u[1 : N - 1, 1 : N - 1] = v[1 : N - 1, 1 : N - 1] * 0.9


def fdtd_2d(T, ex, ey, hz, fict):
    for t in range(T):
        ey[0, :] = fict[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


def go_fast(a):
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace


def mandelbrot(xmin, xmax, ymin, ymax, xn, yn, itermax):
    X = np.linspace(xmin, xmax, xn)
    Y = np.linspace(ymin, ymax, yn)
    C = X + Y[:, None] * 1j
    N = np.zeros(C.shape, dtype=np.int64)
    Z = np.zeros(C.shape, dtype=np.complex128)
    for n in range(itermax):
        inside = np.abs(Z) < 2.0
        N[inside] = n
        Z[inside] = Z[inside] ** 2 + C[inside]
    N[N == itermax - 1] = 0
    return Z, N


def escape_time(X, Y, itermax):
    N = np.zeros((Y.shape[0], X.shape[0]), dtype=np.int64)
    for i in range(Y.shape[0]):
        for j in range(X.shape[0]):
            c = X[j] + 1j * Y[i]
            z = 0j
            for n in range(itermax):
                if abs(z) > 2.0:
                    break
                z = z * z + c
            N[i, j] = n
    return N


def acceleration(pos, mass, G, softening):
    x = pos[:, 0:1]
    y = pos[:, 1:2]
    z = pos[:, 2:3]
    dx = x.T - x
    dy = y.T - y
    dz = z.T - z
    inv_r3 = dx**2 + dy**2 + dz**2 + softening**2
    inv_r3[inv_r3 > 0] = inv_r3[inv_r3 > 0] ** (-1.5)
    ax = G * (dx * inv_r3) @ mass
    ay = G * (dy * inv_r3) @ mass
    az = G * (dz * inv_r3) @ mass
    return np.hstack((ax, ay, az))


def nbody(mass, pos, vel, Nt, dt):
    vel -= np.mean(mass * vel, axis=0) / np.mean(mass)
    acc = acceleration(pos, mass, 1.0, 0.1)
    energy = np.zeros(Nt + 1)
    energy[0] = 0.5 * np.sum(mass * vel**2)
    for i in range(Nt):
        vel += acc * dt / 2.0
        pos += vel * dt
        acc = acceleration(pos, mass, 1.0, 0.1)
        vel += acc * dt / 2.0
        energy[i + 1] = 0.5 * np.sum(mass * vel**2)
    return energy


def softmax(x):
    new_shape = (*x.shape[:-1], 1)
    high = np.max(x, axis=-1).reshape(new_shape)
    out = np.exp(x - high)
    return out / np.sum(out, axis=-1, keepdims=True)


def relu(x):
    return np.maximum(x, 0)


def mlp(x, w1, b1, w2, b2):
    return softmax(relu(x @ w1 + b1) @ w2 + b2)


def conv2d(x, w):
    K = w.shape[0]
    H, W = x.shape[1] - K + 1, x.shape[2] - K + 1
    out = np.empty((x.shape[0], H, W, w.shape[3]), dtype=x.dtype)
    for i in range(H):
        for j in range(W):
            out[:, i, j, :] = np.sum(x[:, i : i + K, j : j + K, :, np.newaxis] * w[np.newaxis, :, :, :], axis=(1, 2, 3))
    return out


def bin_edge(x, edges):
    n = edges.shape[0] - 1
    low, high = edges[0], edges[-1]
    if x == high:
        return n - 1
    b = int(n * (x - low) / (high - low))
    if b < 0 or b >= n:
        return -1
    return b


def histogram(a, w, bins):
    edges = np.linspace(0.0, 1.0, bins + 1)
    out = np.zeros(bins, a.dtype)
    for i in range(a.size):
        b = bin_edge(a[i], edges)
        if b >= 0:
            out[b] += w[i]
    return out, edges


def spmv(rows, cols, values, x):
    y = np.empty(rows.size - 1, values.dtype)
    for i in range(rows.size - 1):
        total = 0.0
        for j in range(rows[i], rows[i + 1]):
            total += values[j] * x[cols[j]]
        y[i] = total
    return y


def arc_distance(theta_1, phi_1, theta_2, phi_2):
    temp = np.sin((theta_2 - theta_1) / 2) ** 2 + np.cos(theta_1) * np.cos(theta_2) * np.sin((phi_2 - phi_1) / 2) ** 2
    return 2 * (np.arctan2(np.sqrt(temp), np.sqrt(1 - temp)))


def crc16(data):
    crc = 0xFFFF
    for b in data:
        cur_byte = 0xFF & b
        for _ in range(0, 8):
            if (crc & 0x0001) ^ (cur_byte & 0x0001):
                crc = (crc >> 1) ^ 0x8408
            else:
                crc >>= 1
            cur_byte >>= 1
    crc = ~crc & 0xFFFF
    crc = (crc << 8) | ((crc >> 8) & 0xFF)
    return crc & 0xFFFF


def correlation(M, data):
    mean = np.mean(data, axis=0)
    stddev = np.std(data, axis=0)
    stddev[stddev <= 0.1] = 1.0
    data -= mean
    data /= np.sqrt(data.shape[0]) * stddev
    corr = np.eye(M, dtype=data.dtype)
    for i in range(M - 1):
        corr[i + 1 : M, i] = corr[i, i + 1 : M] = data[:, i] @ data[:, i + 1 : M]
    return corr


def covariance(M, float_n, data):
    mean = np.mean(data, axis=0)
    data -= mean
    cov = np.zeros((M, M), dtype=data.dtype)
    for i in range(M):
        cov[i:M, i] = data[:, i] @ data[:, i:M] / (float_n - 1.0)
        cov[i, i:M] = cov[i:M, i]
    return cov


def doitgen(NR, NQ, NP, A, C4):
    for r in range(NR):
        for q in range(NQ):
            A[r, q, :] = A[r, q, :] @ C4


def syrk(alpha, beta, C, A):
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += alpha * A[i, k] * A[: i + 1, k]


def symm(alpha, beta, C, A, B):
    temp2 = np.empty((C.shape[1],), dtype=C.dtype)
    C *= beta
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[:i, j] += alpha * B[i, j] * A[i, :i]
            temp2[j] = B[:i, j] @ A[i, :i]
        C[i, :] += alpha * B[i, :] * A[i, i] + alpha * temp2


def trmm(alpha, A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += np.dot(A[i + 1 :, i], B[i + 1 :, j])
    B *= alpha


def compute(array_1, array_2, a, b, c):
    return np.clip(array_1, 2, 10) * a + array_2 * b + c


def hdiff(in_field, coeff):
    lap = 4.0 * in_field[1:-1, 1:-1] - (
        in_field[2:, 1:-1] + in_field[:-2, 1:-1] + in_field[1:-1, 2:] + in_field[1:-1, :-2]
    )
    res = lap[1:, 1:-1] - lap[:-1, 1:-1]
    flx = np.where(res * (in_field[2:-1, 2:-2] - in_field[1:-2, 2:-2]) > 0, 0, res)
    return in_field[2:-2, 2:-2] - coeff * (flx[1:] - flx[:-1])


def vadv(ccol, dcol, data):
    K = ccol.shape[1]
    for k in range(1, K):
        divided = 1.0 / (2.0 + 0.5 * ccol[:, k - 1])
        ccol[:, k] = ccol[:, k] * divided
        dcol[:, k] = (dcol[:, k] - dcol[:, k - 1]) * divided
    datacol = np.copy(dcol[:, -1])
    data[:, -1] = datacol
    for k in range(K - 2, -1, -1):
        datacol[:] = dcol[:, k] - ccol[:, k] * datacol
        data[:, k] = datacol


def channel_flow(nit, u, v, dt, dx, nu):
    un = u.copy()
    udiff = 1
    stepcount = 0
    while udiff > 0.001:
        un[:] = u
        u[1:-1, 1:-1] = un[1:-1, 1:-1] + nu * dt / dx**2 * (
            un[1:-1, 2:] - 4 * un[1:-1, 1:-1] + un[1:-1, :-2] + un[2:, 1:-1] + un[:-2, 1:-1]
        )
        u[:, 0] = 0
        u[-1, :] = 0
        udiff = (np.sum(np.abs(u)) - np.sum(np.abs(un))) / np.sum(np.abs(u))
        udiff = abs(udiff)
        stepcount += 1
    return stepcount


def cavity_poisson(nit, p, b):
    pn = np.empty_like(p)
    pn = p.copy()
    for q in range(nit):
        pn = p.copy()
        p[1:-1, 1:-1] = (pn[1:-1, 2:] + pn[1:-1, 0:-2] + pn[2:, 1:-1] + pn[0:-2, 1:-1]) / 4 - b[1:-1, 1:-1]
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]


def conj_grad(A, b, rounds):
    x = np.zeros_like(b)
    r = b.copy()
    p = r
    rs = r @ r
    for _ in range(rounds):
        q = A @ p
        alpha = rs / (p @ q)
        x += alpha * p
        r = r - alpha * q
        new = r @ r
        if np.sqrt(new) < 1e-10:
            break
        p = r + (new / rs) * p
        rs = new
    return x


STATIC = {"T", "N", "M", "NR", "NQ", "NP", "xn", "yn", "itermax", "bins", "Nt", "nit", "rounds"}


def cases(n):
    """Each kernel with its arguments, of about `n` rows."""
    rng = np.random.default_rng(n)
    r = rng.random
    spd = r((n, n))
    spd = spd @ spd.T + n * np.eye(n)
    seq = rng.integers(0, 4, n).astype(np.int64)
    rows = np.sort(np.concatenate(([0], rng.integers(0, 3 * n, n - 1), [3 * n])))
    cols = rng.integers(0, n, 3 * n)
    sq = lambda: r((n, n))  # noqa: E731
    return [
        (atax, (sq(), r(n))),
        (bicg, (sq(), r(n), r(n))),
        (gemm, (1.5, 1.2, sq(), sq(), sq())),
        (gemver, (1.5, 1.2, sq(), *[r(n) for _ in range(8)])),
        (gesummv, (1.5, 1.2, sq(), sq(), r(n))),
        (k2mm, (1.5, 1.2, sq(), sq(), sq(), sq())),
        (mvt, (r(n), r(n), r(n), r(n), sq())),
        (jacobi_1d, (20, r(n), r(n))),
        (jacobi_2d, (20, sq(), sq())),
        (heat_3d, (20, r((n, n, n)), r((n, n, n)))),
        (seidel_2d, (12, n, sq())),
        (durbin, (r(n) / n,)),
        (trisolv, (spd.copy(), r(n), r(n))),
        (cholesky, (spd.copy(),)),
        (cholesky2, (spd.copy(),)),
        (lu, (spd.copy(),)),
        (gramschmidt, (spd.copy(),)),
        (floyd_warshall, (rng.integers(1, 100, (n, n)),)),
        (nussinov, (n, seq)),
        (deriche, (0.25, sq())),
        (adi, (10, n, sq())),
        (fdtd_2d, (20, sq(), sq(), sq(), r(20))),
        (go_fast, (sq(),)),
        (mandelbrot, (-1.75, 0.25, -1.0, 1.0, n, n, 20)),
        (escape_time, (np.linspace(-2, 0.5, n), np.linspace(-1, 1, n), 30)),
        (nbody, (r((n, 1)), r((n, 3)), r((n, 3)), 20, 0.05)),
        (softmax, (sq(),)),
        (mlp, (sq(), sq(), r(n), sq(), r(n))),
        (conv2d, (r((2, n, n, 3)), r((3, 3, 3, 4)))),
        (histogram, (r(4 * n), r(4 * n), 10)),
        (spmv, (rows, cols, r(3 * n), r(n))),
        (arc_distance, (r(n), r(n), r(n), r(n))),
        (crc16, (rng.integers(0, 256, 4 * n).astype(np.uint8).astype(np.int64),)),
        (correlation, (n, sq())),
        (covariance, (n, float(n), sq())),
        (doitgen, (n, n, n, r((n, n, n)), sq())),
        (syrk, (1.5, 1.2, sq(), sq())),
        (symm, (1.5, 1.2, sq(), sq(), sq())),
        (trmm, (1.5, sq(), sq())),
        (compute, (rng.integers(0, 20, (n, n)), rng.integers(0, 20, (n, n)), 4, 3, 9)),
        (hdiff, (sq(), 0.3)),
        (vadv, (sq(), sq(), sq())),
        (channel_flow, (50, np.ones((n, n)), sq(), 0.0001, 0.05, 0.1)),
        (cavity_poisson, (30, sq(), sq())),
        (conj_grad, (spd.copy(), r(n), 60)),
    ]
