"""Hints of the modules above `stagec.numpy`: of networks, images, segments, vectors of pytrees, and of SciPy."""

import math

import numpy as np

import stagec
import stagec.numpy as snp
from stagec import flatten_util, image, lax, nn, ops, random, tree_util
from stagec.nn import initializers
from stagec.scipy import ndimage, signal, special, stats
from stagec.scipy.cluster import vq
from stagec.scipy.interpolate import RegularGridInterpolator as Grid
from stagec.scipy.spatial.transform import Rotation, Slerp

KEY = random.key(0)
V = np.arange(3, dtype=np.float32)
EYE = np.eye(3, dtype=np.float32)
Q = np.ones((2, 4, 6, 8), np.float32)
K = np.ones((2, 5, 3, 8), np.float32)
IDS = np.array([0, 1, 0])
VECTOR, UNRAVEL = flatten_util.ravel_pytree({"a": V, "n": np.arange(2)})

CASES = [
    # Networks.
    (
        "use 'fan_in', 'fan_out', 'fan_avg' or 'fan_geo_avg'",
        lambda: initializers.variance_scaling(1.0, "fan", "normal"),
        lambda: initializers.variance_scaling(1.0, "fan_in", "normal")(KEY, (2, 3)),
    ),
    (
        "use 'truncated_normal', 'normal' or 'uniform'",
        lambda: initializers.variance_scaling(1.0, "fan_in", "gauss"),
        lambda: initializers.variance_scaling(1.0, "fan_in", "uniform")(KEY, (2, 3)),
    ),
    (
        "give weights two axes or more, or name in_axis and out_axis",
        lambda: initializers.he_normal()(KEY, (3,)),
        lambda: (initializers.he_normal()(KEY, (3, 1)), initializers.he_normal(-1, ())(KEY, (3,))),
    ),
    (
        "leave implementation out",
        lambda: nn.dot_product_attention(Q, K, K, implementation="cudnn"),
        lambda: nn.dot_product_attention(Q, K, K),
    ),
    (
        "give queries (B, T, N, H), and keys and values (B, S, K, H) of the same dtype; N must be a multiple of K",
        lambda: nn.dot_product_attention(Q, K, K[:, :2]),
        lambda: nn.dot_product_attention(Q, K, K),
    ),
    (
        "give it three axes (positions, heads, numbers), or four with a batch in front",
        lambda: nn.dot_product_attention(Q[0, 0], K, K),
        lambda: nn.dot_product_attention(Q[0], K[0], K[0]),
    ),
    # Vectors of pytrees, and pytrees.
    ("pass a vector of this size", lambda: UNRAVEL(VECTOR[1:]), lambda: UNRAVEL(VECTOR)),
    ("convert it with astype", lambda: UNRAVEL(VECTOR.astype("int32")), lambda: UNRAVEL(VECTOR.astype("float32"))),
    (
        "pass a container of a pytree",
        lambda: tree_util.flatten_one_level(3.0),
        lambda: tree_util.flatten_one_level([3.0]),
    ),
    # Segments.
    (
        "give a bucket_size of at least 1, or None",
        lambda: ops.segment_sum(V, IDS, bucket_size=0),
        lambda: (ops.segment_sum(V, IDS, bucket_size=1), ops.segment_sum(V, IDS, bucket_size=None)),
    ),
    ("give integers as segment_ids", lambda: ops.segment_sum(V, V), lambda: ops.segment_sum(V, IDS)),
    (
        "give data the axes of segment_ids first",
        lambda: ops.segment_sum(V[:2], IDS),
        lambda: ops.segment_sum(V, IDS),
    ),
    (
        "give num_segments, or call segment_sum outside of jit",
        lambda: stagec.jit(lambda x, i: ops.segment_sum(x, i))(V, IDS),
        lambda: (stagec.eval_shape(lambda x, i: ops.segment_sum(x, i, 2), V, IDS), ops.segment_sum(V, IDS)),
    ),
    # Images.
    (
        "use one of 'nearest', 'linear', 'bilinear', 'trilinear', 'triangle', 'lanczos3', 'lanczos5', 'cubic', "
        "'bicubic', 'tricubic', 'cubic-pytorch', 'bicubic-pytorch', 'area'",
        lambda: image.resize(V, (2,), "soft"),
        lambda: image.resize(V, (2,), "area"),
    ),
    (
        "use another method, such as 'linear' or 'cubic'",
        lambda: image.scale_and_translate(V, (3,), (0,), V[1:2], V[:1], "nearest"),
        lambda: image.scale_and_translate(V, (3,), (0,), V[1:2], V[:1], "linear"),
    ),
    (
        "give a size for each axis of the image",
        lambda: image.resize(V, (2, 2), "linear"),
        lambda: image.resize(V, (2,), "linear"),
    ),
    # Special functions.
    (
        "give a largest order of 0 or more",
        lambda: special.bessel_jn(V, v=-1),
        lambda: special.bessel_jn(V, v=0),
    ),
    ("use math.comb for one number", lambda: special.comb(5, 2, exact=True), lambda: math.comb(5, 2)),
    ("give an n of 0 or more", lambda: special.bernoulli(-1), lambda: special.bernoulli(0)),
    (
        "differentiate it with stagec.jvp",
        lambda: special.sph_harm_y(1, 0, 0.1, 0.2, diff_n=1),
        lambda: stagec.jvp(lambda t: special.sph_harm_y(1, 0, t, 0.2), (0.1,), (1.0,)),
    ),
    (
        "give degrees and orders as integers",
        lambda: special.sph_harm_y(1.0, 0, 0.1, 0.2),
        lambda: special.sph_harm_y(1, 0, 0.1, 0.2),
    ),
    (
        "give n_max, or call sph_harm_y outside of jit",
        lambda: stagec.eval_shape(lambda n: special.sph_harm_y(n, 0, 0.1, 0.2), IDS),
        lambda: (
            stagec.eval_shape(lambda n: special.sph_harm_y(n, 0, 0.1, 0.2, n_max=1), IDS),
            special.sph_harm_y(IDS, 0, 0.1, 0.2),
        ),
    ),
    (
        "call bernoulli outside of jit",
        lambda: stagec.eval_shape(lambda n: special.bernoulli(n), 3),
        lambda: special.bernoulli(3),
    ),
    # Statistics.
    (
        "give alpha one axis, and x as many components along its first one",
        lambda: stats.dirichlet.pdf(V[:1], V + 1),
        lambda: stats.dirichlet.pdf(V / 3, V + 1),
    ),
    (
        "remove NaN from the array first",
        lambda: stats.mode(V, nan_policy="omit"),
        lambda: stats.mode(snp.asarray(V)[~snp.isnan(V)]),
    ),
    (
        "use 'average', 'min', 'max', 'dense' or 'ordinal'",
        lambda: stats.rankdata(V, "best"),
        lambda: stats.rankdata(V, "min"),
    ),
    (
        "add a small multiple of the identity to a singular covariance",
        lambda: stats.multivariate_normal.logpdf(V, V, EYE, allow_singular=True),
        lambda: stats.multivariate_normal.logpdf(V, V, 0 * EYE + 1e-3 * np.eye(3, dtype=np.float32)),
    ),
    (
        "give a covariance as many rows and columns as the mean has components",
        lambda: stats.multivariate_normal.logpdf(V, V, EYE[:2, :2]),
        lambda: stats.multivariate_normal.logpdf(V, V, EYE),
    ),
    # Signals.
    ("use 'full', 'same' or 'valid'", lambda: signal.convolve(V, V, "half"), lambda: signal.convolve(V, V, "same")),
    ("use 'auto', 'direct' or 'fft'", lambda: signal.convolve(V, V, method="x"), lambda: signal.convolve(V, V)),
    ("give both as many axes", lambda: signal.convolve(V, EYE), lambda: signal.convolve(V[None], EYE)),
    (
        "one must be as large as the other along each axis",
        lambda: signal.convolve(EYE[:1], EYE[:, :1], "valid"),
        lambda: signal.convolve(EYE, EYE[:, :1], "valid"),
    ),
    ("give both two axes", lambda: signal.convolve2d(V, V), lambda: signal.convolve2d(V[None], V[None])),
    (
        "pad the first array with snp.pad, and use mode='valid'",
        lambda: signal.convolve2d(EYE, EYE, boundary="wrap"),
        lambda: signal.convolve2d(snp.pad(EYE, 1, "wrap"), EYE, "valid"),
    ),
    (
        "give a window of the length of a segment",
        lambda: signal.stft(V, window=V, nperseg=2),
        lambda: signal.stft(V, window=V[1:], nperseg=2),
    ),
    (
        "use one of 'boxcar', 'hann', 'hamming', 'blackman', or give its weights",
        lambda: signal.stft(V, window="gauss", nperseg=2),
        lambda: signal.stft(V, window="hann", nperseg=2),
    ),
    (
        "let segments be longer than their overlap, and not longer than transforms",
        lambda: signal.stft(V, nperseg=2, noverlap=2),
        lambda: signal.stft(V, nperseg=2, noverlap=1, nfft=4),
    ),
    (
        "use 'zeros', 'constant', 'even', 'odd' or None",
        lambda: signal.stft(V, nperseg=2, boundary="far"),
        lambda: signal.stft(V, nperseg=2, boundary="odd"),
    ),
    ("use 'density' or 'spectrum'", lambda: signal.welch(V, scaling="x"), lambda: signal.welch(V, scaling="spectrum")),
    ("use 'mean' or 'median'", lambda: signal.welch(V, average="x"), lambda: signal.welch(V, average="median")),
    ("use the result", lambda: signal.detrend(V, overwrite_data=True), lambda: signal.detrend(V)),
    ("use 'linear' or 'constant'", lambda: signal.detrend(V, type="x"), lambda: signal.detrend(V, type="constant")),
    ("give positions along the axis", lambda: signal.detrend(V, bp=9), lambda: signal.detrend(V, bp=2)),
    # Coordinates, grids, centers.
    (
        "give coordinates for each axis of the array",
        lambda: ndimage.map_coordinates(EYE, [V], 1),
        lambda: ndimage.map_coordinates(EYE, [V, V], 1),
    ),
    ("use order 0 or 1", lambda: ndimage.map_coordinates(V, [V], 3), lambda: ndimage.map_coordinates(V, [V], 1)),
    (
        "use 'constant', 'nearest', 'wrap', 'mirror' or 'reflect'",
        lambda: ndimage.map_coordinates(V, [V], 1, "far"),
        lambda: ndimage.map_coordinates(V, [V], 1, "wrap"),
    ),
    (
        "leave it out, and look for NaN in the results",
        lambda: Grid((V,), V, bounds_error=True),
        lambda: snp.isnan(Grid((V,), V)(V + 1)),
    ),
    (
        "give each of the first axes of the values as many points as it has elements",
        lambda: Grid((V[:2],), V),
        lambda: Grid((V,), V),
    ),
    ("sort them, and the values with them", lambda: Grid((-V,), V), lambda: Grid((-V[::-1],), V[::-1])),
    (
        "give a coordinate for each axis of the grid, along the last axis",
        lambda: Grid((V, V), EYE)(V),
        lambda: Grid((V, V), EYE)(V[:2]),
    ),
    ("use 'linear' or 'nearest'", lambda: Grid((V,), V, "cubic"), lambda: Grid((V,), V, "nearest")),
    (
        "give both one axis, or two of which the last has the same size",
        lambda: vq.vq(EYE, V),
        lambda: (vq.vq(EYE, V[None]), vq.vq(V, V)),
    ),
    (
        "give a number for each axis; snp.tile adds axes",
        lambda: lax.tile(V, (2, 2)),
        lambda: (lax.tile(V, (2,)), snp.tile(V, (2, 2))),
    ),
]

KDE = stats.gaussian_kde
SAMPLES = snp.array([0.0, 1.0, 3.0])
BOTH = snp.stack([SAMPLES, SAMPLES[::-1] ** 2])

CASES += [
    ("pass two samples or more", lambda: KDE(SAMPLES[:1]), lambda: KDE(SAMPLES[:2])),
    ("pass one for each sample", lambda: KDE(SAMPLES, weights=SAMPLES[:1]), lambda: KDE(SAMPLES, weights=SAMPLES)),
    (
        "pass the real and the imaginary parts as two rows",
        lambda: KDE(SAMPLES + 1j),
        lambda: KDE(snp.stack([SAMPLES, SAMPLES**2])),
    ),
    (
        "pass 'scott', 'silverman', a number, or a function of the estimate",
        lambda: KDE(SAMPLES, "wide"),
        lambda: [KDE(SAMPLES, how) for how in ("scott", "silverman", 0.5, lambda kde: 0.5)],
    ),
    ("pass one point a column", lambda: KDE(BOTH)(SAMPLES), lambda: KDE(BOTH)(BOTH)),
    (
        "pass a vector of 2, and a square matrix of as many rows",
        lambda: KDE(BOTH).integrate_gaussian(SAMPLES, 1.0),
        lambda: KDE(BOTH).integrate_gaussian(SAMPLES[:2], snp.eye(2)),
    ),
    (
        "use it for samples that are numbers",
        lambda: KDE(BOTH).integrate_box_1d(0.0, 1.0),
        lambda: KDE(SAMPLES).integrate_box_1d(0.0, 1.0),
    ),
    (
        "pass two numbers",
        lambda: KDE(SAMPLES).integrate_box_1d(SAMPLES, 1.0),
        lambda: KDE(SAMPLES).integrate_box_1d(0.0, 1.0),
    ),
    (
        "pass a density of as many dimensions",
        lambda: KDE(SAMPLES).integrate_kde(KDE(BOTH)),
        lambda: KDE(BOTH).integrate_kde(KDE(BOTH)),
    ),
    (
        "use integrate_box_1d for numbers, or average over resample(key, shape)",
        lambda: KDE(SAMPLES).integrate_box([0.0], [1.0]),
        lambda: (KDE(SAMPLES).integrate_box_1d(0.0, 1.0), KDE(SAMPLES).resample(stagec.random.key(0), (8,)) < 1),
    ),
    (
        "make another: gaussian_kde(dataset, bw_method)",
        lambda: KDE(SAMPLES).set_bandwidth(0.5),
        lambda: KDE(SAMPLES, 0.5),
    ),
    (
        "give letters of 'xyz', or of 'XYZ' for axes that turn with the body",
        lambda: Rotation.from_euler("xw", [0.0, 1.0]),
        lambda: [Rotation.from_euler(seq, [0.0, 1.0]) for seq in ("xy", "XY")],
    ),
    (
        "leave one of them out",
        lambda: Rotation.from_euler("xx", [0.0, 1.0]),
        lambda: Rotation.from_euler("x", [1.0]),
    ),
    (
        "pass an array of shape (..., 4)",
        lambda: Rotation.from_quat(np.ones(3)),
        lambda: Rotation.from_quat(np.ones((2, 4))),
    ),
    (
        "make an array of rotations",
        lambda: len(Rotation.identity()),
        lambda: len(Rotation.identity(2)),
    ),
    (
        "give 2 weights",
        lambda: Rotation.identity(2).mean([1.0]),
        lambda: Rotation.identity(2).mean([1.0, 2.0]),
    ),
    (
        "pass a Rotation",
        lambda: Slerp.init([0.0, 1.0], np.ones((2, 4))),
        lambda: Slerp.init([0.0, 1.0], Rotation.from_quat(np.ones((2, 4)))),
    ),
    (
        "give two rotations at least",
        lambda: Slerp.init([0.0], Rotation.identity(1)),
        lambda: Slerp.init([0.0, 1.0], Rotation.identity(2)),
    ),
    (
        "give 2 times",
        lambda: Slerp.init([0.0], Rotation.identity(2)),
        lambda: Slerp.init([0.0, 1.0], Rotation.identity(2)),
    ),
    (
        "pass a time, or a vector of times",
        lambda: Slerp.init([0.0, 1.0], Rotation.identity(2))(np.ones((2, 2))),
        lambda: Slerp.init([0.0, 1.0], Rotation.identity(2))(np.ones(2)),
    ),
]
