"""Wrong calls of `random`, `nn`, `scipy` and `image`."""

import numpy as np
from data import B, F, N, V

CALLS = {
    "key float": (lambda j: j.random.key(0.5), "key: expected an integer seed, got float32[]"),
    "key vector": (lambda j: j.random.key(N), "key: expected an integer seed, got int32[3]"),
    "key impl": (lambda j: j.random.key(0, impl="foo"), "key: there is no generator named 'foo'"),
    "PRNGKey string": (lambda j: j.random.PRNGKey("a"), "PRNGKey: expected an array or a number, got str: 'a'"),
    "normal int key": (lambda j: j.random.normal(0, (2,)), "normal: expected a random key, got 0"),
    "normal keys many": (
        lambda j: j.random.normal(j.random.split(j.random.key(0)), (2,)),
        "normal accepts a single key, got an array of keys of shape (2,)",
    ),
    "normal negative": (lambda j: j.random.normal(j.random.key(0), (-1,)), "normal: shape (-1,) has a negative size"),
    "normal float shape": (
        lambda j: j.random.normal(j.random.key(0), (1.5,)),
        "normal: each size of a shape must be an integer, got float: 1.5",
    ),
    "normal dtype int": (
        lambda j: j.random.normal(j.random.key(0), (2,), dtype=np.int32),
        "normal: dtype must be a floating-point or complex dtype, got int32",
    ),
    "uniform bounds shape": (
        lambda j: j.random.uniform(j.random.key(0), (2,), minval=V),
        "uniform: parameters of shape (3,), () do not broadcast to shape=(2,)",
    ),
    "bits dtype": (
        lambda j: j.random.bits(j.random.key(0), (2,), dtype=np.float32),
        "bits: dtype must be an unsigned integer dtype, got float32",
    ),
    "randint bounds shape": (
        lambda j: j.random.randint(j.random.key(0), (2,), 0, N),
        "randint: parameters of shape (), (3,) do not broadcast to shape=(2,)",
    ),
    "split negative count": (lambda j: j.random.split(j.random.key(0), -1), "split: shape (-1,) has a negative size"),
    "split int key": (lambda j: j.random.split(3), "split: expected a random key, got 3"),
    "fold_in vector": (lambda j: j.random.fold_in(j.random.key(0), N), "fold_in: expected an integer, got int32[3]"),
    "choice replace": (
        lambda j: j.random.choice(j.random.key(0), 3, (4,), replace=False),
        "choice: cannot take 4 of 3 without replacement",
    ),
    "choice empty": (
        lambda j: j.random.choice(j.random.key(0), 0, (4,)),
        "choice: there is nothing to choose from, as a is 0",
    ),
    "choice axis": (
        lambda j: j.random.choice(j.random.key(0), V, (4,), axis=1),
        "choice: axis 1 is out of bounds for array of dimension 1",
    ),
    "bernoulli shape": (
        lambda j: j.random.bernoulli(j.random.key(0), V, (2,)),
        "bernoulli: parameters of shape (3,) do not broadcast to shape=(2,)",
    ),
    "bernoulli complex": (
        lambda j: j.random.bernoulli(j.random.key(0), 1j),
        "bernoulli: p must be a probability of a floating-point dtype, got",
    ),
    "categorical shape": (
        lambda j: j.random.categorical(j.random.key(0), F, shape=(3,)),
        "categorical: parameters of shape (2,) do not broadcast to shape=(3,)",
    ),
    "categorical replace": (
        lambda j: j.random.categorical(j.random.key(0), V, shape=(5,), replace=False),
        "categorical: cannot draw 5 of 3 categories without replacement",
    ),
    "gamma shape": (
        lambda j: j.random.gamma(j.random.key(0), V, (2,)),
        "gamma: parameters of shape (3,) do not broadcast to shape=(2,)",
    ),
    "dirichlet scalar": (lambda j: j.random.dirichlet(j.random.key(0), np.float32(1)), "dirichlet: alpha has no axes"),
    "mvn shapes": (
        lambda j: j.random.multivariate_normal(j.random.key(0), V, np.eye(2, dtype=np.float32)),
        "multivariate_normal: a mean of float32[3] and a covariance of",
    ),
    "mvn method": (
        lambda j: j.random.multivariate_normal(j.random.key(0), V, np.eye(3, dtype=np.float32), method="foo"),
        "multivariate_normal: method is 'foo'",
    ),
    "wrap_key_data": (
        lambda j: j.random.wrap_key_data(np.zeros(3, np.uint32)),
        "wrap_key_data: expected a random key, got array([0, 0, 0],",
    ),
    "key_data int": (lambda j: j.random.key_data(3), "key_data: expected a random key, got 3"),
    "orthogonal n": (
        lambda j: j.random.orthogonal(j.random.key(0), -1),
        "orthogonal: shape (-1, -1) has a negative size",
    ),
    "ball d": (lambda j: j.random.ball(j.random.key(0), -1), "ball: shape (-1,) has a negative size"),
    "relu int string": (lambda j: j.nn.relu("a"), "relu's argument: expected an array or a number, got str: 'a'"),
    "softmax axis": (lambda j: j.nn.softmax(V, axis=1), "softmax: axis 1 is out of bounds for array of dimension 1"),
    "softmax where": (
        lambda j: j.nn.softmax(V, where=B[:2]),
        "where: bool[2] and float32[3] and float32[] do not broadcast (axis",
    ),
    "one_hot classes float": (
        lambda j: j.nn.one_hot(N, 1.5),
        "one_hot: each size of a shape must be an integer, got float: 1.5",
    ),
    "one_hot negative": (lambda j: j.nn.one_hot(N, -1), "one_hot: shape (-1,) has a negative size"),
    "logsumexp b": (
        lambda j: j.nn.logsumexp(V, b=V[:2]),
        "logsumexp: float32[3] and float32[2] do not broadcast (axis -1: 3 vs",
    ),
    "glu odd": (lambda j: j.nn.glu(V), "glu: axis 0 of float32[3] has odd size 3"),
    "attention sizes": (
        lambda j: j.nn.dot_product_attention(
            np.ones((2, 3, 4, 5), np.float32), np.ones((2, 3, 3, 5), np.float32), np.ones((2, 3, 3, 5), np.float32)
        ),
        "dot_product_attention: query, key and value do not match",
    ),
    "initializer fan": (
        lambda j: j.nn.initializers.glorot_uniform()(j.random.key(0), (3,)),
        "an initializer: weights of shape (3,) have no axis -2",
    ),
    "initializer mode": (
        lambda j: j.nn.initializers.variance_scaling(1.0, "foo", "normal")(j.random.key(0), (3, 3)),
        "variance_scaling: unknown mode 'foo'",
    ),
    "initializer distribution": (
        lambda j: j.nn.initializers.variance_scaling(1.0, "fan_in", "foo")(j.random.key(0), (3, 3)),
        "variance_scaling: unknown distribution 'foo'",
    ),
    "segment_sum ids": (lambda j: j.ops.segment_sum(V, V, 3), "segment_sum: segment_ids is float32[3]"),
    "segment_sum num": (lambda j: j.ops.segment_sum(V, N, -1), "segment_sum: shape (-1,) has a negative size"),
    "image resize method": (lambda j: j.image.resize(F, (4, 4), "foo"), "there is no method 'foo'"),
    "rand triangular": (
        lambda j: j.random.triangular(j.random.key(0), V, V, V[:2]),
        "triangular: parameters of shape (3,), (3,), (2,) do not broadcast",
    ),
    "hilbert": (lambda j: j.scipy.linalg.hilbert(-1), "hilbert: shape (-1,) has a negative size"),
    "cho_solve": (
        lambda j: j.scipy.linalg.cho_solve((F, True), V),
        "cho_solve: expected square matrices, got float32[2,3]",
    ),
    "schur output": (
        lambda j: j.scipy.linalg.schur(np.eye(2, dtype=np.float32), output="foo"),
        "schur: output is 'foo'",
    ),
    "dct type": (lambda j: j.scipy.fft.dct(V, type=5), "dct: type 5 does not exist"),
    "convolve mode": (lambda j: j.scipy.signal.convolve(V, V, mode="foo"), "convolve: unknown mode 'foo'"),
    "minimize": (
        lambda j: j.scipy.optimize.minimize(lambda x: (x**2).sum(), V, method="foo"),
        "minimize: method='foo'",
    ),
    "map_coordinates order": (
        lambda j: j.scipy.ndimage.map_coordinates(V, [V], 3),
        "map_coordinates: order=3 is not supported",
    ),
    "scale_and_translate": (
        lambda j: j.image.scale_and_translate(F, (4, 4), (0,), V, V, "linear"),
        "scale_and_translate: scale of shape (3,) and translation of shape",
    ),
}
