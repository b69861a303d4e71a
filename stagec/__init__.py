"""stagec: a staged compiler for Python.

Write NumPy-style code, put `@stagec.jit` on it, and it runs as machine code,
compiled once and kept on disk. Names and meaning follow JAX.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING, Any as _Any

from stagec import dtypes, errors, lax, nn, numpy, tree, tree_util, typing
from stagec.api.arguments import ShapeDtypeStruct
from stagec.api.devices import block_until_ready, device_get, device_put, memory_stats
from stagec.api.jit import clear_caches, jit
from stagec.api.stages import eval_shape, make_graph
from stagec.control.callback import pure_callback
from stagec.core.config import config, debug_infs, debug_nans, disable_jit, enable_x64
from stagec.core.errors import StagecError
from stagec.runtime import eager as _eager  # noqa: F401  what runs outside jit
from stagec.runtime.array import Array
from stagec.runtime.device import Device, default_backend, default_device, devices, local_device_count

if _TYPE_CHECKING:
    from passes import Pass, Pattern, pattern
    from stagec import ad_checkpoint, custom_derivatives, debug, experimental, scipy
    from stagec.api.batching import vmap
    from stagec.api.custom import closure_convert, custom_gradient, custom_jvp, custom_vjp
    from stagec.api.derivatives import grad, jvp, linear_transpose, linearize, value_and_grad, vjp
    from stagec.api.explain import explain
    from stagec.api.jacobians import hessian, jacfwd, jacobian, jacrev
    from stagec.api.naming import named_call, named_scope
    from stagec.api.remat import checkpoint, checkpoint_policies, remat

make_jaxpr = make_graph

__version__ = "0.1.0"

__all__ = [
    "Array",
    "Device",
    "Pass",
    "Pattern",
    "ShapeDtypeStruct",
    "StagecError",
    "ad_checkpoint",
    "block_until_ready",
    "checkpoint",
    "checkpoint_policies",
    "clear_caches",
    "closure_convert",
    "config",
    "custom_derivatives",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "debug",
    "debug_infs",
    "debug_nans",
    "default_backend",
    "default_device",
    "device_get",
    "device_put",
    "devices",
    "disable_jit",
    "dtypes",
    "enable_x64",
    "errors",
    "eval_shape",
    "experimental",
    "explain",
    "grad",
    "hessian",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "lax",
    "linear_transpose",
    "linearize",
    "local_device_count",
    "make_graph",
    "make_jaxpr",
    "memory_stats",
    "named_call",
    "named_scope",
    "nn",
    "numpy",
    "pattern",
    "pure_callback",
    "remat",
    "scipy",
    "tree",
    "tree_util",
    "typing",
    "value_and_grad",
    "vjp",
    "vmap",
]

# Imported when first used: most programs need none of them.
_LAZY: dict[str, tuple[str, str | None]] = {
    **{
        name: ("stagec.api.derivatives", name)
        for name in ("grad", "value_and_grad", "vjp", "jvp", "linearize", "linear_transpose")
    },
    **{name: ("stagec.api.jacobians", name) for name in ("hessian", "jacfwd", "jacobian", "jacrev")},
    **{
        name: ("stagec.api.custom", name) for name in ("closure_convert", "custom_gradient", "custom_jvp", "custom_vjp")
    },
    **{name: ("stagec.api.remat", name) for name in ("checkpoint", "checkpoint_policies", "remat")},
    **{name: ("stagec.api.naming", name) for name in ("named_call", "named_scope")},
    "ad_checkpoint": ("stagec.ad_checkpoint", None),
    "custom_derivatives": ("stagec.custom_derivatives", None),
    "vmap": ("stagec.api.batching", "vmap"),
    "Pass": ("passes", "Pass"),
    "Pattern": ("passes", "Pattern"),
    "debug": ("stagec.debug", None),
    "explain": ("stagec.api.explain", "explain"),
    "experimental": ("stagec.experimental", None),
    "pattern": ("passes", "pattern"),
    "scipy": ("stagec.scipy", None),
}

# Names that JAX's users try, and what to do without them.
_MISSING = {
    **dict.fromkeys(("pmap", "shard_map", "export", "ffi"), ""),
    "random": "make numbers with numpy.random.default_rng(), and pass them as arguments",
    "effects_barrier": "callbacks have run when a call returns: there is nothing to wait for",
    "tree_map": "use stagec.tree.map",
}


def __getattr__(name: str) -> _Any:
    import importlib

    if name in _MISSING:
        fix = _MISSING[name] or "see What is missing in docs/tutorial/06-jax-users.md"
        raise AttributeError(f"stagec.{name} does not exist yet\n  Fix: {fix}")
    if name not in _LAZY:
        raise AttributeError(f"module 'stagec' has no attribute {name!r}")
    module, attribute = _LAZY[name]
    found = importlib.import_module(module)
    value = found if attribute is None else getattr(found, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
