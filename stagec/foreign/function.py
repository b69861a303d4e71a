"""`from_stablehlo`: imports a StableHLO program as a function."""

from __future__ import annotations

import contextlib
import inspect
import math
import os
import sys
from typing import Any, NamedTuple

import numpy as np

from passes.trial import Trial
from stagec.api.arguments import ShapeDtypeStruct
from stagec.api.jit import jit
from stagec.core import dtypes, errors, location
from stagec.core.aval import ShapedArray
from stagec.core.cached import cached_property
from stagec.core.config import config, state
from stagec.core.errors import brief
from stagec.core.trace import Tracer
from stagec.foreign import source
from stagec.foreign.stored import StoredModule
from stagec.primitives.operand import check_range


def from_stablehlo(module: str | bytes | os.PathLike[str], *, function: str = "main") -> Imported:
    """Import a StableHLO program as a function that can be called, jitted, differentiated, batched and exported.

    Each operation becomes one of `stagec.lax`, with stagec's guarantees: no index out of range reads or writes outside
    of an array, no argument is overwritten.

    Args:
      module: MLIR text, MLIR bytecode, a portable artifact of StableHLO, or what `jax.export` serializes; or the path
        of a file (str or os.PathLike) with one of these.
      function: which of the module's functions to call.

    Returns:
      A function of as many arrays as the program has parameters. It returns an array, or a tuple of several.
      A program of `jax.export` takes and returns the containers that it was exported with.

    Raises:
      ArtifactError: `module` cannot be read, or is damaged.
      UnsupportedError: stagec does not have an operation; raised by the call that traces it.

    >>> import stagec, stagec.numpy as snp
    >>> text = '''func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
    ...   %0 = stablehlo.sine %x : tensor<3xf32>
    ...   %1 = stablehlo.multiply %0, %x : tensor<3xf32>
    ...   return %1 : tensor<3xf32>
    ... }'''
    >>> f = stagec.from_stablehlo(text)
    >>> f(snp.ones(3))
    Array([0.84147096, 0.84147096, 0.84147096], dtype=float32)
    >>> stagec.grad(lambda x: f(x).sum())(snp.ones(3))
    Array([1.3817732, 1.3817732, 1.3817732], dtype=float32)
    """
    found = source.read(module)
    if not isinstance(function, str):
        raise location.error(
            errors.ArgumentTypeError,
            f"from_stablehlo takes the name of a function, not {brief(function)}",
            fix="pass a string, as in function='main'",
        )
    return Imported(found, function)


class Imported:
    """What `stagec.from_stablehlo` returns: a function.

    Attributes:
      name: of the function in the module.
      in_types, out_types: its parameters and results, as MLIR writes them.
      is_open: whether a parameter has a dimension of any size.
      is_wide: whether it takes or returns 64-bit dtypes.
    """

    def __init__(self, found: source.Source, function: str) -> None:
        self._source = found
        self._stored = StoredModule(found.content, function)
        self.name = function
        self.__name__ = self.__qualname__ = function
        described = self._stored.description()
        if described is None:
            described = self._described()
            self._stored.describe(described)
        self._parameters = [_parameter(row) for row in described["parameters"]]
        self.in_types: list[str] = [p.text for p in self._parameters]
        self.out_types: list[str] = described["results"]
        self.is_open = any("?" in text for text in self.in_types)
        self.is_wide = any(name in text for text in (*self.in_types, *self.out_types) for name in _WIDE)

        def run(*values: Any) -> Any:
            with config.override(enable_x64=True):
                results = self._replay.call(function, values)
            return results[0] if len(results) == 1 else tuple(results)

        run.__name__ = run.__qualname__ = function
        self._jitted = jit(run)
        # For programs whose parameters include sizes of arrays: integers, and then short arrays of integers as well,
        # are traced as what they are.
        arrays = {i: p for i, p in enumerate(self._parameters) if isinstance(p, _Array) and p.is_shape}
        numbers = {i: p for i, p in arrays.items() if p.shape == ()}
        chosen = [sizes for sizes in (numbers, arrays) if sizes]
        self._for_sizes = [_ForSizes(run, sizes) for sizes in (chosen if numbers != arrays else chosen[:1])]
        # How many of these did not find all numbers that the program needs.
        self._without_numbers = 0

    @cached_property
    def _replay(self) -> Any:
        """The module, parsed; a call of a stored program does not need it."""
        with Trial() as trial:
            from stagec.foreign import parsed  # the compiler, which is loaded while the process of the trial starts

            return parsed.replay_of(self._source, trial)

    def _described(self) -> Any:
        from stagec.foreign import parsed  # the compiler

        return parsed.described(self._replay, self.name, self._source.name)

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword arguments that describe a call, for `stagec.export` or `jit(...).lower`.

        Raises:
          ArgumentTypeError: a dimension is dynamic, so there is no single description.
        """
        return self.arranged([p.described(self.name) for p in self._parameters])

    def arranged(self, leaves: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword arguments of a call, from a value for each parameter."""
        exported = self._source.exported
        return (tuple(leaves), {}) if exported is None else exported.arguments(leaves)

    @property
    def __signature__(self) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_ONLY
        return inspect.Signature([inspect.Parameter(p.name, kind) for p in self._parameters])

    def __repr__(self) -> str:
        return f"<stagec.from_stablehlo: {self.name}({', '.join(self.in_types)}) -> ({', '.join(self.out_types)})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        exported = self._source.exported
        if exported is not None:
            return exported.call(self._flat, args, kwargs)
        if kwargs:
            raise location.error(
                errors.ArgumentTypeError,
                f"{self.name} takes no keywords, and was given {', '.join(kwargs)}",
                self._rows(),
                "pass the arrays by position, in this order",
            )
        return self._flat(*args)

    def _rows(self) -> list[tuple[str, str, str]]:
        """The parameters, as error messages show them."""
        return [(p.name, p.text, "") for p in self._parameters]

    def _flat(self, *args: Any) -> Any:
        if len(args) != len(self._parameters):
            raise location.error(
                errors.ArgumentTypeError,
                f"{self.name} takes {len(self._parameters)} array{'s' * (len(self._parameters) != 1)}, not {len(args)}",
                self._rows(),
                "pass one array for each parameter, in this order",
            )
        values = [p.fitted(value, self.name) for p, value in zip(self._parameters, args)]
        try:
            return self._called(values)
        except RecursionError:
            raise location.error(
                errors.UnsupportedError,
                f"{self.name} nests calls, loops or conditionals too deep for Python's limit of recursion",
                [("limit", str(sys.getrecursionlimit()), "")],
                "raise the limit, as in sys.setrecursionlimit(10_000), or nest fewer",
            ) from None

    def _called(self, values: list[Any]) -> Any:
        # Under options that a block of code overrides, and while something is traced, the module itself is traced.
        may_store = state.plain
        with config.override(enable_x64=True) if self.is_wide else contextlib.nullcontext():
            try:
                program = self._stored.program(self._jitted, values) if may_store else None
                if program is not None:
                    return program(*values)
                if not self._replay.lacked_number:
                    found = self._jitted(*values)
                    if may_store:
                        self._stored.keep(self._jitted, values)
                    return found
            except errors.UnsupportedError:
                if not self._for_sizes or not self._replay.lacked_number:
                    raise
            if not self._for_sizes[self._without_numbers].may_take(values):
                return self._jitted(*values)  # an error that names the operation
            return self._sized(values, self._without_numbers)

    def _sized(self, values: list[Any], number: int) -> Any:
        """A call of a program that needs the values of parameters while it is traced."""
        self._replay.lacked_number = False
        try:
            return self._for_sizes[number](values)
        except errors.UnsupportedError:
            others = self._for_sizes[number + 1 :]
            if not others or not self._replay.lacked_number or not others[0].may_take(values):
                raise
        finally:
            self._replay.lacked_number = True
        self._without_numbers = number + 1
        return self._sized(values, number + 1)


class _ForSizes:
    """A function that is compiled for each value of some of its parameters.

    Args:
      run: the function.
      sizes: these parameters, by their numbers.
    """

    def __init__(self, run: Any, sizes: dict[int, _Array]) -> None:
        def traced(*values: Any) -> Any:
            return run(*[sizes[i].of_numbers(v) if i in sizes else v for i, v in enumerate(values)])

        self._sizes = sizes
        self._jitted = jit(traced, static_argnums=list(sizes))

    def may_take(self, values: list[Any]) -> bool:
        """Whether no array among these parameters is traced. A number that is gets an error of its own."""
        return not any(isinstance(values[i], Tracer) and p.shape for i, p in self._sizes.items())

    def __call__(self, values: list[Any]) -> Any:
        hashable = [tuple(np.asarray(v).ravel().tolist()) if i in self._sizes else v for i, v in enumerate(values)]
        return self._jitted(*hashable)


# The most elements of an array whose values may be sizes.
_MOST_SIZES = 64
_WIDE = ("xi64>", "xf64>", "<i64>", "<f64>", "ui64>", "complex<f64>")


def _parameter(row: Any) -> _Array | _Tuple | _Token:
    """The parameter that `parsed.described` describes."""
    kind, name, text, *rest = row
    if kind == "tuple":
        return _Tuple(name, text, [_parameter(part) for part in rest[0]])
    if kind == "token":
        return _Token(name, text)
    return _Array(name, text, dtypes.parse(rest[0]), tuple(rest[1]))


class _Token(NamedTuple):
    """A parameter that orders effects: None stands for it, as for tokens among the results."""

    name: str
    text: str

    def described(self, function: str) -> None:
        """The parameter, as `stagec.export` takes it."""

    def fitted(self, value: Any, function: str) -> None:
        """A call's argument, which is None."""
        if value is not None:
            raise _misfit(self, function, brief(value), "pass None for a token")


class _Tuple(NamedTuple):
    """A parameter that is a tuple of others."""

    name: str
    text: str
    parts: list[Any]

    def described(self, function: str) -> tuple[Any, ...]:
        """The parameter, as `stagec.export` takes it."""
        return tuple(p.described(function) for p in self.parts)

    def fitted(self, value: Any, function: str) -> tuple[Any, ...]:
        """A call's argument as a tuple of arrays of the parameter's types."""
        if not isinstance(value, (tuple, list)) or len(value) != len(self.parts):
            raise _misfit(self, function, brief(value), f"pass a tuple of {len(self.parts)}")
        return tuple(p.fitted(v, function) for p, v in zip(self.parts, value))


def _misfit(parameter: Any, function: str, given: str, fix: str) -> errors.ArgumentTypeError:
    return location.error(
        errors.ArgumentTypeError,
        f"{function}: {parameter.name} does not have the type of the module's parameter",
        [("given", given, ""), ("parameter", parameter.text, "")],
        fix,
    )


class _Array(NamedTuple):
    """A parameter that is an array, and the check of its arguments."""

    name: str
    text: str
    dtype: np.dtype[Any]
    shape: tuple[int | None, ...]

    @property
    def is_shape(self) -> bool:
        """Whether it may hold sizes of arrays: a few integers."""
        known = [size for size in self.shape if size is not None]
        return len(known) == len(self.shape) and math.prod(known) <= _MOST_SIZES and self.dtype.kind in "iu"

    def of_numbers(self, numbers: tuple[int, ...]) -> np.ndarray[Any, Any]:
        """The array of these elements, whose shape is that of the parameter."""
        return np.asarray(numbers, self.dtype).reshape(self.described("").shape)

    def described(self, function: str) -> ShapeDtypeStruct:
        """The parameter, as `stagec.export` takes it."""
        if None in self.shape:
            raise location.error(
                errors.ArgumentTypeError,
                f"{function}: {self.name} has an open dimension",
                [("parameter", self.text, "")],
                "describe the arguments yourself, with stagec.ShapeDtypeStruct",
            )
        return ShapeDtypeStruct(self.shape, self.dtype)

    def fitted(self, value: Any, function: str) -> Any:
        """A call's argument as an array of the parameter's type."""
        if not hasattr(value, "dtype"):
            given = value
            value = self._of_python(np.asarray(value))
            if value.dtype.kind not in "biufcV":
                raise _misfit(self, function, brief(given), "pass an array, or numbers")
        elif value.dtype != self.dtype and dtypes.canonicalize(value.dtype) == self.dtype:
            value = value.astype(self.dtype)  # without enable_x64, 64-bit arrays are 32-bit arrays in every call
        shape = tuple(value.shape)
        fits = len(shape) == len(self.shape) and all(want in (None, have) for want, have in zip(self.shape, shape))
        if not fits or value.dtype != self.dtype:
            raise _misfit(
                self, function, ShapedArray.of(shape, value.dtype).short(), "convert it with `astype`, or reshape it"
            )
        return value

    def _of_python(self, value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Python's numbers, alone or in lists, in the parameter's dtype if they are numbers of its kind."""
        if value.dtype.kind not in "biufc" or _rank(value.dtype) > _rank(self.dtype):
            return value
        if value.size and value.dtype.kind in "iu" and dtypes.is_integer(self.dtype):
            check_range(int(value.min()), self.dtype)
            check_range(int(value.max()), self.dtype)
        return value.astype(self.dtype)


def _rank(dtype: np.dtype[Any]) -> int:
    """Numbers of a lower rank are numbers of a higher one, too."""
    kinds = (dtypes.is_bool, dtypes.is_integer, dtypes.is_float, dtypes.is_complex)
    return [is_kind(dtype) for is_kind in kinds].index(True)
