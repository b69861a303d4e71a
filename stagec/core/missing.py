"""Errors for names that do not exist: JAX's or NumPy's name, what stagec has instead, and where the list is.

One error for all modules and for arrays. `boundary.publish` puts `hook` into each public module.
"""

from __future__ import annotations

import difflib
import dis
import importlib
import sys
import types
from collections.abc import Callable, Collection, Iterable
from types import FrameType
from typing import Any

import numpy as np

from stagec.core import errors, forking, location

_LISTS = {"stagec": "docs/reference/index.md", "stagec.tree": "docs/tutorial/10-pytrees.md"}
_LISTS["stagec.tree_util"] = _LISTS["stagec.tree"]
# Modules that are searched for a name that is not where it was looked for.
_MODULES = (
    "stagec stagec.numpy stagec.lax stagec.nn stagec.random stagec.numpy.linalg stagec.numpy.fft stagec.scipy.special "
    "stagec.lax.linalg stagec.tree_util stagec.debug stagec.ops"
).split()
# Dtypes of JAX that arrays cannot have.
_SMALL_DTYPES = ("int1", "uint1")
# Names of NumPy and JAX for which there is something else.
_INSTEAD = {
    "stagec": {
        "tree_map": "use stagec.tree.map(f, tree)",
        "tree_leaves": "use stagec.tree.leaves(tree)",
        "ffi": "call Python functions with stagec.pure_callback",
    },
    "stagec.numpy": {
        "alltrue": "use stagec.numpy.all(x)",
        "asanyarray": "use stagec.numpy.asarray(x)",
        "ascontiguousarray": "use stagec.numpy.asarray(x), which is in row-major order always",
        "copyto": "arrays are immutable; use stagec.numpy.where, or x.at[index].set(value)",
        "float": "use stagec.numpy.float32",
        "in1d": "use stagec.numpy.isin(x, values)",
        "int": "use stagec.numpy.int32",
        "msort": "use stagec.numpy.sort(x, axis=0)",
        "product": "use stagec.numpy.prod(x)",
        "putmask": "arrays are immutable; use stagec.numpy.where, or x.at[index].set(value)",
        "round_": "use stagec.numpy.round(x)",
        "row_stack": "use stagec.numpy.vstack(arrays)",
        "sometrue": "use stagec.numpy.any(x)",
        "trapz": "use stagec.numpy.trapezoid(y)",
        **dict.fromkeys(_SMALL_DTYPES, "use stagec.numpy.int2 or uint2, or bool"),
    },
    "Array": {
        "append": "arrays are immutable; stagec.numpy.append(x, values) makes a new one",
        "bool": "use x.astype(bool)",
        "cpu": "use numpy.asarray(x)",
        "double": "use x.astype(float)",
        "fill": "arrays are immutable; use stagec.numpy.full_like(x, value)",
        "float": "use x.astype(float)",
        "half": "use x.astype('float16')",
        "int": "use x.astype(int)",
        "long": "use x.astype(int)",
        "map": "use stagec.vmap(f)(x)",
        "put": "arrays are immutable; use x.at[index].set(value)",
        "resize": "arrays are immutable; use stagec.numpy.resize(x, shape)",
        "to": "use x.astype(dtype), or stagec.device_put(x, device)",
        "type": "use x.astype(dtype)",
        "to_numpy": "use numpy.asarray(x)",
        "values": "use numpy.asarray(x)",
    },
}
_ARRAY = "use stagec.numpy.array(values)"
_GRADIENT = "take derivatives with stagec.grad(loss)(params)"
_KEY = "make a key with stagec.random.key(seed), and pass it to the functions of stagec.random"
_LAYERS = "take layers and optimizers from a library for JAX, as docs/how-to/run-jax-code.md shows"
_PRODUCT = "use stagec.numpy.matmul(x, y)"
_UPDATE = "arrays are immutable; use x.at[index].set(value)"
# Names of PyTorch and TensorFlow, in modules and of arrays, unless they exist there.
_OF_TENSORS = {
    **dict.fromkeys(
        ("as_tensor", "constant", "convert_to_tensor", "from_numpy", "tensor", "Tensor", "Variable"), _ARRAY
    ),
    **dict.fromkeys(("backward", "GradientTape", "requires_grad", "requires_grad_"), _GRADIENT),
    **dict.fromkeys(("default_rng", "Generator", "manual_seed", "RandomState", "seed", "set_seed"), _KEY),
    **dict.fromkeys(("Adam", "AdamW", "Dropout", "Embedding", "keras", "layers", "Linear", "Module", "optim"), _LAYERS),
    **dict.fromkeys(("Sequential", "SGD"), _LAYERS),
    **dict.fromkeys(("bmm", "mm", "mv"), _PRODUCT),
    **dict.fromkeys(("index_copy", "index_fill", "index_put", "scatter", "tensor_scatter_nd_update"), _UPDATE),
    "cast": "use x.astype(dtype)",
    "cat": "use stagec.numpy.concatenate(arrays)",
    "chunk": "use stagec.numpy.array_split(x, n)",
    "clamp": "use stagec.numpy.clip(x, low, high)",
    "clone": "use stagec.numpy.copy(x)",
    "contiguous": "leave it out: arrays are in row-major order always",
    "cuda": "use stagec.device_put(x, device)",
    "detach": "use stagec.lax.stop_gradient(x)",
    "dim": "use x.ndim",
    "div": "use stagec.numpy.divide(x, y)",
    "expand": "use stagec.numpy.broadcast_to(x, shape)",
    "flatten": "use stagec.numpy.ravel(x)",
    "floor_div": "use stagec.numpy.floor_divide(x, y)",
    "gather": "use stagec.numpy.take_along_axis(x, indices, axis)",
    "half": "use stagec.numpy.float16",
    "index_select": "use stagec.numpy.take(x, indices, axis)",
    "layer_norm": "use stagec.nn.standardize(x, axis=-1)",
    "long": "use stagec.numpy.int32",
    "map_fn": "use stagec.lax.map(f, xs)",
    "masked_fill": "use stagec.numpy.where(mask, value, x)",
    "mul": "use stagec.numpy.multiply(x, y)",
    "narrow": "use stagec.lax.dynamic_slice_in_dim(x, start, size, axis)",
    "neg": "use stagec.numpy.negative(x)",
    "no_grad": "leave it out: stagec.grad alone takes derivatives, and stagec.lax.stop_gradient(x) leaves one out",
    "numel": "use x.size",
    "permute": "use stagec.numpy.transpose(x, axes)",
    "rand": "use stagec.random.uniform(key, shape)",
    "randn": "use stagec.random.normal(key, shape)",
    "random": "use the functions of stagec.random, which take a key",
    "rank": "use x.ndim",
    "reduce_max": "use stagec.numpy.max(x, axis)",
    "reduce_mean": "use stagec.numpy.mean(x, axis)",
    "reduce_min": "use stagec.numpy.min(x, axis)",
    "reduce_prod": "use stagec.numpy.prod(x, axis)",
    "reduce_sum": "use stagec.numpy.sum(x, axis)",
    "repeat_interleave": "use stagec.numpy.repeat(x, n)",
    "sub": "use stagec.numpy.subtract(x, y)",
    "t": "use x.T",
    "topk": "use stagec.lax.top_k(x, k)",
    "unbind": "use stagec.numpy.unstack(x)",
    "unsqueeze": "use stagec.numpy.expand_dims(x, axis)",
    "view": "use stagec.numpy.reshape(x, shape)",
}
# What JAX has in the module of the same name; of NumPy, NumPy itself is asked.
_JAX = {
    "stagec": "ffi host_count profiler stages transfer_guard version",
    "stagec.lax": "precv psend ragged_all_to_all",
    "stagec.numpy": " ".join(_SMALL_DTYPES),
    "stagec.nn": "scaled_dot_general",
}


def hook(namespace: dict[str, Any], submodules: Collection[str] = ()) -> Callable[[str], Any]:
    """The `__getattr__` of a public module with this namespace, which imports its submodules when they are used."""
    module = namespace["__name__"]

    def missing(name: str) -> Any:
        if name in submodules:
            with forking.importing():
                return importlib.import_module(f"{module}.{name}")
        if _import_asks():
            raise AttributeError(name)
        raise error(module, name, dir(sys.modules[module]))

    return missing


def error(module: str, name: str, names: Iterable[str]) -> Exception:
    """The error for a name that a module does not have.

    Args:
      names: those that it has.
    """
    what = f"module {module!r} has no attribute {name!r}"
    if name.startswith("_"):
        return AttributeError(what)
    known = [n for n in names if not n.startswith("_")]
    rows = [("elsewhere", text, "") for text in _known_as(module, name)]
    listed = f"{_LISTS.get(module, 'docs/reference/numpy.md')} lists what `{module}` has"
    if rows:
        listed += ", docs/reference/missing.md what it lacks of JAX"
    fixes = [_instead(module, name, known), listed]
    found = location.error(errors.MissingNameError, what, rows, _joined(fixes))
    if _imports_from():
        # `from module import name` replaces an AttributeError by a message of Python's own.
        return ImportError(str(found), name=name)
    return found


def attribute_error(owner: Any, name: str) -> AttributeError:
    """The error for an attribute that arrays do not have."""
    what = f"{type(owner).__name__!r} object has no attribute {name!r}"
    if name.startswith("_"):
        return AttributeError(what)
    listed = "docs/reference/numpy.md lists the functions, and dir(x) the methods"
    known = _INSTEAD["Array"].get(name) or _OF_TENSORS.get(name) or _in_place(name) or _function(name)
    fixes = [known or _close(name, dir(type(owner)), "x."), listed]
    rows = [("array", owner.aval.long(), owner.origin())]
    if hasattr(np.ndarray, name):
        rows.append(("elsewhere", f"numpy.ndarray.{name}", ""))
    return location.error(errors.MissingNameError, what, rows, _joined(fixes))


def member_error(owner: type, name: str, prefix: str) -> AttributeError:
    """The error for a name that the objects of a class do not have.

    Args:
      prefix: how users write what comes before the name.
    """
    what = f"{owner.__name__!r} object has no attribute {name!r}"
    known = [n for n in vars(owner) if n[0] != "_"]
    if name.startswith("_"):
        return AttributeError(what)
    fixes = [_close(name, known, prefix), f"there are {', '.join(known)}"]
    return location.error(errors.MissingNameError, what, fix=_joined(fixes))


def _joined(fixes: Iterable[str]) -> str:
    return "; ".join(f for f in fixes if f).replace("?; ", "? ")


def _in_place(name: str) -> str:
    """What takes the place of PyTorch's methods that write to their array, such as `x.add_(y)`."""
    function = name.endswith("_") and _function(name[:-1])
    return f"arrays are immutable; {function.replace('(x)', '')}, which returns a new one" if function else ""


def _function(name: str) -> str:
    where = next((m for m in ("stagec.numpy", "stagec.nn", "stagec.lax") if name in public_names(m)), None)
    return f"use {where}.{name}(x)" if where else ""


def _instead(module: str, name: str, known: list[str]) -> str:
    table = _INSTEAD.get(module, {})
    if name in table or name in _OF_TENSORS:
        return table.get(name) or _OF_TENSORS[name]
    where = next((m for m in _MODULES if m != module and name in public_names(m)), None)
    return f"use {where}.{name}" if where else _close(name, known, f"{module}.")


def _close(name: str, known: list[str], prefix: str) -> str:
    close = difflib.get_close_matches(name, [n for n in known if n[0] != "_" and n[-2:] != "_p"], n=3, cutoff=0.75)
    return f"did you mean {' or '.join(prefix + c for c in close)}?" if close else ""


def public_names(module: str) -> set[str]:
    """The functions and classes of a public module. It is loaded: an error may take time.

    Empty if it is not installed.
    """
    found: Any = sys.modules["stagec"]
    try:
        for part in module.split(".")[1:]:
            found = getattr(found, part)
    except errors.NotInstalledError:
        return set()
    names = getattr(found, "__all__", vars(found))
    return {n for n in names if n[0] != "_" and n[-2:] != "_p" and not _is_module(found, n)}


def _is_module(owner: Any, name: str) -> bool:
    try:
        return isinstance(getattr(owner, name), types.ModuleType)
    except errors.NotInstalledError:
        return False


def _known_as(module: str, name: str) -> list[str]:
    path = module.removeprefix("stagec")
    found = [f"jax{path}.{name}"] if name in _JAX.get(module, "").split() else []
    if path.startswith(".numpy"):
        other: Any = np
        for part in path.split(".")[2:]:
            other = getattr(other, part)
        if hasattr(other, name):
            found.append(f"{other.__name__}.{name}")
    return found


def _import_asks() -> bool:
    """Whether `from module import name` asks for the name, to import a submodule if it is not there."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__") == "stagec.core.boundary":
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename == "<frozen importlib._bootstrap>"


def _imports_from() -> bool:
    """Whether the user's code is at work on `from module import name`."""
    frame = location.user_frame()
    return frame is not None and frame.f_code.co_code[frame.f_lasti] == dis.opmap["IMPORT_FROM"]
