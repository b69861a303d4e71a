"""The three libraries behind one face, each imported in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

NAMES = ("numpy", "jax", "stagec")


@dataclass(frozen=True)
class Library:
    """What a case may use of a library.

    Attributes:
      np: its NumPy namespace.
      jit: compiles a function; the identity for NumPy.
      array: puts a NumPy array where compiled code reads it without a copy.
      wait: returns when a result, one array, is computed.
      logistic, logsumexp: the two functions that NumPy does not have.
      forget: drops what the process keeps of traced and compiled programs.
      doubles: allows float64, from now on.
      lax: the namespace of convolutions, if there is one.
      vjp: reverse differentiation, if there is such.
    """

    name: str
    np: Any
    jit: Callable[[Callable[..., Any]], Any]
    array: Callable[[Any], Any]
    wait: Callable[[Any], Any]
    logsumexp: Callable[..., Any]
    forget: Callable[[], None]
    doubles: Callable[[], None] = lambda: None
    lax: Any = None
    vjp: Any = None


def load(name: str) -> Library:
    """Import a library; raises ImportError where it is not installed."""
    return {"numpy": _numpy, "jax": _jax, "stagec": _stagec}[name]()


def _numpy() -> Library:
    def logsumexp(x: Any, axis: int) -> Any:
        top = x.max(axis=axis, keepdims=True)
        return np.log(np.exp(x - top).sum(axis=axis)) + np.squeeze(top, axis)

    return Library("numpy", np, lambda f: f, np.asarray, lambda v: v, logsumexp, lambda: None)


def _block(value: Any) -> Any:
    return value.block_until_ready()


def _jax() -> Library:
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax
    import jax.numpy

    return Library(
        "jax",
        jax.numpy,
        jax.jit,
        jax.numpy.asarray,
        _block,
        jax.nn.logsumexp,
        jax.clear_caches,
        lambda: jax.config.update("jax_enable_x64", True),
        jax.lax,
        jax.vjp,
    )


def _stagec() -> Library:
    import stagec

    return Library(
        "stagec",
        stagec.numpy,
        stagec.jit,
        stagec.numpy.asarray,
        _block,
        stagec.nn.logsumexp,
        stagec.clear_caches,
        lambda: stagec.config.update("enable_x64", True),
        stagec.lax,
        stagec.vjp,
    )
