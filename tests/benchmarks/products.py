"""Matrix products beside NumPy's BLAS, those of narrow dtypes, and convolutions with their gradients beside JAX.

For one core, run them with `OPENBLAS_NUM_THREADS=1 taskset -c 0`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.benchmarks.case import Call, Case, sample
from tests.benchmarks.libraries import Library

_LAYOUT = ("NHWC", "HWIO", "NHWC")


def product(
    m: int, n: int, k: int, *, dtype: str = "float32", batch: int = 0, turned: str = "", result: str = ""
) -> Callable[[Library, bool], Call]:
    """`a @ b`; `turned` holds the letters of the operands that are transposed, `result` a wider dtype of the sums."""

    def setup(lib: Library, tiny: bool) -> Call:
        if dtype == "float64":
            lib.doubles()
        rows, columns, depth = (min(size, 8) for size in (m, n, k)) if tiny else (m, n, k)
        more = (min(batch, 2) if tiny else batch,) if batch else ()
        shapes = [
            (depth, rows) if "a" in turned else (rows, depth),
            (columns, depth) if "b" in turned else (depth, columns),
        ]
        scale = 30 if dtype == "int8" else 1
        operands = [lib.array((sample(*more, *shape) * scale).astype(dtype)) for shape in shapes]

        def multiply(a: Any, b: Any) -> Any:
            a = lib.np.swapaxes(a, -1, -2) if "a" in turned else a
            b = lib.np.swapaxes(b, -1, -2) if "b" in turned else b
            return lib.np.matmul(a, b, **({"preferred_element_type": result} if result else {}))

        f = lib.jit(multiply)
        return lambda: lib.wait(f(*operands))

    return setup


def convolution(
    kind: str, image: tuple[int, ...], window: tuple[int, ...], stride: int = 1, groups: int = 1
) -> Callable[[Library, bool], Call]:
    """A convolution `[batch, row, column, feature]`, or its gradient for the `image` or the `weights`."""

    def setup(lib: Library, tiny: bool) -> Call:
        shape = (2, 8, 8, image[3]) if tiny else image

        def forward(x: Any, w: Any) -> Any:
            return lib.lax.conv_general_dilated(
                x, w, (stride, stride), "SAME", dimension_numbers=_LAYOUT, feature_group_count=groups
            )

        def image_gradient(x: Any, w: Any, ct: Any) -> Any:
            return lib.vjp(lambda x: forward(x, w), x)[1](ct)[0]

        def weight_gradient(x: Any, w: Any, ct: Any) -> Any:
            return lib.vjp(lambda w: forward(x, w), w)[1](ct)[0]

        rows, columns = (-(-size // stride) for size in shape[1:3])
        arrays = [sample(*shape), sample(*window)]
        if kind != "forward":
            arrays.append(sample(shape[0], rows, columns, window[3]))
        f = lib.jit({"forward": forward, "image": image_gradient, "weights": weight_gradient}[kind])
        operands = [lib.array(a) for a in arrays]
        return lambda: lib.wait(f(*operands))

    return setup


_FLOATS = (("f32", "float32"), ("f64", "float64"))
# Names and dtypes of operands, and of results that are wider; NumPy has no fast code for these.
_NARROW = (("bf16", "bfloat16", ""), ("f16", "float16", ""), ("int8", "int8", "int32"))
_OTHERS = ("jax", "stagec")

PRODUCTS = [
    *(
        Case("products", f"{n} {name}", product(n, n, n, dtype=dtype))
        for name, dtype in _FLOATS
        for n in (64, 100, 128, 256, 512, 1024, 2048)
    ),
    *(
        Case("products", f"512 {name} transposed {turned}", product(512, 512, 512, dtype=dtype, turned=turned))
        for name, dtype in _FLOATS
        for turned in ("a", "b", "ab")
    ),
    *(
        Case("products", f"{m}x{n}x{k} {name}", product(m, n, k, dtype=dtype))
        for name, dtype in _FLOATS
        for m, n, k in ((1, 4096, 4096), (4096, 1, 4096), (8, 4096, 1024), (32, 1024, 1024), (1024, 10, 784))
    ),
    *(
        Case("products", f"{batch} of {n} {name}", product(n, n, n, dtype=dtype, batch=batch))
        for name, dtype in _FLOATS
        for batch, n in ((64, 64), (8, 256), (1000, 8))
    ),
]
NARROW = [
    *(
        Case("narrow", f"{m}x{n}x{k} {name}", product(m, n, k, dtype=dtype, result=result), None, _OTHERS)
        for name, dtype, result in _NARROW
        for m, n, k in ((64, 64, 64), (256, 256, 256), (512, 512, 512), (1024, 1024, 1024), (32, 1024, 1024))
    ),
    *(
        Case("narrow", f"64 of 64 {name}", product(64, 64, 64, dtype=dtype, batch=64, result=result), None, _OTHERS)
        for name, dtype, result in _NARROW
    ),
]
_SHAPES: dict[str, tuple[Any, ...]] = {
    "3x3 64": ((8, 28, 28, 64), (3, 3, 64, 64)),
    "3x3 128": ((4, 14, 14, 128), (3, 3, 128, 128)),
    "3x3 stride 2": ((8, 28, 28, 64), (3, 3, 64, 128), 2),
    "1x1 256": ((4, 14, 14, 256), (1, 1, 256, 64)),
    "7x7 of 3, stride 2": ((4, 112, 112, 3), (7, 7, 3, 64), 2),
    "3x3 of 1": ((64, 28, 28, 1), (3, 3, 1, 32)),
    "3x3 by channel": ((8, 28, 28, 64), (3, 3, 1, 64), 1, 64),
    "3x3 in 4 groups": ((8, 14, 14, 64), (3, 3, 16, 64), 1, 4),
}
CONVOLUTIONS = [
    Case("convolutions", f"{name} {kind}", convolution(kind, *shape), 1.1, ("jax", "stagec"))
    for name, shape in _SHAPES.items()
    for kind in ("forward", "image", "weights")
]
