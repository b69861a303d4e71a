"""What is measured. A case is set up once in each library's process, then called many times."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.benchmarks.case import Call, Case, sample
from tests.benchmarks.eager import OF_TEN
from tests.benchmarks.generated import AXES, CONTRACTIONS
from tests.benchmarks.libraries import Library
from tests.benchmarks.products import CONVOLUTIONS, NARROW, PRODUCTS
from tests.benchmarks.sizes import SIZES
from tests.benchmarks.steps import STEPS, transformer

# Calls: what a jitted function costs beside its work.


def call_flat(count: int) -> Callable[[Library, bool], Call]:
    def setup(lib: Library, tiny: bool) -> Call:
        f = lib.jit(lambda *xs: sum(xs[1:], xs[0]) + 1.0)
        xs = [lib.array(sample(10)) for _ in range(count)]
        return lambda: lib.wait(f(*xs))

    return setup


def call_dict(lib: Library, tiny: bool) -> Call:
    f = lib.jit(lambda p: p["w"] * p["x"] + p["b"])
    p = {k: lib.array(sample(10)) for k in ("w", "x", "b")}
    return lambda: lib.wait(f(p))


def call_two_results(lib: Library, tiny: bool) -> Call:
    f = lib.jit(lambda x, y: (x + y, {"product": x * y}))
    x, y = lib.array(sample(10)), lib.array(sample(10))
    return lambda: lib.wait(f(x, y)[0])


def call_keyword(lib: Library, tiny: bool) -> Call:
    f = lib.jit(lambda x, scale: x * scale)
    x, scale = lib.array(sample(10)), lib.array(sample(10))
    return lambda: lib.wait(f(x, scale=scale))


def call_scalar(lib: Library, tiny: bool) -> Call:
    f = lib.jit(lambda x, s: x * s)
    x = lib.array(sample(10))
    return lambda: lib.wait(f(x, 2.0))


def call_numpy(lib: Library, tiny: bool) -> Call:
    f = lib.jit(lambda x: x + 1.0)
    x = sample(10)
    return lambda: lib.wait(f(x))


def call_static(lib: Library, tiny: bool) -> Call:
    def f(x: Any, n: int) -> Any:
        return x * n

    g = f if lib.name == "numpy" else lib.jit(f, static_argnums=1)  # type: ignore[call-arg]
    x = lib.array(sample(10))
    return lambda: lib.wait(g(x, 3))


# Traces: what a new signature costs before anything is compiled.

_CHAIN = 300


def mixed(np_: Any, count: int, x: Any) -> Any:
    """So many operations of many kinds, on 20 numbers."""
    for _ in range(count // 15):
        y = np_.sin(x) * 2.0 + x
        y = np_.where(y > 0.5, y, -y)
        y = np_.reshape(np_.transpose(np_.reshape(y, (4, 5)), (1, 0)), (20,))
        y = y - np_.max(y)
        x = np_.exp(y) / (1.0 + np_.sum(y * y))
    return x


def chain(lib: Library, x: Any) -> Any:
    """300 operations of many kinds."""
    return mixed(lib.np, _CHAIN, x)


def trace_chain(lib: Library, tiny: bool) -> Call:
    x = lib.array(sample(20))

    def call() -> Any:
        # A new function each time, so that no trace is found again.
        return lib.jit(lambda x: chain(lib, x)).lower(x).compiler_ir("stablehlo")

    return call


def trace_only(lib: Library, tiny: bool) -> Call:
    x = lib.array(sample(20))
    return lambda: lib.jit(lambda x: chain(lib, x)).trace(x).jaxpr


def trace_arithmetic(lib: Library, tiny: bool) -> Call:
    x = lib.array(sample(20))

    def f(x: Any) -> Any:
        for _ in range(_CHAIN // 3):
            x = (x + x) * x - x
        return x

    return lambda: lib.jit(lambda x: f(x)).lower(x).compiler_ir("stablehlo")


# Kernels: what compiled code costs.


def inputs(lib: Library, shapes: tuple[tuple[int, ...], ...], tiny: bool) -> list[Any]:
    """Arrays of these shapes; small ones in their place if `tiny`."""
    return [lib.array(sample(*((8, 8)[: len(s)] if tiny and max(s) > 20 else s))) for s in shapes]


def kernel(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Callable[[Library, bool], Call]:
    """A jitted `function(library, *arrays)`."""

    def setup(lib: Library, tiny: bool) -> Call:
        f = lib.jit(lambda *xs: function(lib, *xs))
        xs = inputs(lib, shapes, tiny)
        return lambda: lib.wait(f(*xs))

    return setup


def selu(lib: Library, x: Any) -> Any:
    return 1.05 * lib.np.where(x > 0, x, 1.67 * lib.np.exp(x) - 1.67)


def sum_of_terms(lib: Library, x: Any) -> Any:
    return lib.np.sum(x * x + lib.np.sin(x))


def softmax(lib: Library, x: Any) -> Any:
    e = lib.np.exp(x - lib.np.max(x, axis=-1, keepdims=True))
    return e / lib.np.sum(e, axis=-1, keepdims=True)


def layernorm(lib: Library, x: Any) -> Any:
    centred = x - lib.np.mean(x, axis=-1, keepdims=True)
    return centred / lib.np.sqrt(lib.np.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)


def stable_argsort(lib: Library, x: Any) -> Any:
    # NumPy has to be asked for what the others do in any case.
    return lib.np.argsort(x, stable=True)


def mlp(lib: Library, x: Any, w0: Any, b0: Any, w1: Any, b1: Any) -> Any:
    hidden = lib.np.maximum(x @ w0 + b0, 0.0)
    return softmax(lib, hidden @ w1 + b1)


def mlp_setup(lib: Library, tiny: bool) -> Call:
    rows, inputs, width, outputs = (4, 8, 8, 4) if tiny else (128, 784, 512, 10)
    f = lib.jit(lambda *xs: mlp(lib, *xs))
    shapes = [(rows, inputs), (inputs, width), (width,), (width, outputs), (outputs,)]
    xs = [lib.array(sample(*s) * np.float32(0.05)) for s in shapes]
    return lambda: lib.wait(f(*xs))


def product(n: int) -> Callable[[Library, bool], Call]:
    return kernel(lambda lib, a, b: a @ b, (n, n), (n, n))


def eager(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Callable[[Library, bool], Call]:
    """The same without `jit`: each operation runs when it is written."""

    def setup(lib: Library, tiny: bool) -> Call:
        xs = inputs(lib, shapes, tiny)
        return lambda: lib.wait(function(lib, *xs))

    return setup


def cold_compile(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Callable[[Library, bool], Call]:
    """Trace, lower and compile with nothing on disk. The worker turns the disk caches off."""

    def setup(lib: Library, tiny: bool) -> Call:
        xs = inputs(lib, shapes, tiny)

        def call() -> Any:
            lib.forget()
            return lib.jit(lambda *xs: function(lib, *xs)).lower(*xs).compile()

        return call

    return setup


def plus_one(lib: Library, x: Any) -> Any:
    return x + 1.0


def mlp_step(lib: Library, w: Any, v: Any, x: Any, y: Any) -> Any:
    """One step of gradient descent for a network of two layers."""

    def loss(weights: tuple[Any, Any]) -> Any:
        w, v = weights
        return lib.np.mean((lib.np.tanh(x @ w) @ v - y) ** 2)

    gradients = importlib.import_module(lib.name).grad(loss)((w, v))
    return w - 0.1 * gradients[0], v - 0.1 * gradients[1]


def convolution_step(lib: Library, kernel: Any, dense: Any, x: Any, y: Any) -> Any:
    """One step of gradient descent for a convolution, a mean over each image, and a dense layer."""
    module = importlib.import_module(lib.name)

    def loss(weights: tuple[Any, Any]) -> Any:
        kernel, dense = weights
        h = lib.np.maximum(module.lax.conv_general_dilated(x, kernel, (1, 1), "SAME"), 0.0)
        return lib.np.mean((lib.np.mean(h, axis=(2, 3)) @ dense - y) ** 2)

    gradients = module.grad(loss)((kernel, dense))
    return kernel - 0.1 * gradients[0], dense - 0.1 * gradients[1]


def gaussian_process(lib: Library, x: Any, y: Any, theta: Any) -> Any:
    """The gradient of a Gaussian process's likelihood, by a Cholesky factor and triangular solvers."""
    solve = importlib.import_module(f"{lib.name}.scipy.linalg").solve_triangular

    def loss(theta: Any) -> Any:
        covariance = lib.np.exp(theta[0] - (x[:, None] - x) ** 2 * lib.np.exp(theta[1])) + lib.np.eye(len(x))
        factor = lib.np.linalg.cholesky(covariance)
        scaled = solve(factor, y, lower=True)
        return scaled @ scaled + 2 * lib.np.log(lib.np.diagonal(factor)).sum()

    return importlib.import_module(lib.name).grad(loss)(theta)


def spectrum(lib: Library, x: Any) -> Any:
    """Autocorrelations by Fourier transforms, and the mean logarithm of the spectrum."""
    power = lib.np.abs(lib.np.fft.rfft(x * lib.np.hanning(x.shape[-1]))) ** 2
    return lib.np.fft.irfft(power), lib.np.log(power + 1e-6).mean()


def transformer_step(lib: Library, x: Any, y: Any, *weights: Any) -> Any:
    """One step of gradient descent for a transformer."""
    module = importlib.import_module(lib.name)
    gradients = module.grad(lambda w: transformer(lib, w, x, y))(list(weights))
    return [w - 0.1 * g for w, g in zip(weights, gradients, strict=True)]


def cold_transformer(lib: Library, tiny: bool) -> Call:
    """The compile of such a step for four blocks; for one if `tiny`."""
    shapes = _TRANSFORMER[: 6 if tiny else None]
    return cold_compile(transformer_step, *shapes)(lib, False)


_COMPILERS = ("jax", "stagec")
_MILLION = (1_000_000,)
_ROWS = (2048, 1024)
_SQUARE = (1000, 1000)
_SMALL = (10,)
_MANY = (100_000,)
# A sort may take 1.2 times as long.
_SORTS = round(1 / 1.2, 2)
# Examples, what they shall give, and the weights of four blocks.
_TRANSFORMER = ((2, 16, 64), (2, 16, 64), *[(64, 192), (64, 64), (64, 256), (256, 64)] * 4)
# Weights of both layers, examples and what they shall give.
_MLP = ((64, 128), (128, 10), (32, 64), (32, 10))
_CONVOLUTION = ((16, 3, 3, 3), (16, 10), (8, 3, 20, 20), (8, 10))

CASES: list[Case] = [
    Case("call", "1 array", call_flat(1), 1.0),
    Case("call", "3 arrays", call_flat(3), 1.0),
    Case("call", "10 arrays", call_flat(10), 1.0),
    Case("call", "dict of 3", call_dict, 1.0),
    Case("call", "nested results", call_two_results, 1.0),
    Case("call", "keyword", call_keyword, 1.0),
    Case("call", "Python scalar", call_scalar, 1.0),
    Case("call", "NumPy array", call_numpy, 1.0),
    Case("call", "static argument", call_static, 1.0),
    Case("trace", "300 mixed, lowered", trace_chain, 2.0, _COMPILERS),
    Case("trace", "300 mixed, traced", trace_only, 2.0, _COMPILERS),
    Case("trace", "300 arithmetic, lowered", trace_arithmetic, 2.0, _COMPILERS),
    Case("kernels", "selu 1e6", kernel(selu, _MILLION), 1.0),
    Case("kernels", "sum(x*x+sin(x)) 1e6", kernel(sum_of_terms, _MILLION), 1.0),
    Case("kernels", "softmax 2048x1024", kernel(softmax, _ROWS), 1.0),
    Case("kernels", "layernorm 2048x1024", kernel(layernorm, _ROWS), 1.0),
    Case("kernels", "logsumexp 2048x1024", kernel(lambda lib, x: lib.logsumexp(x, axis=-1), _ROWS), 1.0),
    Case("kernels", "sum of rows 1000x1000", kernel(lambda lib, x: lib.np.sum(x, axis=1), _SQUARE), 1.0),
    Case("kernels", "max of columns 1000x1000", kernel(lambda lib, x: lib.np.max(x, axis=0), _SQUARE), 1.0),
    Case("kernels", "std of columns 1000x1000", kernel(lambda lib, x: lib.np.std(x, axis=0), _SQUARE), 1.0),
    Case("kernels", "any(x>3) of rows 1000x1000", kernel(lambda lib, x: lib.np.any(x > 3, axis=1), _SQUARE), 1.0),
    Case("kernels", "matmul 64", product(64)),
    Case("kernels", "matmul 256", product(256)),
    Case("kernels", "matmul 1024", product(1024)),
    Case("kernels", "mlp 128x784x512x10", mlp_setup),
    Case("kernels", "transpose + add 1024", kernel(lambda lib, a, b: a.T + b, (1024, 1024), (1024, 1024))),
    Case("kernels", "cumsum 1e5", kernel(lambda lib, x: lib.np.cumsum(x), (100_000,))),
    Case("kernels", "sin 1e6", kernel(lambda lib, x: lib.np.sin(x), _MILLION), 1.0),
    Case("kernels", "sin(1e9 x) 1e6", kernel(lambda lib, x: lib.np.sin(x * 1e9), _MILLION), 1.0),
    Case("kernels", "sort 1e5", kernel(lambda lib, x: lib.np.sort(x), _MANY), _SORTS),
    Case("kernels", "argsort 1e5", kernel(lambda lib, x: stable_argsort(lib, x), _MANY), _SORTS),
    Case("kernels", "sort of columns 1000x100", kernel(lambda lib, x: lib.np.sort(x, axis=0), (1000, 100)), _SORTS),
    *PRODUCTS,
    *NARROW,
    *CONVOLUTIONS,
    *STEPS,
    *SIZES,
    *[Case("eager", f"{name} of 10", eager(function, _SMALL), 1.0) for name, function in OF_TEN.items()],
    Case("eager", "iterate over 1000", eager(lambda lib, x: list(x)[-1], (1000,)), 1.0),
    Case("eager", "sort 1e5", eager(lambda lib, x: lib.np.sort(x), _MANY), _SORTS),
    Case("eager", "argsort 1e5", eager(stable_argsort, _MANY), _SORTS),
    Case("eager", "selu 10", eager(selu, _SMALL), 1.0),
    Case("eager", "softmax 2048x1024", eager(softmax, _ROWS)),
    Case("compile", "1 operation", cold_compile(plus_one, _SMALL), None, _COMPILERS),
    Case("compile", "selu", cold_compile(selu, _MILLION), None, _COMPILERS),
    Case("compile", "softmax", cold_compile(softmax, _ROWS), None, _COMPILERS),
    Case("compile", "MLP step", cold_compile(mlp_step, *_MLP), None, _COMPILERS),
    Case("compile", "convolution step", cold_compile(convolution_step, *_CONVOLUTION), None, _COMPILERS),
    Case("compile", "transformer step", cold_transformer, None, _COMPILERS),
    Case("compile", "Gaussian process", cold_compile(gaussian_process, (200,), (200,), (3,)), None, _COMPILERS),
    Case("compile", "spectrum", cold_compile(spectrum, (8, 4096)), None, _COMPILERS),
    Case("compile", "300 mixed", cold_compile(chain, (20,)), None, _COMPILERS),
    *CONTRACTIONS,
    *AXES,
]
