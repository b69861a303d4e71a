"""Functions on pytrees, by the names of `jax.tree`.

>>> from stagec import tree
>>> tree.map(lambda x: 2 * x, {"w": (1, 2)})
{'w': (2, 4)}
"""

import dataclasses
from typing import Any

from stagec.core.boundary import publish as _publish
from stagec.tree_util import (
    tree_all as all,
    tree_broadcast as broadcast,
    tree_flatten as flatten,
    tree_flatten_with_path as flatten_with_path,
    tree_leaves as leaves,
    tree_leaves_with_path as leaves_with_path,
    tree_map as map,
    tree_map_with_path as map_with_path,
    tree_reduce as reduce,
    tree_reduce_associative as reduce_associative,
    tree_structure as structure,
    tree_transpose as transpose,
    tree_unflatten as unflatten,
)

__all__ = [
    "all", "broadcast", "flatten", "flatten_with_path", "leaves", "leaves_with_path", "map", "map_with_path", "reduce",
    "reduce_associative", "static", "structure", "transpose", "unflatten",
]  # fmt: skip


def static(**kwargs: Any) -> Any:
    """Declare a field of a dataclass static; takes what `dataclasses.field` takes.

    >>> from stagec.tree_util import register_dataclass
    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     w: float
    ...     name: str = static(default="dense")
    >>> leaves(Layer(1.0))
    [1.0]
    """
    return dataclasses.field(**{**kwargs, "metadata": {**(kwargs.get("metadata") or {}), "static": True}})


_publish(globals())
