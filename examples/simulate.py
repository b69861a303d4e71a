"""Find how to throw a ball so that it hits a target, by the derivatives of its simulated flight.

`python examples/simulate.py` needs stagec only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import stagec
import stagec.numpy as snp
from stagec import lax

GRAVITY = 9.81  # m/s^2
DRAG = 0.01  # 1/m: the air slows a ball of speed v by DRAG v^2


class Result(NamedTuple):
    """The throw (angle in radians, speed in m/s) that was found, and how good it is.

    Squared misses are those before each step; `reached` is where the ball is then, by stagec and by NumPy.
    """

    throw: np.ndarray[Any, Any]
    squared_misses: list[float]
    reached: np.ndarray[Any, Any]
    reached_by_numpy: np.ndarray[Any, Any]
    largest_difference: float


def acceleration(np_: Any, velocity: Any, wind: float) -> Any:
    """Gravity, and the drag of air that moves with the wind: (2,)."""
    relative = velocity - np_.array([wind, 0.0])
    return np_.array([0.0, -GRAVITY]) - DRAG * np_.sqrt(relative @ relative) * relative


def step(np_: Any, state: tuple[Any, Any], seconds: Any, wind: float) -> tuple[Any, Any]:
    """Position and velocity, `seconds` later: a step of the midpoint rule."""
    position, velocity = state
    halfway = velocity + seconds / 2 * acceleration(np_, velocity, wind)
    return position + seconds * halfway, velocity + seconds * acceleration(np_, halfway, wind)


def flight(throw: Any, seconds: float, wind: float, steps: int) -> Any:
    """Where a ball thrown from (0, 0) is after `seconds`.

    Args:
      throw: angle above the ground in radians, and speed in m/s.
      seconds: of flight.
      wind: in m/s.
      steps: of the simulation.
    """
    angle, speed = throw
    velocity = speed * snp.stack([snp.cos(angle), snp.sin(angle)])
    start = (snp.zeros_like(velocity), velocity)
    (position, _), _ = lax.scan(lambda s, _: (step(snp, s, seconds / steps, wind), None), start, length=steps)
    return position


def numpy_flight(throw: Any, seconds: float, wind: float, steps: int) -> Any:
    """The same in NumPy."""
    angle, speed = throw
    state = (np.zeros(2), speed * np.array([np.cos(angle), np.sin(angle)]))
    for _ in range(steps):
        state = step(np, state, seconds / steps, wind)
    return state[0]


def central_differences(f: Any, x: np.ndarray[Any, Any], width: float = 1e-6) -> np.ndarray[Any, Any]:
    """The gradient of `f` at `x` (n,) from 2n values."""
    steps = width * np.eye(len(x))
    return np.array([(float(f(x + s)) - float(f(x - s))) / (2 * width) for s in steps])


def run(steps: int = 200, rounds: int = 20) -> Result:
    """Hit a target 40 m away and 5 m up after 3 s, against the wind; all in float64."""
    target, seconds, wind = np.array([40.0, 5.0]), 3.0, -4.0

    @stagec.jit
    def miss(throw: Any) -> Any:
        distance = flight(throw, seconds, wind, steps) - target
        return distance @ distance

    @stagec.jit
    def newton_step(throw: Any) -> Any:
        """A step of Newton's method; the Hessian of a function of two numbers is inverted by hand."""
        slope, curvature = stagec.grad(miss)(throw), stagec.hessian(miss)(throw)
        (a, b), (_, d) = curvature
        return throw - snp.stack([d * slope[0] - b * slope[1], a * slope[1] - b * slope[0]]) / (a * d - b * b)

    with stagec.enable_x64(True):
        throw = np.array([0.6, 20.0])
        expected = central_differences(miss, throw)
        differences = np.asarray(stagec.jit(stagec.grad(miss))(throw)) - expected
        misses = [float(miss(throw))]
        while len(misses) <= rounds and misses[-1] > 1e-20:
            throw = np.asarray(newton_step(throw))
            misses.append(float(miss(throw)))
        reached = np.asarray(stagec.jit(flight, static_argnums=(1, 2, 3))(throw, seconds, wind, steps))
    return Result(
        throw,
        misses,
        reached,
        numpy_flight(throw, seconds, wind, steps),
        float(np.max(np.abs(differences / expected))),
    )


def main() -> None:
    """Print the way to the throw, and where it ends."""
    result = run()
    print(f"{'step':>4}{'miss in m':>12}")
    for i, squared in enumerate(result.squared_misses):
        print(f"{i:>4}{np.sqrt(squared):12.1e}")
    angle, speed = result.throw
    print(f"throw at {np.degrees(angle):.3f} degrees with {speed:.3f} m/s")
    print(f"{'':12}{'stagec':>20}{'NumPy':>20}")
    for name, found, expected in zip(("x in m", "y in m"), result.reached, result.reached_by_numpy):
        print(f"{name:12}{found:20.15f}{expected:20.15f}")
    print(f"gradient and central differences agree to {result.largest_difference:.1e}")


if __name__ == "__main__":
    main()
