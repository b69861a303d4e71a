"""Resizing images, by the names of `jax.image`."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec import numpy as snp
from stagec.core import errors, location
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.numpy.arguments import array_argument
from stagec.numpy.promotion import promote_inexact
from stagec.primitives.axes import as_shape, canonical_axis
from stagec.primitives.operand import aval_of
from stagec.primitives.precision import Precision, PrecisionLike
from stagec.runtime.plans import cover as _cover
from stagec.typing import ArrayLike

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]


class ResizeMethod(enum.Enum):
    """How values between pixels are interpolated.

    `NEAREST` takes that of the nearest pixel, `AREA` the mean over an output pixel's area. The others weigh the
    pixels around by a kernel: a triangle (`LINEAR`), a windowed sinc (`LANCZOS3`, `LANCZOS5`; C. Duchon, "Lanczos
    filtering in one and two dimensions", 1979), or a cubic polynomial (`CUBIC`; R. Keys, "Cubic convolution
    interpolation for digital image processing", 1981, with -0.5 as the parameter). `CUBIC_PYTORCH` is `CUBIC`, and
    without antialiasing the polynomial with -0.75 on an image whose edges are repeated, as PyTorch has it.

    >>> ResizeMethod.from_string("bilinear")
    <ResizeMethod.LINEAR: 1>
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method with a name, such as `"linear"`."""
        if s not in _NAMES:
            raise location.error(
                errors.UnsupportedError, f"there is no method {s!r}", fix=f"use one of {', '.join(map(repr, _NAMES))}"
            )
        return _NAMES[s]


_NAMES = {
    "nearest": ResizeMethod.NEAREST,
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), ResizeMethod.LINEAR),
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), ResizeMethod.CUBIC),
    **dict.fromkeys(("cubic-pytorch", "bicubic-pytorch"), ResizeMethod.CUBIC_PYTORCH),
    "area": ResizeMethod.AREA,
}


def _triangle(x: Any) -> Array:
    return snp.maximum(0, 1 - x)


def _lanczos(radius: float) -> Callable[[Any], Any]:
    def kernel(x: Array) -> Array:
        safe = snp.where(x > 1e-3, x, 1)
        value = radius * snp.sin(math.pi * safe) * snp.sin(math.pi * safe / radius) / (math.pi * safe) ** 2
        return snp.where(x > radius, 0, snp.where(x > 1e-3, value, 1))

    return kernel


def _cubic(a: float) -> Callable[[Any], Any]:
    """Keys's kernel with a parameter."""

    def kernel(x: Array) -> Array:
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return snp.where(x >= 2, 0, snp.where(x >= 1, far, near))

    return kernel


_KERNELS: dict[ResizeMethod, Callable[[Any], Any]] = {
    ResizeMethod.LINEAR: _triangle,
    ResizeMethod.LANCZOS3: _lanczos(3.0),
    ResizeMethod.LANCZOS5: _lanczos(5.0),
    ResizeMethod.CUBIC: _cubic(-0.5),
    ResizeMethod.CUBIC_PYTORCH: _cubic(-0.75),
}


def _weights(size: int, wanted: int, scale: Any, move: Array, method: ResizeMethod, antialias: bool) -> Array:
    """The matrix of shape (size, wanted) whose columns are the weights of the input pixels in an output pixel."""
    scale, move = promote_inexact(scale, move)
    scale, move = array_argument(scale, "scale"), array_argument(move, "translation")
    dtype = scale.dtype
    inverse = 1 / scale
    position = (snp.arange(wanted, dtype=dtype) + 0.5) * inverse - move * inverse - 0.5
    # Without antialiasing, `CUBIC_PYTORCH` repeats the edges of the image as far as the kernel reaches.
    repeated = method == ResizeMethod.CUBIC_PYTORCH
    edge = 2 if repeated else 0
    pixel = snp.arange(-edge, size + edge, dtype=dtype)
    if method == ResizeMethod.AREA:
        low = snp.arange(wanted, dtype=dtype) * inverse - move * inverse
        left, right = snp.maximum(low, pixel[:, None]), snp.minimum(low + inverse, pixel[:, None] + 1)
        weights = snp.maximum(0, right - left)
    else:
        distance = abs(position - pixel[:, None])
        weights = _KERNELS[method](distance / snp.maximum(inverse, 1) if antialias else distance)
    if repeated:
        onto = np.eye(size, dtype=np.float32)[np.clip(np.arange(-edge, size + edge), 0, size - 1)].T
        weights = snp.matmul(onto.astype(dtype), weights, precision=Precision.HIGHEST)
    total = weights.sum(0, keepdims=True)
    usable = abs(total) > 1000 * float(np.finfo(np.float32).eps)
    weights = snp.where(usable, weights / snp.where(usable, total, 1), 0)
    if repeated:
        return weights
    return snp.where((position >= -0.5) & (position <= size - 0.5), weights, 0)


def scale_and_translate(
    image: ArrayLike,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: ArrayLike,
    translation: ArrayLike,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: PrecisionLike = Precision.HIGHEST,
) -> Array:
    """Scale and translate an image along some axes; elements outside of the image are 0.

    Pixel `i` covers the coordinates from `i` to `i + 1`. What is at `x` in the image is at
    `x * scale + translation` in the result.

    Args:
      shape: of the result, all axes.
      spatial_dims: the axes to scale and move along.
      scale, translation: a number for each of these axes; both have derivatives.
      method: a `ResizeMethod` or its name, but not `"nearest"`.
      antialias: widen the kernel where the image gets smaller.
      precision: of the products of matrices.

    >>> import stagec.numpy as snp
    >>> scale_and_translate(snp.arange(4.0), (4,), (0,), snp.ones(1), snp.ones(1), "linear")
    Array([0., 0., 1., 2.], dtype=float32)
    """
    method = ResizeMethod.from_string(method) if isinstance(method, str) else method
    if method == ResizeMethod.NEAREST:
        raise location.error(
            errors.UnsupportedError,
            "scale_and_translate: the method 'nearest' is not supported",
            fix="use another method, such as 'linear' or 'cubic'",
        )
    if method == ResizeMethod.CUBIC_PYTORCH and antialias:
        method = ResizeMethod.CUBIC
    (pixels,) = promote_inexact(image)
    pixels = array_argument(pixels, "scale_and_translate")
    sizes = _checked_shape("scale_and_translate", pixels, shape)
    factors, moves = (array_argument(x, "scale_and_translate") for x in (scale, translation))
    if not (factors.shape == moves.shape == (len(spatial_dims),)):
        raise location.error(
            errors.ShapeError,
            f"scale_and_translate: scale of shape {factors.shape} and translation of shape {moves.shape} for "
            f"spatial_dims={tuple(spatial_dims)}",
            fix="give one number of each for each axis in spatial_dims",
        )
    for i, d in enumerate(spatial_dims):
        axis = canonical_axis(d, pixels.ndim, "scale_and_translate")
        matrix = _weights(pixels.shape[axis], sizes[axis], factors[i], moves[i], method, antialias)
        product = snp.tensordot(pixels, matrix.astype(pixels.dtype), ((axis,), (0,)), precision=precision)
        pixels = snp.moveaxis(product, -1, axis)
    return pixels


def resize(
    image: ArrayLike,
    shape: Sequence[int],
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: PrecisionLike = Precision.HIGHEST,
) -> Array:
    """Resize an image.

    Args:
      shape: of the result, all axes; those of channels and batches keep their sizes.
      method: a `ResizeMethod` or its name: `"nearest"`, `"linear"`, `"cubic"`, `"lanczos3"`, `"lanczos5"`, `"area"`,
        `"cubic-pytorch"`. All but the first make floating-point numbers of integers.
      antialias: widen the kernel where the image gets smaller.
      precision: of the products of matrices.

    >>> import stagec.numpy as snp
    >>> resize(snp.array([1.0, 3.0]), (4,), "linear")
    Array([1. , 1.5, 2.5, 3. ], dtype=float32)
    """
    method = ResizeMethod.from_string(method) if isinstance(method, str) else method
    pixels = array_argument(image, "resize")
    sizes = _checked_shape("resize", pixels, shape)
    changed = [d for d in range(pixels.ndim) if pixels.shape[d] != sizes[d]]
    if method == ResizeMethod.NEAREST:
        for d in changed:
            position = (np.arange(sizes[d], dtype=np.float32) + np.float32(0.5)) * pixels.shape[d] / sizes[d]
            pixels = snp.take(pixels, np.floor(position.astype(np.float32)).astype(np.int32), axis=d)
        return pixels
    factors = np.array([sizes[d] / pixels.shape[d] if sizes[d] else 1.0 for d in changed])
    return scale_and_translate(
        pixels, sizes, changed, factors, np.zeros(len(changed)), method, antialias, precision
    )  # fmt: skip


def _checked_shape(name: str, image: Any, shape: Sequence[int]) -> tuple[int, ...]:
    sizes = as_shape(shape, name)
    if len(sizes) != image.ndim:
        raise location.error(
            errors.ShapeError,
            f"{name}: shape={sizes} for {aval_of(image).long()}",
            fix="give a size for each axis of the image",
        )
    return sizes


_cover(globals())
_publish(globals())
