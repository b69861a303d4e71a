"""What mkdocstrings shows of objects in the reference: nothing that differs from run to run, or that says nothing."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import griffe

from stagec.numpy.constants import ScalarType
from stagec.runtime.array import _INTERNAL, Array

_ADDRESS = " at 0x"


class Shown(griffe.Extension):
    """Leaves out defaults and values without a text of their own, docs of others' types, and what completion hides."""

    def on_class_members(self, *, node: Any, cls: griffe.Class, **_: Any) -> None:
        hidden = {Array: _INTERNAL}.get(node.obj, ["dtype"] if isinstance(node.obj, ScalarType) else [])
        for name in hidden:
            cls.members.pop(name, None)

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
        if attr.docstring is not None and kind.__module__.startswith("numpy"):
            # Sections of NumPy's would be headings of the page.
            attr.docstring.value = attr.docstring.value.partition("\n\nParameters\n")[0]
        elif attr.docstring is not None and kind.__module__ == "builtins" and _is_of(kind, attr.docstring.value):
            attr.docstring = None


def _is_of(kind: type, text: str) -> bool:
    return inspect.cleandoc(kind.__doc__ or "") == inspect.cleandoc(text)
