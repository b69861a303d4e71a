"""Options, read from the environment once and changed through `stagec.config`."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from passes.errors import PipelineError
from passes.fast_math import setting
from stagec.core.precisions import PRECISIONS

T = TypeVar("T")

_OFF = ("", "0", "false", "no", "off")
_ON = ("1", "true", "yes", "on")


def _flag(text: str) -> bool:
    word = text.strip().lower()
    if word not in (*_OFF, *_ON):
        raise ValueError(f"{text!r} is not one of 0, 1, true, false")
    return word in _ON


def _fast_math(given: Any) -> bool | str:
    try:
        return setting(given)
    except PipelineError as error:
        raise ValueError(str(error)) from None


# What `log` may ask for; `all` stands for every kind.
LOG_KINDS = ("trace", "lower", "compile", "cache", "tier")


def _log_kinds(text: str) -> str:
    unknown = [word for word in text.replace(",", " ").split() if word not in (*LOG_KINDS, "all")]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no kind of event; kinds are {', '.join(LOG_KINDS)} and all")
    return text


def _tiered(text: str) -> bool | str | None:
    word = text.strip().lower()
    if word == "auto":
        return None
    if word not in (*_OFF, *_ON, "exact"):
        raise ValueError(f"{text!r} is not one of 0, 1, exact, auto")
    return word if word == "exact" else _flag(word)


def _whole_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a whole number") from None


def _positive(text: str) -> int:
    value = _whole_number(text)
    if value < 1:
        raise ValueError(f"{text!r} is not a positive number")
    return value


def _one_of(*choices: str, any_case: bool = False) -> Callable[[str], str]:
    """A parser of one word of several."""

    def parse(text: str) -> str:
        word = text.lower() if any_case else text
        if word not in choices:
            raise ValueError(f"{text!r} is not one of {', '.join(choices)}")
        return word

    return parse


# name: (environment variable, parser, default, does it change what is traced or compiled?)
_OPTIONS: dict[str, tuple[str, Callable[[str], Any], Any, bool]] = {
    "enable_x64": ("STAGEC_ENABLE_X64", _flag, False, True),
    "disable_jit": ("STAGEC_DISABLE_JIT", _flag, False, True),
    "fast_math": ("STAGEC_FAST_MATH", _fast_math, False, True),
    "cpu_kernels": ("STAGEC_CPU_KERNELS", _flag, True, True),
    "straight_kernels": ("STAGEC_STRAIGHT_KERNELS", _flag, True, True),
    "host_libraries": ("STAGEC_HOST_LIBRARIES", _one_of("auto", "always", "never"), "auto", True),
    "reproducible": ("STAGEC_REPRODUCIBLE", _flag, False, True),
    "target": ("STAGEC_TARGET", str, "cpu", True),
    "tiered": ("STAGEC_TIERED", _tiered, None, False),
    "platforms": ("STAGEC_PLATFORMS", str, "", False),
    "default_device": ("STAGEC_DEFAULT_DEVICE", str, None, False),
    "log": ("STAGEC_LOG", _log_kinds, "", False),
    "dump": ("STAGEC_DUMP", str, "", False),
    "debug_nans": ("STAGEC_DEBUG_NANS", _flag, False, False),
    "debug_infs": ("STAGEC_DEBUG_INFS", _flag, False, False),
    "debug_key_reuse": ("STAGEC_DEBUG_KEY_REUSE", _flag, False, True),
    "numpy_rank_promotion": ("STAGEC_NUMPY_RANK_PROMOTION", _one_of("allow", "warn", "raise"), "allow", True),
    "numpy_dtype_promotion": ("STAGEC_NUMPY_DTYPE_PROMOTION", _one_of("standard", "strict"), "standard", True),
    "default_matmul_precision": (
        "STAGEC_DEFAULT_MATMUL_PRECISION",
        _one_of(*PRECISIONS, any_case=True),
        None,
        True,
    ),
    "full_tracebacks": ("STAGEC_FULL_TRACEBACKS", _flag, False, False),
    "enable_cache": ("STAGEC_CACHE", _flag, True, False),
    "cache_dir": ("STAGEC_CACHE_DIR", str, "", False),
    "cache_max_bytes": ("STAGEC_CACHE_MAX_BYTES", _whole_number, 2 << 30, False),
    "cache_layers": ("STAGEC_CACHE_LAYERS", str, "", False),
    "cache_remote": ("STAGEC_CACHE_REMOTE", str, "", False),
    "cache_remote_write": ("STAGEC_CACHE_REMOTE_WRITE", _flag, False, False),
    "num_threads": ("STAGEC_NUM_THREADS", _whole_number, 0, False),
    "num_cpu_devices": ("STAGEC_NUM_CPU_DEVICES", _positive, 1, False),
    "captured_constant_bytes": ("STAGEC_CAPTURED_CONSTANT_BYTES", _whole_number, 128, True),
    "loop_checkpoint_bytes": ("STAGEC_LOOP_CHECKPOINT_BYTES", _whole_number, 1 << 19, True),
    "packed_copy_bytes": ("STAGEC_PACKED_COPY_BYTES", _whole_number, 1 << 30, True),
}
_IN_TRACE_KEY = [name for name, row in _OPTIONS.items() if row[3]]


def _unknown(name: str) -> AttributeError:
    return AttributeError(f"unknown option {name!r}; options are {', '.join(_OPTIONS)}")


# Options that may be other things than text, which are checked where they are used.
_OBJECTS = ("cache_layers", "default_device", "default_matmul_precision")


def _checked(name: str, value: Any) -> Any:
    """A value for an option: its text is read as in the environment. None is what an option of text is without one."""
    if name not in _OPTIONS:
        raise _unknown(name)
    _, parse, default, _ = _OPTIONS[name]
    if value is None and (default is None or parse is str):
        return default
    if name in _OBJECTS and not isinstance(value, str):
        return value
    try:
        return parse(value if name == "fast_math" else str(value))
    except ValueError as error:
        raise ValueError(f"option {name}: {error}") from None


class Scope:
    """A set of overridden options: the same object whenever these are in force, so it can be part of keys.

    Attributes:
      learned: what is read often, computed from the options in force; emptied when an option changes.
    """

    __slots__ = ("learned",)

    def __init__(self) -> None:
        self.learned: dict[str, Any] = {}


_scopes: dict[tuple[Any, ...], Scope] = {}
# More sets of overrides than this are forgotten: the values of one are probably computed.
_MOST_SCOPES = 256


def _scope(overrides: dict[str, Any]) -> Scope | None:
    """The scope of some overrides; None if there are none, or one cannot be part of a key."""
    if not overrides:
        return None
    key = tuple(sorted(overrides.items()))
    try:
        found = _scopes.get(key)
    except TypeError:
        return None
    if found is None:
        if len(_scopes) >= _MOST_SCOPES:
            _scopes.clear()
        found = _scopes[key] = Scope()
    return found


class ThreadState(threading.local):
    """What differs between threads: the current trace and overridden options.

    `plain` is true while neither is in force; the hot path of a jitted call
    reads that first. `scope` is that of the overrides. While `evaluates` is true, NumPy computes every operation.
    `mesh` is the mesh of the block, and `mesh_reads` counts who asked for it.
    """

    evaluates = False
    mesh: Any = None
    mesh_reads = 0

    def __init__(self) -> None:
        self.trace: Any = None
        self.overrides: dict[str, Any] = {}
        self.scope: Scope | None = None
        self.plain = True

    def override(self, overrides: dict[str, Any]) -> None:
        """Put these overrides in force, and no others."""
        self.overrides, self.scope = overrides, _scope(overrides)
        self.refresh()

    def refresh(self) -> None:
        self.plain = self.trace is None and not self.overrides

    @property
    def has_fast_paths(self) -> bool:
        """Whether the next call like this one may run what this one has found, under the same overrides."""
        return self.plain or (self.trace is None and self.scope is not None)


state = ThreadState()


@contextlib.contextmanager
def _overriding(overrides: dict[str, Any]) -> Iterator[None]:
    """These overrides, and no others, in this thread and for a block."""
    before = state.overrides
    state.override(overrides)
    try:
        yield
    finally:
        state.override(before)


class Config:
    """Read an option as an attribute; change it with `update`, or for a block with `override`.

    >>> import stagec
    >>> stagec.config.enable_x64
    False
    """

    def __init__(self) -> None:
        self._listeners: list[Callable[[], None]] = []
        self._values: dict[str, Any] = {}
        # Reported when the option is first read, not when stagec is imported.
        self._refused: dict[str, str] = {}
        for name, (variable, parse, default, _) in _OPTIONS.items():
            text = os.environ.get(variable)
            try:
                self._values[name] = default if text is None else parse(text)
            except ValueError as error:
                self._refused[name] = f"{variable}={text}: {error}\n  Fix: correct or unset {variable}"
        self._learn()

    def __dir__(self) -> list[str]:
        return sorted(
            {*object.__dir__(self), *_OPTIONS}
            - {"checks_promotion", "checks_values", "on_update", "plain", "reproduces", "trace_key"}
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        overrides = state.overrides
        if name in overrides:
            return overrides[name]
        try:
            return self._values[name]
        except KeyError:
            pass
        if name in self._refused:
            raise ValueError(self._refused[name])
        if name.startswith("jax_"):
            return getattr(self, name.removeprefix("jax_"))
        raise _unknown(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
        else:
            self.update(name, value)

    def update(self, name: str, value: Any) -> None:
        """Set an option for every thread. JAX's `jax_` prefix is accepted and ignored."""
        name = name.removeprefix("jax_")
        self._values[name] = _checked(name, value)
        self._refused.pop(name, None)
        self._learn()
        with self.plain():
            for listener in self._listeners:
                listener()

    def plain(self) -> contextlib.AbstractContextManager[None]:
        """Set aside the overrides of this thread for a block: what is learned in it serves all threads."""
        return _overriding({})

    @contextlib.contextmanager
    def override(self, **values: Any) -> Iterator[None]:
        """Set options for a block, in this thread only."""
        values = {name: _checked(name, value) for name, value in values.items()}
        with _overriding({**state.overrides, **values}):
            yield

    def trace_key(self) -> tuple[Any, ...]:
        """The options that take part in a trace's or a compiled program's identity."""
        found: Any = self._in_scope(self._compute_trace_key) if state.overrides else self._trace_key
        return self._compute_trace_key() if found is None else found

    def checks_values(self) -> bool:
        """Whether results are looked at for NaN or infinity."""
        return self._in_scope(self._compute_checks_values) if state.overrides else self._checks_values

    def checks_promotion(self) -> bool:
        """Whether an operation of the user's may be refused because its operands differ in rank or dtype."""
        return self._in_scope(self._compute_checks_promotion) if state.overrides else self._checks_promotion

    def reproduces(self) -> bool:
        """Whether results must have the same bits on all processors."""
        return self._in_scope(self._compute_reproduces) if state.overrides else self._reproduces

    def watches_calls(self) -> bool:
        """Whether functions outside `jit` run as they are, since something looks at their operations or arguments."""
        return self._in_scope(self._compute_watches_calls) if state.overrides else self._watches_calls

    def _in_scope(self, compute: Callable[[], T]) -> T:
        """What follows from the options in force, computed once for each scope."""
        if state.scope is None:
            return compute()
        learned, name = state.scope.learned, compute.__name__
        try:
            found: T = learned[name]
        except KeyError:  # asked for alone, as another thread may change an option and empty the table
            found = learned[name] = compute()
        return found

    def _learn(self) -> None:
        """Compute the values that are read often."""
        for scope in list(_scopes.values()):
            scope.learned.clear()
        with self.plain():
            self._trace_key = None if self._refused else self._compute_trace_key()
            self._checks_promotion = bool(self._refused) or self._compute_checks_promotion()
            self._checks_values = self._compute_checks_values()
            self._watches_calls = self._compute_watches_calls()
            self._reproduces = self._compute_reproduces()

    def _compute_checks_values(self) -> bool:
        return bool(self.debug_nans or self.debug_infs)

    def _compute_reproduces(self) -> bool:
        return bool(self.reproducible)

    def _compute_watches_calls(self) -> bool:
        return bool(self.debug_key_reuse) or self.checks_values()

    def _compute_checks_promotion(self) -> bool:
        return bool(self.numpy_rank_promotion != "allow" or self.numpy_dtype_promotion != "standard")

    def _compute_trace_key(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in _IN_TRACE_KEY)

    def on_update(self, listener: Callable[[], None]) -> None:
        """Call `listener` after every `update`, with the options of threads without overrides."""
        self._listeners.append(listener)

    def __repr__(self) -> str:
        values = {**self._refused, **self._values, **state.overrides}
        return "Config(" + ", ".join(f"{name}={values[name]!r}" for name in _OPTIONS) + ")"


config = Config()
