"""`jax.profiler`: traces of a block in a file that Perfetto shows, and annotations, which are spans of it.

Traces are those of `stagec.profile`.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import platform
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, TypeVar

from stagec.compat.memory_profile import device_memory_profile
from stagec.core import location
from stagec.core.boundary import publish as _publish
from stagec.core.wrapping import shown_name, wraps
from stagec.profiling.profile import profile
from stagec.runtime import recording

__all__ = [
    "StepTraceAnnotation", "TraceAnnotation", "annotate_function", "device_memory_profile",
    "save_device_memory_profile", "start_trace", "stop_trace", "trace",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])
# The trace in progress, and its folder; there is one at most.
_running: list[tuple[profile, str]] = []


def start_trace(log_dir: str | os.PathLike[str], **options: Any) -> None:
    """Begin a trace of this process.

    Args:
      log_dir: a folder, for the file that `stop_trace` writes.
      options: those of JAX's profiler, which mean nothing here.

    Raises:
      RuntimeError: another trace has begun.
    """
    if _running:
        raise location.error(RuntimeError, "a trace has been started already", fix="call stop_trace first")
    found = profile()
    found.__enter__()
    _running.append((found, os.fspath(log_dir)))


def stop_trace() -> None:
    """End the trace, and write `plugins/profile/TIME/HOST.trace.json` in its folder.

    Raises:
      RuntimeError: no trace has begun.
    """
    if not _running:
        raise location.error(RuntimeError, "no trace has been started", fix="call start_trace first")
    found, folder = _running.pop()
    found.__exit__(None, None, None)
    when = datetime.datetime.now().strftime("%Y_%m_%d_%H_%M_%S")
    where = os.path.join(folder, "plugins", "profile", when)
    os.makedirs(where, exist_ok=True)
    found.save(os.path.join(where, f"{platform.node()}.trace.json"))


@contextlib.contextmanager
def trace(log_dir: str | os.PathLike[str], **options: Any) -> Iterator[None]:
    """A block between `start_trace` and `stop_trace`."""
    start_trace(log_dir, **options)
    try:
        yield
    finally:
        stop_trace()


def save_device_memory_profile(filename: str | os.PathLike[str], backend: str | None = None) -> None:
    """Write the profile of `device_memory_profile` to a file."""
    with open(filename, "wb") as file:
        file.write(device_memory_profile(backend))


class TraceAnnotation:
    """A block, or the calls of a function, as a span of the trace.

    >>> import stagec, stagec.numpy as snp
    >>> with stagec.profile(kernels=False) as found:
    ...     with TraceAnnotation("preparation", size=3):
    ...         x = snp.ones(3)
    >>> [span.details for span in found.spans if span.name == "preparation"]
    [{'size': 3}]
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        self._name = name
        self._details = kwargs
        self._blocks: list[contextlib.AbstractContextManager[Any]] = []

    def __enter__(self) -> TraceAnnotation:
        block = recording.span("annotation", self._name, **self._details)
        block.__enter__()
        self._blocks.append(block)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, where: TracebackType | None) -> None:
        self._blocks.pop().__exit__(kind, error, where)

    def __call__(self, function: F) -> F:
        annotated: F = annotate_function(function, self._name, **self._details)
        return annotated


class StepTraceAnnotation(TraceAnnotation):
    """A step of a training loop, whose number is the keyword `step_num`."""


def annotate_function(func: Callable[..., Any], name: str | None = None, **decorator_kwargs: Any) -> Any:
    """A function whose calls are spans of the trace, by default under its name."""
    shown = name or shown_name(func)

    @wraps(func)
    def annotated(*args: Any, **kwargs: Any) -> Any:
        with recording.span("annotation", shown, **decorator_kwargs):
            return func(*args, **kwargs)

    return annotated


_publish(globals())
