"""Rotations in three dimensions, as unit quaternions `(x, y, z, w)`: the names of `scipy.spatial.transform`.

The formulas for Euler angles are those of Bernardes and Viollet (2022), which SciPy uses as well.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any

from stagec import numpy as snp, random
from stagec.core import errors, location
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.core.containers import register_dataclass
from stagec.numpy.promotion import promote_inexact
from stagec.numpy.reductions import strong
from stagec.primitives.axes import shape_error
from stagec.random.key_array import KeyLike
from stagec.typing import ArrayLike, DTypeLike

__all__ = ["Rotation", "Slerp"]

# Below this angle, series are more precise than quotients of small numbers.
_SMALL = 1e-3


def _floats(x: ArrayLike) -> Array:
    return strong(promote_inexact(snp.asarray(x))[0])


def _with_size(name: str, x: ArrayLike, *sizes: int) -> Array:
    """Floats whose last axes have the given sizes."""
    found = _floats(x)
    if found.shape[-len(sizes) :] != sizes:
        shape = ", ".join(["...", *map(str, sizes)])
        raise shape_error(f"Rotation.{name}", found.aval.long(), f"pass an array of shape ({shape})")
    return found


def _radians(angles: Array, degrees: bool) -> Array:
    return angles * (math.pi / 180) if degrees else angles


def _shown(angles: Array, degrees: bool) -> Array:
    return angles * (180 / math.pi) if degrees else angles


def _norm(x: Array) -> Array:
    return snp.sqrt((x * x).sum(-1))


def _product(p: Array, q: Array) -> Array:
    """Hamilton's product: first `q`, then `p`."""
    a, b, c, d = (p[..., i] for i in range(4))
    x, y, z, w = (q[..., i] for i in range(4))
    return snp.stack(
        [
            d * x + a * w + b * z - c * y,
            d * y - a * z + b * w + c * x,
            d * z + a * y - b * x + c * w,
            d * w - a * x - b * y - c * z,
        ],
        axis=-1,
    )


def _axes(seq: str, counts: Sequence[int]) -> tuple[list[int], bool]:
    """The axes that letters name, and whether they turn with the body, which capital letters say."""
    turning = seq.isupper()
    axes = ["xyz".find(letter) for letter in seq.lower()]
    if len(seq) not in counts or -1 in axes or not (turning or seq.islower()):
        raise location.error(
            ValueError,
            f"seq={seq!r} names no axes of Euler angles",
            fix="give letters of 'xyz', or of 'XYZ' for axes that turn with the body",
        )
    if any(a == b for a, b in itertools.pairwise(axes)):
        raise location.error(ValueError, f"seq={seq!r} names an axis twice in succession", fix="leave one of them out")
    return axes, turning


@register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
class Rotation:
    """A rotation, or an array of rotations. A pytree.

    Attributes:
      quat: unit quaternions `(x, y, z, w)`, of shape `(4,)` or `(..., 4)`.

    `a * b` is the rotation `b`, followed by `a`.

    >>> from stagec.scipy.spatial.transform import Rotation
    >>> r = Rotation.from_euler("z", 90, degrees=True)
    >>> r.apply([1.0, 0.0, 0.0]).round(3)
    Array([0., 1., 0.], dtype=float32)
    >>> (r * r).as_rotvec(degrees=True).round(3)
    Array([  0.,   0., 180.], dtype=float32)
    """

    quat: Array

    @classmethod
    def concatenate(cls, rotations: Sequence[Rotation]) -> Rotation:
        """One array of several ones."""
        return cls(snp.concatenate([r.quat for r in rotations]))

    @classmethod
    def from_quat(cls, quat: ArrayLike) -> Rotation:
        """From quaternions `(x, y, z, w)` of any length but 0."""
        found = _with_size("from_quat", quat, 4)
        return cls(found / _norm(found)[..., None])

    @classmethod
    def from_euler(cls, seq: str, angles: ArrayLike, degrees: bool = False) -> Rotation:
        """From angles about axes.

        Args:
          seq: one to three letters, of `xyz` for fixed axes, or of `XYZ` for axes that turn with the body.
          angles: one for each letter, along the last axis.

        Raises:
          ValueError: `seq` is not such a text.
        """
        axes, turning = _axes(seq, (1, 2, 3))
        halves = _radians(_with_size("from_euler", snp.atleast_1d(snp.asarray(angles)), len(axes)), degrees) / 2
        quat = None
        for i, axis in enumerate(axes):
            half = halves[..., i]
            zero = 0 * half
            one = snp.stack([snp.sin(half) if n == axis else zero for n in range(3)] + [snp.cos(half)], axis=-1)
            quat = one if quat is None else _product(quat, one) if turning else _product(one, quat)
        assert quat is not None, "there is an axis"
        return cls(quat)

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Rotation:
        """From orthogonal matrices of determinant 1."""
        m = _with_size("from_matrix", matrix, 3, 3)
        trace = m[..., 0, 0] + m[..., 1, 1] + m[..., 2, 2]
        found = []
        # The quaternion times twice any of its parts; the largest part loses no digits.
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            parts = {
                i: 1 - trace + 2 * m[..., i, i],
                j: m[..., j, i] + m[..., i, j],
                k: m[..., k, i] + m[..., i, k],
                3: m[..., k, j] - m[..., j, k],
            }
            found.append(snp.stack([parts[n] for n in range(4)], axis=-1))
        differences = [m[..., (i + 2) % 3, (i + 1) % 3] - m[..., (i + 1) % 3, (i + 2) % 3] for i in range(3)]
        found.append(snp.stack([*differences, 1 + trace], axis=-1))
        sizes = snp.stack([m[..., 0, 0], m[..., 1, 1], m[..., 2, 2], trace], axis=-1)
        largest = sizes.argmax(-1)[..., None]
        quat = found[3]
        for i in range(3):
            quat = snp.where(largest == i, found[i], quat)
        return cls.from_quat(quat)

    @classmethod
    def from_rotvec(cls, rotvec: ArrayLike, degrees: bool = False) -> Rotation:
        """From vectors along the axes, whose lengths are the angles."""
        vector = _radians(_with_size("from_rotvec", rotvec, 3), degrees)
        square = (vector * vector).sum(-1)[..., None]
        small = square <= _SMALL**2
        angle = snp.sqrt(snp.where(small, 1, square))
        scale = snp.where(small, 0.5 - square / 48 + square * square / 3840, snp.sin(angle / 2) / angle)
        return cls(
            snp.concatenate(
                [scale * vector, snp.where(small, 1 - square / 8 + square * square / 384, snp.cos(angle / 2))], axis=-1
            )
        )

    @classmethod
    def from_mrp(cls, mrp: ArrayLike) -> Rotation:
        """From modified Rodrigues parameters: axes times the tangents of a quarter of the angles."""
        vector = _with_size("from_mrp", mrp, 3)
        square = (vector * vector).sum(-1)[..., None]
        return cls(snp.concatenate([2 * vector, 1 - square], axis=-1) / (1 + square))

    @classmethod
    def identity(cls, num: int | None = None, dtype: DTypeLike = float) -> Rotation:
        """The rotation that changes nothing, or `num` of it."""
        quat = snp.array([0, 0, 0, 1], dtype=dtype)
        return cls(quat if num is None else snp.broadcast_to(quat, (num, 4)))

    @classmethod
    def random(cls, random_key: KeyLike, num: int | None = None) -> Rotation:
        """Rotations that are drawn uniformly from all."""
        return cls.from_quat(random.normal(random_key, (4,) if num is None else (num, 4)))

    @property
    def single(self) -> bool:
        """Whether it is one rotation, and not an array."""
        return self.quat.ndim == 1

    def __len__(self) -> int:
        self._refuse_single("has no len()")
        return self.quat.shape[0]

    def __getitem__(self, indexer: Any) -> Rotation:
        self._refuse_single("cannot be indexed")
        return Rotation(self.quat[indexer])

    def _refuse_single(self, what: str) -> None:
        if self.single:
            raise location.error(TypeError, f"one rotation {what}", fix="make an array of rotations")

    def __mul__(self, other: Rotation) -> Rotation:
        return Rotation.from_quat(_product(self.quat, other.quat))

    def apply(self, vectors: ArrayLike, inverse: bool = False) -> Array:
        """Rotate vectors, which are along the last axis."""
        matrix = self.as_matrix()
        return snp.einsum(
            "...ji,...j->...i" if inverse else "...ij,...j->...i", matrix, _with_size("apply", vectors, 3)
        )

    def inv(self) -> Rotation:
        """The inverse."""
        return Rotation(self.quat * snp.array([-1, -1, -1, 1], self.quat.dtype))

    def magnitude(self) -> Array:
        """The angles, from 0 to pi."""
        return 2 * snp.arctan2(_norm(self.quat[..., :3]), abs(self.quat[..., 3]))

    def mean(self, weights: ArrayLike | None = None) -> Rotation:
        """The rotation that is nearest to all of an array, in the sense of the chordal distance."""
        dtype = self.quat.dtype
        w = snp.ones(len(self), dtype) if weights is None else snp.asarray(weights, dtype)
        if w.shape != (len(self),):
            raise shape_error("Rotation.mean", f"weights {w.aval.long()}", f"give {len(self)} weights")
        _, vectors = snp.linalg.eigh(snp.einsum("n,ni,nj->ij", w, self.quat, self.quat))
        return Rotation(vectors[:, -1])

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Array:
        """The quaternions.

        Args:
          canonical: of the two of each rotation, the one whose last part that is not 0, in the order wxyz, is positive.
          scalar_first: in the order wxyz.
        """
        quat = self.quat
        if canonical:
            sign = quat[..., 3]
            for i in range(3):
                sign = snp.where(sign == 0, quat[..., i], sign)
            quat = snp.where(sign[..., None] < 0, -quat, quat)
        return snp.roll(quat, 1, axis=-1) if scalar_first else quat

    def as_matrix(self) -> Array:
        """The matrices."""
        x, y, z, w = (self.quat[..., i] for i in range(4))
        rows = [
            [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), y * y - x * x - z * z + w * w, 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), z * z - x * x - y * y + w * w],
        ]
        return snp.stack([snp.stack(row, axis=-1) for row in rows], axis=-2)

    def as_rotvec(self, degrees: bool = False) -> Array:
        """Vectors along the axes, whose lengths are the angles, from 0 to pi."""
        quat = snp.where(self.quat[..., 3:] < 0, -self.quat, self.quat)
        vector, w = quat[..., :3], quat[..., 3:]
        square = (vector * vector).sum(-1)[..., None]
        small = square <= (_SMALL / 2) ** 2
        half_sine = snp.sqrt(snp.where(small, 1, square))
        angle = 2 * snp.arctan2(half_sine, w)
        scale = snp.where(small, 2 + square / 3 + 3 * square * square / 20, angle / half_sine)
        return _shown(scale * vector, degrees)

    def as_mrp(self) -> Array:
        """Modified Rodrigues parameters, of length 1 at most."""
        quat = snp.where(self.quat[..., 3:] < 0, -self.quat, self.quat)
        return quat[..., :3] / (1 + quat[..., 3:])

    def as_euler(self, seq: str, degrees: bool = False) -> Array:
        """Angles about three axes, along the last axis; where they are not unique, the third is 0.

        Args:
          seq: three letters, as for `from_euler`.
        """
        axes, turning = _axes(seq, (3,))
        i, j, k = reversed(axes) if turning else axes
        symmetric = i == k
        if symmetric:
            k = 3 - i - j
        sign = (i - j) * (j - k) * (k - i) // 2
        q = [self.quat[..., n] for n in range(4)]
        if symmetric:
            a, b, c, d = q[3], q[i], q[j], q[k] * sign
        else:
            a, b, c, d = q[3] - q[j], q[i] + q[k] * sign, q[j] + q[3], q[k] * sign - q[i]
        middle = 2 * snp.arctan2(snp.hypot(c, d), snp.hypot(a, b))
        half_sum, half_difference = snp.arctan2(b, a), snp.arctan2(d, c)
        near_zero, near_half = abs(middle) <= 1e-7, abs(middle - math.pi) <= 1e-7
        ends = [half_sum - half_difference, half_sum + half_difference]
        first, third = reversed(ends) if turning else ends
        first = snp.where(
            near_zero, 2 * half_sum, snp.where(near_half, 2 * half_difference * (1 if turning else -1), first)
        )
        third = snp.where(near_zero | near_half, 0, third)
        if not symmetric:
            first, third = (first * sign, third) if turning else (first, third * sign)
            middle = middle - math.pi / 2
        angles = snp.stack([first, middle, third], axis=-1)
        turn = 2 * math.pi
        angles = snp.where(angles > math.pi, angles - turn, snp.where(angles < -math.pi, angles + turn, angles))
        return _shown(angles, degrees)


@register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
class Slerp:
    """Interpolation between rotations at given times, at constant angular velocities; made by `Slerp.init`.

    >>> from stagec.scipy.spatial.transform import Rotation, Slerp
    >>> rotations = Rotation.from_euler("x", [[0.0], [90.0]], degrees=True)
    >>> Slerp.init([0.0, 1.0], rotations)(0.5).as_rotvec(degrees=True).round(3)
    Array([45.,  0.,  0.], dtype=float32)
    """

    times: Array
    timedelta: Array
    rotations: Rotation
    rotvecs: Array

    @classmethod
    def init(cls, times: ArrayLike, rotations: Rotation) -> Slerp:
        """Prepare an interpolation.

        Args:
          times: increasing, one for each rotation.
          rotations: two at least.
        """
        if not isinstance(rotations, Rotation):
            raise location.error(
                errors.ArgumentTypeError,
                f"Slerp.init: rotations is {errors.a_kind(type(rotations))}",
                fix="pass a Rotation",
            )
        if rotations.single or len(rotations) == 1:
            raise location.error(ValueError, "Slerp.init: one rotation", fix="give two rotations at least")
        times = snp.asarray(times, rotations.quat.dtype)
        if times.shape != (len(rotations),):
            raise shape_error("Slerp.init", f"times {times.aval.long()}", f"give {len(rotations)} times")
        first, second = Rotation(rotations.quat[:-1]), Rotation(rotations.quat[1:])
        return cls(times, times[1:] - times[:-1], first, (first.inv() * second).as_rotvec())

    def __call__(self, times: ArrayLike) -> Rotation:
        """The rotations at a time, or at a vector of times."""
        at = snp.asarray(times, self.times.dtype)
        if at.ndim > 1:
            raise shape_error("Slerp", f"times {at.aval.long()}", "pass a time, or a vector of times")
        index = snp.maximum(self.times.searchsorted(at) - 1, 0)
        part = (at - self.times[index]) / self.timedelta[index]
        return self.rotations[index] * Rotation.from_rotvec(self.rotvecs[index] * part[..., None])


_publish(globals())
