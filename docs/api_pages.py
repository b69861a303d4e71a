"""What mkdocstrings shows of objects in the reference: nothing that differs from run to run, or that says nothing."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import griffe

_ADDRESS = " at 0x"


class Shown(griffe.Extension):
    """Leaves out defaults and values that are objects without a text of their own, and the docs of built-in types."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        for parameter in func.parameters:
            if _ADDRESS in str(parameter.default):
                parameter.default = "..."

    def on_attribute(self, *, attr: griffe.Attribute, **_: Any) -> None:
        if _ADDRESS in str(attr.value):
            attr.value = None
        try:
            parent = importlib.import_module(attr.parent.path) if attr.parent is not None else None
        except ImportError:  # of a class
            return
        kind = type(getattr(parent, attr.name, None))
        if attr.docstring is not None and kind.__module__ == "builtins" and _is_of(kind, attr.docstring.value):
            attr.docstring = None


def _is_of(kind: type, text: str) -> bool:
    return inspect.cleandoc(kind.__doc__ or "") == inspect.cleandoc(text)
