"""`jax.monitoring`: events that libraries and stagec record, for listeners that users register.

Of stagec's own events, listeners hear those of tracing, lowering, compiling and the cache, under JAX's names. A program
that is found in memory is a hit of the cache, as it is not compiled. The duration `backend_compile` includes lowering.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stagec.compiler import log
from stagec.core.config import state

Listener = Callable[..., None]
# By the kind of what they listen to.
_events: list[Listener] = []
_durations: list[Listener] = []
_spans: list[Listener] = []
_scalars: list[Listener] = []


def _tell(listeners: list[Listener], *args: Any, **kwargs: Any) -> None:
    for listener in list(listeners):
        listener(*args, **kwargs)


def record_event(event: str, **kwargs: str | int) -> None:
    """Tell the listeners of an event."""
    _tell(_events, event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: str | int) -> None:
    """Tell the listeners how long something took."""
    _tell(_durations, event, duration, **kwargs)


def record_event_time_span(event: str, start_time: float, end_time: float, **kwargs: str | int) -> None:
    """Tell the listeners when something began and ended."""
    _tell(_spans, event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float | int, **kwargs: str | int) -> None:
    """Tell the listeners of a number."""
    _tell(_scalars, event, value, **kwargs)


def _took(step: str, end: float, seconds: float, fun_name: str) -> None:
    """Tell the listeners of a step of a compile, which has just ended."""
    event = f"/jax/core/compile/{step}_duration"
    record_scalar(event, end - seconds, fun_name=fun_name)
    record_event_duration_secs(event, seconds, fun_name=fun_name)
    record_event_time_span(event, end - seconds, end, fun_name=fun_name)


def _hear(record: log.Record) -> None:
    """Tell the listeners of an event of stagec's."""
    fields, (name, _, what) = record.fields, record.message.rpartition(": ")
    program = f"jit({name})"
    if record.kind == "trace" and "seconds" in fields and state.trace is None:  # not a part of another trace
        _took("jaxpr_trace", record.time, fields["seconds"], name)
    elif record.kind == "lower" and "passes_seconds" in fields:
        _took("jaxpr_to_mlir_module", record.time - fields["passes_seconds"], fields["seconds"], program)
    elif record.kind == "cache" and what in ("found nowhere", "found on disk", "found in memory"):
        if fields.get("cached", True):
            record_event("/jax/compilation_cache/compile_requests_use_cache")
            record_event(f"/jax/compilation_cache/cache_{'misses' if what == 'found nowhere' else 'hits'}")
        if what == "found on disk":
            saved = fields["compile_seconds"] - fields["seconds"]
            record_event_duration_secs("/jax/compilation_cache/compile_time_saved_sec", saved)
            record_event_duration_secs("/jax/compilation_cache/cache_retrieval_time_sec", fields["seconds"])
        if what != "found in memory":
            seconds = fields["compile_seconds" if what == "found nowhere" else "seconds"]
            _took("backend_compile", record.time, seconds, program)


def _registrar(listeners: list[Listener]) -> Callable[[Listener], None]:
    def register(callback: Listener) -> None:
        """Add a listener."""
        if _hear not in log.listeners:
            log.listeners.append(_hear)
        listeners.append(callback)

    return register


register_event_listener = _registrar(_events)
register_event_duration_secs_listener = _registrar(_durations)
register_event_time_span_listener = _registrar(_spans)
register_scalar_listener = _registrar(_scalars)
unregister_event_listener = _events.remove
unregister_event_duration_listener = _durations.remove
unregister_event_time_span_listener = _spans.remove
unregister_scalar_listener = _scalars.remove


def clear_event_listeners() -> None:
    """Forget all listeners."""
    for listeners in (_events, _durations, _spans, _scalars):
        listeners.clear()
