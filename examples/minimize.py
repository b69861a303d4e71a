"""Minimize functions by two methods, each one compiled program: truncated Newton, and L-BFGS.

`python examples/minimize.py` needs `pip install '.[examples]'`, for the data and for SciPy, to compare with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

import stagec
import stagec.numpy as snp
from stagec import lax, nn

Function = Callable[[Any], Any]


class Found(NamedTuple):
    """A minimum: where, its value, the gradient's length there, and the steps it took."""

    x: Any
    value: Any
    slope: Any
    steps: Any


class Result(NamedTuple):
    """Minima of one function by name of the method; the last is that of SciPy or scikit-learn."""

    problem: str
    found: dict[str, Found]


def rosenbrock(x: Any) -> Any:
    """Rosenbrock's valley: its minimum is 0, where all of `x` (n,) is 1."""
    return snp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def logistic(weights: Any, inputs: Any, signs: Any) -> Any:
    """The loss of logistic regression as scikit-learn has it: the last weight is the intercept, and is not penalized.

    Args:
      weights: (features + 1,).
      inputs: (n, features).
      signs: (n,), 1 or -1.
    """
    scores = inputs @ weights[:-1] + weights[-1]
    return snp.sum(nn.softplus(-signs * scores)) + weights[:-1] @ weights[:-1] / 2


def line_search(f: Function, x: Any, value: Any, slope: Any, direction: Any) -> tuple[Any, Any]:
    """Halve the step along `direction` until `f` falls by what the slope promises (Armijo's rule).

    Near a minimum, `f` falls by less than its rounding error, which is forgiven.

    Returns:
      The new `x`, and whether there was such a step.
    """
    promise = 1e-4 * slope @ direction
    rounding = 4 * snp.finfo(value.dtype).eps * abs(value)

    def too_long(size: Any) -> Any:
        return ~(f(x + size * direction) <= value + size * promise + rounding) & (size > 1e-12)

    size = lax.while_loop(too_long, lambda size: size / 2, snp.ones_like(value))
    return x + size * direction, size > 1e-12


def conjugate_gradients(product: Function, right: Any, tolerance: Any) -> Any:
    """Solve A y = right, given products with A; stop early where A is not positive (Nocedal and Wright, algorithm 7.1).

    Args:
      product: the product of A (n, n) with a vector (n,).
      right: (n,).
      tolerance: length of the residual that is small enough.
    """

    def unfinished(state: Any) -> Any:
        _, residual, _, count, positive = state
        return (residual @ residual > tolerance**2) & (count < 2 * len(right)) & positive

    def step(state: Any) -> Any:
        y, residual, direction, count, _ = state
        image = product(direction)
        curvature = direction @ image
        positive = curvature > 0
        size = snp.where(positive, residual @ residual / curvature, 0.0)
        after = residual - size * image
        following = after + (after @ after) / (residual @ residual) * direction
        # Along a direction in which the function falls ever faster, the first step is still a good one.
        y = snp.where(positive, y + size * direction, snp.where(count == 0, direction, y))
        return y, after, following, count + 1, positive

    return lax.while_loop(unfinished, step, (snp.zeros_like(right), right, right, 0, True))[0]


def newton(f: Function, x: Any, tolerance: float = 1e-8, most_steps: int = 200) -> Found:
    """Newton's method: the Hessian is never formed, its products with vectors are derivatives of the gradient."""
    gradient = stagec.grad(f)

    def unfinished(state: Any) -> Any:
        _, _, slope, steps, moved = state
        return (snp.sqrt(slope @ slope) > tolerance) & (steps < most_steps) & moved

    def step(state: Any) -> Any:
        x, value, slope, steps, _ = state
        length = snp.sqrt(slope @ slope)
        direction = conjugate_gradients(
            lambda v: stagec.jvp(gradient, (x,), (v,))[1], -slope, snp.minimum(0.5, snp.sqrt(length)) * length
        )
        x, moved = line_search(f, x, value, slope, direction)
        return x, *stagec.value_and_grad(f)(x), steps + 1, moved

    x, value, slope, steps, _ = lax.while_loop(unfinished, step, (x, *stagec.value_and_grad(f)(x), 0, True))
    return Found(x, value, snp.sqrt(slope @ slope), steps)


class Memory(NamedTuple):
    """The last steps and the changes of the gradient that they brought, oldest first, and 1 / (step @ change)."""

    steps: Any
    changes: Any
    scales: Any


def quasi_newton_direction(memory: Memory, slope: Any) -> Any:
    """The direction that L-BFGS takes (Nocedal and Wright, algorithm 7.4): places of a scale of 0 count for nothing."""

    def back(q: Any, pair: Memory) -> tuple[Any, Any]:
        share = pair.scales * (pair.steps @ q)
        return q - share * pair.changes, share

    q, shares = lax.scan(back, slope, memory, reverse=True)
    last = memory.changes[-1]
    known = memory.scales[-1] > 0
    q = q * snp.where(known, 1 / snp.where(known, memory.scales[-1] * (last @ last), 1.0), 1.0)

    def forth(r: Any, pair: tuple[Memory, Any]) -> tuple[Any, None]:
        memory, share = pair
        return r + memory.steps * (share - memory.scales * (memory.changes @ r)), None

    return -lax.scan(forth, q, (memory, shares))[0]


def lbfgs(f: Function, x: Any, tolerance: float = 1e-8, most_steps: int = 1000, pairs: int = 10) -> Found:
    """L-BFGS with `pairs` pairs in memory."""

    def unfinished(state: Any) -> Any:
        _, _, slope, _, steps, moved = state
        return (snp.sqrt(slope @ slope) > tolerance) & (steps < most_steps) & moved

    def step(state: Any) -> Any:
        x, value, slope, memory, steps, _ = state
        following, moved = line_search(f, x, value, slope, quasi_newton_direction(memory, slope))
        value, after = stagec.value_and_grad(f)(following)
        moves, change = following - x, after - slope
        curvature = moves @ change
        # Pairs along which the function does not curve upwards would spoil the approximation.
        useful = curvature > 1e-10 * (change @ change)
        new = Memory(moves, change, 1 / snp.where(useful, curvature, 1.0))
        memory = lax.cond(
            useful,
            lambda: stagec.tree.map(lambda old, row: snp.concatenate([old[1:], row[None]]), memory, new),
            lambda: memory,
        )
        return following, value, after, memory, steps + 1, moved

    memory = Memory(snp.zeros((pairs, len(x))), snp.zeros((pairs, len(x))), snp.zeros(pairs))
    value, slope = stagec.value_and_grad(f)(x)
    x, value, slope, _, steps, _ = lax.while_loop(unfinished, step, (x, value, slope, memory, 0, True))
    return Found(x, value, snp.sqrt(slope @ slope), steps)


def as_numpy(found: Found) -> Found:
    """The same with NumPy's arrays and numbers."""
    return Found(np.asarray(found.x), float(found.value), float(found.slope), int(found.steps))


def on_rosenbrock(size: int = 10) -> Result:
    """Both methods and SciPy's, from the usual start."""
    start = np.tile([-1.2, 1.0], size // 2)
    found = {
        "Newton": as_numpy(stagec.jit(lambda x: newton(rosenbrock, x))(start)),
        "L-BFGS": as_numpy(stagec.jit(lambda x: lbfgs(rosenbrock, x))(start)),
    }
    scipys = optimize.minimize(
        optimize.rosen, start, jac=optimize.rosen_der, method="L-BFGS-B", options={"ftol": 0, "gtol": 1e-9}
    )
    found["SciPy"] = Found(scipys.x, float(scipys.fun), float(np.linalg.norm(scipys.jac)), int(scipys.nit))
    return Result("Rosenbrock", found)


def on_logistic_regression() -> Result:
    """Both methods and scikit-learn's, on its measurements of tumours."""
    data = load_breast_cancer()
    inputs = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
    signs = 2.0 * data.target - 1
    start = np.zeros(inputs.shape[1] + 1)

    def with_data(method: Callable[..., Found]) -> Callable[..., Found]:
        return stagec.jit(lambda x, inputs, signs: method(lambda w: logistic(w, inputs, signs), x))

    found = {
        "Newton": as_numpy(with_data(newton)(start, inputs, signs)),
        "L-BFGS": as_numpy(with_data(lbfgs)(start, inputs, signs)),
    }
    model = LogisticRegression(tol=1e-10, max_iter=10_000).fit(inputs, signs)
    weights = np.append(model.coef_[0], model.intercept_)
    value, slope = stagec.value_and_grad(logistic)(weights, inputs, signs)
    found["sklearn"] = as_numpy(Found(weights, value, snp.sqrt(slope @ slope), model.n_iter_[0]))
    return Result("logistic regression", found)


def run() -> list[Result]:
    """Both problems, in float64."""
    with stagec.enable_x64(True):
        return [on_rosenbrock(), on_logistic_regression()]


def main() -> None:
    """Print what each method found."""
    print(f"{'':30}{'steps':>8}{'value':>24}{'slope':>10}{'distance':>10}")
    for problem, found in run():
        *_, expected = found.values()
        for method, minimum in found.items():
            distance = np.abs(minimum.x - expected.x).max()
            name = f"{problem}, {method}"
            print(f"{name:30}{minimum.steps:8}{minimum.value:24.15g}{minimum.slope:10.1e}{distance:10.1e}")


if __name__ == "__main__":
    main()
