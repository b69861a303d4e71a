"""Densities estimated from samples by normal kernels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from stagec.core import dtypes, errors, location, pytree
from stagec.core.array import Array, Shape
from stagec.numpy.arguments import array_argument
from stagec.numpy.creation import full, zeros
from stagec.numpy.diagonals import diagonal
from stagec.numpy.linalg import cholesky, inv
from stagec.numpy.manipulation import atleast_1d, atleast_2d
from stagec.numpy.promotion import promote_inexact
from stagec.numpy.statistics import cov
from stagec.primitives import arithmetic as ar
from stagec.primitives.axes import shape_error
from stagec.primitives.operand import aval_of
from stagec.primitives.transcendental import exp, log
from stagec.random import choice, multivariate_normal, split
from stagec.random.keys import KeyLike
from stagec.scipy.solvers import solve_triangular
from stagec.scipy.special import logsumexp, ndtr
from stagec.typing import ArrayLike


def _real(name: str, value: Any) -> Array:
    given = array_argument(value, name)
    if dtypes.is_complex(aval_of(given).dtype):
        raise location.error(
            errors.UnsupportedError,
            f"gaussian_kde: {name} is {aval_of(given).long()}, and densities are of real numbers",
            fix="pass the real and the imaginary parts as two rows",
        )
    return given


@pytree.register_pytree_node_class
class gaussian_kde:
    """The density that normal kernels around samples estimate; a pytree.

    Args:
      dataset: samples `(n,)`, or `(d, n)` of vectors.
      bw_method: the width of the kernels: `"scott"` (the default), `"silverman"`, a number by which the samples'
        standard deviation is multiplied, or a function of this object that returns one.
      weights: of the samples; equal by default.

    >>> import stagec.numpy as snp
    >>> kde = gaussian_kde(snp.array([0.0, 1.0, 2.0]))
    >>> kde(snp.array([1.0, 5.0])).round(3)
    Array([0.318, 0.   ], dtype=float32)
    """

    neff: Array
    dataset: Array
    weights: Array
    covariance: Array
    inv_cov: Array

    def __init__(
        self,
        dataset: ArrayLike,
        bw_method: str | ArrayLike | Callable[[Any], Any] | None = None,
        weights: ArrayLike | None = None,
    ) -> None:
        samples = atleast_2d(_real("dataset", dataset))
        d, n = aval_of(samples).shape
        if d * n < 2:
            raise shape_error("gaussian_kde", f"dataset is {aval_of(samples).long()}", "pass two samples or more")
        if weights is None:
            (samples,) = promote_inexact(samples)
            weights = full(n, 1 / n, aval_of(samples).dtype)
        else:
            samples, weights = promote_inexact(samples, atleast_1d(_real("weights", weights)))
            if aval_of(weights).shape != (n,):
                raise shape_error(
                    "gaussian_kde", f"weights is {aval_of(weights).long()}, of {n} samples", "pass one for each sample"
                )
            weights = weights / weights.sum()
        self.dataset, self.weights = samples, weights
        self.neff = 1 / (weights**2).sum()
        factor = self._factor(bw_method)
        covariance = atleast_2d(cov(samples, rowvar=True, bias=False, aweights=weights))
        self.covariance, self.inv_cov = covariance * factor**2, inv(covariance) / factor**2

    def _factor(self, bw_method: Any) -> Any:
        if bw_method is None or (isinstance(bw_method, str) and bw_method == "scott"):
            return self.neff ** (-1 / (self.d + 4))
        if isinstance(bw_method, str) and bw_method == "silverman":
            return (self.neff * (self.d + 2) / 4) ** (-1 / (self.d + 4))
        if callable(bw_method):
            return bw_method(self)
        if isinstance(bw_method, str) or aval_of(array_argument(bw_method, "bw_method")).shape:
            raise location.error(
                ValueError,
                f"gaussian_kde: bw_method is {errors.brief(bw_method)}",
                fix="pass 'scott', 'silverman', a number, or a function of the estimate",
            )
        return bw_method

    def tree_flatten(self) -> tuple[tuple[Any, ...], None]:
        return (self.neff, self.dataset, self.weights, self.covariance, self.inv_cov), None

    @classmethod
    def tree_unflatten(cls, aux_data: None, children: Any) -> gaussian_kde:
        found = cls.__new__(cls)
        found.neff, found.dataset, found.weights, found.covariance, found.inv_cov = children
        return found

    @property
    def d(self) -> int:
        """How many elements a sample has."""
        return aval_of(self.dataset).shape[0]

    @property
    def n(self) -> int:
        """How many samples there are."""
        return aval_of(self.dataset).shape[1]

    def _points(self, points: ArrayLike) -> Array:
        found = atleast_2d(_real("points", points))
        d, m = aval_of(found).shape
        if d == 1 and m == self.d:
            return found.reshape(self.d, 1)
        if d != self.d:
            raise shape_error(
                "gaussian_kde", f"points are {aval_of(found).long()}, of samples of {self.d}", "pass one point a column"
            )
        return found

    def _logarithms(self, points: ArrayLike) -> Array:
        """Return the logarithms of the kernels at points: a row for each point."""
        samples, where, precision = promote_inexact(self.dataset, self._points(points), self.inv_cov)
        whitening = cholesky(precision)
        near, far = where.T @ whitening, samples.T @ whitening
        norm = log(diagonal(whitening)).sum() - 0.5 * self.d * math.log(2 * math.pi)
        return norm - 0.5 * ((near[:, None, :] - far[None, :, :]) ** 2).sum(-1)

    def evaluate(self, points: ArrayLike) -> Array:
        """The density at points `(m,)`, or `(d, m)` of vectors."""
        return (self.weights * exp(self._logarithms(points))).sum(-1)

    def __call__(self, points: ArrayLike) -> Array:
        """The density at points."""
        return self.evaluate(points)

    def pdf(self, x: ArrayLike) -> Array:
        """The density at points."""
        return self.evaluate(x)

    def logpdf(self, x: ArrayLike) -> Array:
        """The logarithm of the density at points."""
        return logsumexp(log(self.weights) + self._logarithms(x), axis=-1)

    def _convolved(self, mean: Array, covariance: Array) -> Array:
        """Integrate the density times normal densities of the means in the columns, and one covariance."""
        factor = cholesky(covariance)
        turn: float = (2 * math.pi) ** (self.d / 2)
        norm = turn * diagonal(factor).prod()
        apart = (self.dataset[:, :, None] - mean[:, None, :]).reshape(self.d, -1)
        energy = (solve_triangular(factor, apart, lower=True) ** 2).sum(0) / 2
        return self.weights @ exp(-energy).reshape(self.n, -1) / norm

    def integrate_gaussian(self, mean: ArrayLike, cov: ArrayLike) -> Array:
        """The integral of the density times a normal one."""
        center, spread = atleast_1d(array_argument(mean, "mean").squeeze()), atleast_2d(array_argument(cov, "cov"))
        if aval_of(center).shape != (self.d,) or aval_of(spread).shape != (self.d, self.d):
            raise shape_error(
                "integrate_gaussian",
                f"mean is {aval_of(center).long()} and cov is {aval_of(spread).long()}, of samples of {self.d}",
                f"pass a vector of {self.d}, and a square matrix of as many rows",
            )
        return self._convolved(center[:, None], self.covariance + spread)[0]

    def integrate_box_1d(self, low: ArrayLike, high: ArrayLike) -> Array:
        """The integral of the density of numbers from `low` to `high`."""
        if self.d != 1:
            raise shape_error(
                "integrate_box_1d", f"the samples have {self.d} elements", "use it for samples that are numbers"
            )
        first, last = array_argument(low, "low"), array_argument(high, "high")
        if aval_of(first).shape or aval_of(last).shape:
            raise shape_error(
                "integrate_box_1d", f"limits {aval_of(first).long()} and {aval_of(last).long()}", "pass two numbers"
            )
        scale = ar.sqrt(self.covariance[0, 0])
        below, above = ((x - self.dataset[0]) / scale for x in (first, last))
        return (self.weights * (ndtr(above) - ndtr(below))).sum()

    def integrate_kde(self, other: gaussian_kde) -> Array:
        """The integral of the product of two densities."""
        if other.d != self.d:
            raise shape_error(
                "integrate_kde", f"samples have {self.d} and {other.d} elements", "pass a density of as many dimensions"
            )
        return (self._convolved(other.dataset, self.covariance + other.covariance) * other.weights).sum()

    def integrate_box(self, low_bounds: Any, high_bounds: Any, maxpts: Any = None) -> Array:
        """Not supported, as in JAX."""
        raise location.error(
            errors.UnsupportedError,
            "gaussian_kde.integrate_box has no compiled form",
            fix="use integrate_box_1d for numbers, or average over resample(key, shape)",
        )

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Not supported, as in JAX: the estimate does not change."""
        raise location.error(
            errors.UnsupportedError,
            "gaussian_kde.set_bandwidth would change the estimate",
            fix="make another: gaussian_kde(dataset, bw_method)",
        )

    def resample(self, key: KeyLike, shape: Shape = ()) -> Array:
        """Vectors drawn from the density, of shape `(d, *shape)`."""
        first, second = split(key)
        index = choice(first, self.n, shape=shape, p=self.weights)
        center = zeros(self.d, aval_of(self.covariance).dtype)
        apart = multivariate_normal(second, center, self.covariance, shape=shape, dtype=aval_of(self.dataset).dtype)
        return self.dataset[:, index] + apart.T
