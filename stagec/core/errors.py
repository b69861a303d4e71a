"""Every exception that stagec raises on purpose.

Each class is also one of Python's built-in exceptions, the one that JAX users
already catch. A message has four parts, in this order: what happened, where in
the user's file, which values took part and where they came from, how to fix it.
"""

from __future__ import annotations

from collections.abc import Iterable

from passes.errors import (
    StagecError as StagecError,
    is_internal as is_internal,
    message as message,
    notebook_cell as notebook_cell,
    shown_file as shown_file,
)


def with_values(error: StagecError, values: Iterable[tuple[str, str, str]]) -> StagecError:
    """The same error, whose message shows these rows if it had none."""
    lines = str(error).split("\n")
    if any(line.startswith("    ") for line in lines):
        return error
    fix = next((i for i, line in enumerate(lines) if line.startswith("  Fix: ")), len(lines))
    rows = message("", values=values).split("\n")[1:]
    return type(error)("\n".join([*lines[:fix], *rows, *lines[fix:]]))


def about(subject: str, error: Exception) -> Exception:
    """The same error, whose headline says what it is about."""
    return type(error)(f"{subject}: {error}")


def brief(value: object) -> str:
    """A value in a message, cut to one line.

    >>> brief(list(range(9)))
    '[0, 1, 2, 3, 4, 5, 6, 7, 8]'
    """
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def not_installed(what: str, missing: ModuleNotFoundError) -> ImportError:
    """The error for a use of modules that `stagec-runtime` leaves out; `missing` itself if another package is
    missing.
    """
    if not (missing.name or "").startswith(("stagec.", "passes")):
        return missing
    return NotInstalledError(
        message(
            f"{what} is not part of stagec-runtime, which is installed here: it loads and runs compiled functions",
            fix="install stagec itself, which brings the compiler: `pip install .` in a clone; "
            "both may be installed together",
        )
    )


def a_kind(kind: type) -> str:
    """A value of a class, with the article: `an Array`, `a dict`."""
    name = kind.__name__
    return "None" if kind is type(None) else f"an {name}" if name[0] in "AEIOaeio" else f"a {name}"


class ShapeError(StagecError, TypeError, ValueError):
    """Shapes of the operands do not fit together.

    NumPy raises `ValueError` and JAX `TypeError` for this, so it is both.
    """


class DimensionError(ShapeError):
    """The function cannot be compiled for every size of an open dimension, or a call has a size that it excludes.

    Under `jit(dynamic=...)` and `export`, a dimension may be a symbol, which stands for any size. Where the function
    needs one number (`int(x.shape[0])`, `range(x.shape[0])`), or takes a branch that depends on the size, write it
    with array operations, state a bound, or leave the dimension static.
    """


class DtypeError(StagecError, TypeError):
    """An operation does not accept the dtype it was given."""


class AxisError(StagecError, ValueError, IndexError):
    """An axis is out of range or repeated."""


class IndexingError(StagecError, IndexError, TypeError):
    """An index has a form that arrays do not accept."""


class ConcretizationError(StagecError, TypeError):
    """A value was needed while the function was being traced.

    Under `jit` a function runs once on tracers, which have a shape and a dtype
    but no value. Python control flow, `int()`, and NumPy functions need the
    value. Mark the argument static (`static_argnames`), or use an operation
    that stays in the program (`where`, `lax.cond`).
    """


class TracerBoolConversionError(ConcretizationError):
    """The truth value of a tracer was asked for (`if`, `while`, `and`, `bool()`)."""


class TracerIntegerConversionError(ConcretizationError):
    """A tracer was used where Python needs an integer (`range`, `int()`, list index)."""


class TracerArrayConversionError(ConcretizationError):
    """A tracer was handed to NumPy or to something else that needs its data."""


class NonConcreteBooleanIndexError(ConcretizationError, IndexError):
    """A traced boolean mask was used as an index; the result's shape would depend on values."""


class LeakedTracerError(StagecError, TypeError):
    """A tracer was used after the function that it belongs to had returned.

    It was kept in a global, an attribute, a default argument or a generator.
    Return the value from the function instead.
    """


class StaticArgumentError(StagecError, ValueError):
    """A static argument is not hashable, or names an argument that does not exist."""


class ArgumentTypeError(StagecError, TypeError):
    """An argument is not an array, a number, or a pytree of these.

    Masked arrays, sparse matrices and the like mean more than their numbers, and
    are refused too. What `compile` and `load` return raises this for an argument
    that is missing, and for one that it does not take; a jitted function raises
    the TypeError that Python raises for the function itself.
    """


class ArgumentValueError(StagecError, ValueError):
    """A function cannot compute with an argument's value. `__cause__` is what Python or NumPy raised about it."""


class OutputTypeError(StagecError, TypeError):
    """A function returned something that is not an array, a number, or a pytree of these."""


class PytreeError(StagecError, ValueError, TypeError):
    """Two pytrees that must have the same structure do not."""


class CarryError(StagecError, TypeError):
    """A loop's function returned a carry that differs from the one it takes.

    The carry of `lax.scan`, `lax.while_loop` and `lax.fori_loop` keeps its
    structure, shapes and dtypes: every round begins with what the last one
    returned.
    """


class CallbackError(StagecError, RuntimeError):
    """A Python function that a program calls did not return the shapes and dtypes that were promised for it."""


class FormatError(StagecError, ValueError, LookupError):
    """A format string of `debug.print` and its arguments do not belong together."""


class KeyReuseError(StagecError, RuntimeError):
    """A random key was used twice while `debug_key_reuse` was on."""


class MissingNameError(StagecError, AttributeError):
    """A module or an array has nothing of this name.

    The message says what NumPy or JAX calls it, whether stagec has something
    near, and where the list is. `from module import name` raises an
    `ImportError` that says the same.
    """


class DonationError(StagecError, RuntimeError):
    """An array was used after a call took its buffer (`donate_argnums`)."""


class TargetError(StagecError, ValueError):
    """A target description is unknown or does not fit this machine."""


class DeviceError(StagecError, RuntimeError, ValueError):
    """A device does not exist here, or arguments that are bound to different devices meet in one call.

    Data that `device_put` placed on a device stays there, and what is computed
    from it runs there. Move one of the arguments: `stagec.device_put(x, device)`.
    """


class ExecutionError(StagecError, RuntimeError):
    """A compiled program failed while it ran.

    Programs may run after the call has returned; then the error comes when a
    result is waited for, and names the call.
    """


class OutOfMemoryError(ExecutionError, MemoryError):
    """A compiled program needs more memory than the machine or the device has left."""


class NonFiniteError(StagecError, FloatingPointError):
    """A result holds NaN while `debug_nans` is on, or an infinity while `debug_infs` is.

    The message names the operation that made the first one, the user's line,
    and what its operands held.
    """


class CompileError(StagecError, RuntimeError):
    """The compiler refused the program under every set of flags."""


class ArtifactError(StagecError, ValueError):
    """A file of compiled functions is damaged, foreign, or holds nothing that this machine can run.

    Nothing of such a file is executed. The message names the file, what is
    wrong with it, and what to do.
    """


class NotInstalledError(StagecError, ImportError):
    """This part of stagec is not on this machine: `stagec-runtime` is installed, which has no compiler."""


class UnsupportedError(StagecError, NotImplementedError):
    """stagec knows this operation, but not for these dtypes, shapes or options."""


class CacheWarning(UserWarning):
    """The disk cache cannot be used, or an entry was damaged; results are not affected."""


class CompilerWarning(UserWarning):
    """The compiler made a program that cannot run; results come from NumPy instead."""


class DonationWarning(UserWarning):
    """A donated argument could not be used for a result."""


# Tracebacks show the name that users import.
for _class in list(globals().values()):
    if isinstance(_class, type) and _class.__module__ == __name__:
        _class.__module__ = "stagec.errors"
