"""`jax.monitoring`: events that libraries record, for listeners that users register. stagec records none itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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


register_event_listener = _events.append
register_event_duration_secs_listener = _durations.append
register_event_time_span_listener = _spans.append
register_scalar_listener = _scalars.append
unregister_event_listener = _events.remove
unregister_event_duration_listener = _durations.remove
unregister_event_time_span_listener = _spans.remove
unregister_scalar_listener = _scalars.remove


def clear_event_listeners() -> None:
    """Forget all listeners."""
    for listeners in (_events, _durations, _spans, _scalars):
        listeners.clear()
