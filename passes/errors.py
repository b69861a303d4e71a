"""The errors of this package: what happened, where, which values, how to fix it."""

from __future__ import annotations

from collections.abc import Iterable


def message(what: str, where: str = "", values: Iterable[tuple[str, str]] = (), fix: str = "") -> str:
    """Lay out an error: a headline, a location, rows of name and value, and a fix."""
    lines = [what]
    if where:
        lines.append(f"  {where}")
    rows = list(values)
    width = max((len(name) for name, _ in rows), default=0)
    lines += [f"    {name:<{width}}  {text}".rstrip() for name, text in rows]
    if fix:
        lines.append(f"  Fix: {fix}")
    return "\n".join(lines)


class PassError(Exception):
    """The base of every error that this package raises on purpose."""


class PatternError(PassError, RuntimeError):
    """A pattern raised an exception, or returned something that cannot replace its op."""


class PipelineError(PassError, ValueError):
    """A pipeline names a pass that does not exist, or an extra pass has no usable form."""


class InvalidModuleError(PassError, ValueError):
    """A module does not parse or does not verify, before or after a pass."""


class InterpretError(PassError, NotImplementedError):
    """The NumPy oracle does not know an op, or the arguments do not fit the function."""
