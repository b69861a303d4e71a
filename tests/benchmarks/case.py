"""One measurement, and the numbers that go into it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tests.benchmarks.libraries import Library

Call = Callable[[], Any]


class Case(NamedTuple):
    """One measurement.

    Attributes:
      group, name: how the command line and the table call it.
      setup: `(library, tiny) -> call`; the time of one `call()` is measured.
      aim: stagec's speed over JAX's that the project wants, or None where it is for information.
      libraries: those that it makes sense for.
    """

    group: str
    name: str
    setup: Callable[[Library, bool], Call]
    aim: float | None = None
    libraries: tuple[str, ...] = ("numpy", "jax", "stagec")

    @property
    def id(self) -> str:
        return f"{self.group}/{self.name}"


def sample(*shape: int) -> np.ndarray[Any, Any]:
    """The same float32 numbers in every process."""
    return np.random.default_rng(len(shape)).standard_normal(shape, np.float32)
