"""stagec: a staged compiler for Python.

Write NumPy-style code, put `@stagec.jit` on it, and it runs as machine code,
compiled once and kept on disk. Names and meaning follow JAX.
"""

import importlib as _importlib
import typing as _typing
from importlib.util import find_spec as _find_spec
from typing import Any as _Any

from stagec.core import boundary as _boundary, forking as _forking, missing as _missing, operators as _operators
from stagec.core.config import config
from stagec.core.errors import StagecError, not_installed as _not_installed
from stagec.core.option_blocks import (
    debug_infs,
    debug_key_reuse,
    debug_nans,
    default_matmul_precision,
    disable_jit,
    enable_x64,
    log_compiles,
    numpy_dtype_promotion,
    numpy_rank_promotion,
)
from stagec.runtime import eager as _eager, outside as _outside  # noqa: F401  what runs outside jit
from stagec.runtime.devices import Device, default_backend, default_device, devices, local_device_count

# Not by another name of the constant, which Pyright would not know.
if _typing.TYPE_CHECKING:
    from passes import Pass, Pattern, pattern
    from stagec import (
        ad_checkpoint,
        compat,
        custom_batching,
        custom_derivatives,
        debug,
        distributed,
        dlpack,
        dtypes,
        errors,
        experimental,
        flatten_util,
        image,
        lax,
        nn,
        numpy,
        ops,
        random,
        ref,
        scipy,
        sharding,
        test_util,
        tree,
        tree_util,
        typing,
    )
    from stagec.api.arguments import ShapeDtypeStruct
    from stagec.api.batching import vmap
    from stagec.api.custom_jvp import custom_jvp
    from stagec.api.custom_vjp import closure_convert, custom_gradient, custom_vjp
    from stagec.api.derivatives import jvp, linear_transpose, linearize, vjp
    from stagec.api.devices import block_until_ready, device_get, device_put, memory_stats
    from stagec.api.environment import (
        check_tracer_leaks,
        checking_leaks,
        copy_to_host_async,
        device_count,
        effects_barrier,
        live_arrays,
        local_devices,
        print_environment_info,
        process_count,
        process_index,
        process_indices,
        typeof,
    )
    from stagec.api.explain import explain
    from stagec.api.export import export
    from stagec.api.exported import Exported, save
    from stagec.api.forward_backward import fwd_and_bwd
    from stagec.api.gradients import grad, value_and_grad
    from stagec.api.jacobians import hessian, jacfwd, jacobian, jacrev
    from stagec.api.jit import clear_caches, jit
    from stagec.api.load import Loaded, load
    from stagec.api.naming import named_call, named_scope
    from stagec.api.pmap import pmap
    from stagec.api.remat import checkpoint, checkpoint_policies, remat
    from stagec.api.shapes import eval_shape, make_graph, make_graph as make_jaxpr
    from stagec.api.shard_map import shard_map, smap
    from stagec.api.sharded import (
        make_array_from_callback,
        make_array_from_process_local_data,
        make_array_from_single_device_arrays,
        reshard,
    )
    from stagec.control.callback import pure_callback
    from stagec.core.array import Array
    from stagec.core.dtypes import float0
    from stagec.core.trace import ensure_compile_time_eval
    from stagec.differential.check import check
    from stagec.foreign.function import from_stablehlo
    from stagec.numpy.dynamic_slices import ds
    from stagec.primitives.references import Ref, freeze, new_ref
    from stagec.profiling.profile import profile
    from stagec.ref import empty_ref, free_ref
    from stagec.runtime.mesh import (
        PartitionSpec as P,
        get_abstract_mesh,
        get_mesh,
        make_mesh,
        set_mesh,
        use_abstract_mesh,
    )
    from stagec.runtime.sharding import NamedSharding, Shard
    from stagec.viewing.view import view
else:
    from stagec.runtime.array import Array

# The functions behind `x + 1` and `x.sum()`.
_outside.supply_with(
    lambda: _importlib.import_module("stagec.api.outside").Program if _is_installed("stagec.api.outside") else None
)
_operators.supply_with(lambda: _importlib.import_module("stagec.numpy")._array_methods)

__version__ = "0.2.0"

__all__ = [
    "Array", "Device", "Exported", "Loaded", "NamedSharding", "P", "Pass", "Pattern", "Ref", "ShapeDtypeStruct",
    "Shard", "StagecError", "ad_checkpoint", "block_until_ready", "check", "check_tracer_leaks", "checking_leaks",
    "checkpoint", "checkpoint_policies", "clear_caches", "closure_convert", "compat", "config", "copy_to_host_async",
    "custom_batching", "custom_derivatives", "custom_gradient", "custom_jvp", "custom_vjp", "debug", "debug_infs",
    "debug_key_reuse", "debug_nans", "default_backend", "default_device", "default_matmul_precision", "device_count",
    "device_get", "device_put", "devices", "disable_jit", "distributed", "dlpack", "ds", "dtypes", "effects_barrier",
    "empty_ref", "enable_x64", "ensure_compile_time_eval", "errors", "eval_shape", "experimental", "explain", "export",
    "flatten_util", "float0", "free_ref", "freeze", "from_stablehlo", "fwd_and_bwd", "get_abstract_mesh",
    "get_mesh", "grad", "hessian", "image",
    "jacfwd", "jacobian", "jacrev", "jit", "jvp", "lax", "linear_transpose", "linearize", "live_arrays", "load",
    "local_device_count", "local_devices", "log_compiles", "make_array_from_callback",
    "make_array_from_process_local_data", "make_array_from_single_device_arrays", "make_graph", "make_jaxpr",
    "make_mesh", "memory_stats", "named_call", "named_scope", "new_ref", "nn", "numpy", "numpy_dtype_promotion",
    "numpy_rank_promotion", "ops", "pattern", "pmap", "print_environment_info", "process_count", "process_index",
    "process_indices", "profile", "pure_callback", "random", "ref", "remat", "reshard", "save", "scipy", "set_mesh",
    "shard_map", "sharding", "smap", "test_util", "tree", "tree_util", "typeof", "typing", "use_abstract_mesh",
    "value_and_grad", "view",
    "vjp", "vmap",
]  # fmt: skip

# The modules of names that are imported when first used: no program needs all of them, and one that only loads an
# artifact needs few. What is neither here nor imported above is a module of stagec.
_HOMES = {
    name: module
    for module, names in {
        "passes.patterns": "Pattern pattern",
        "passes.pipeline": "Pass",
        "stagec.api.arguments": "ShapeDtypeStruct",
        "stagec.api.batching": "vmap",
        "stagec.api.custom_jvp": "custom_jvp",
        "stagec.api.custom_vjp": "closure_convert custom_gradient custom_vjp",
        "stagec.api.derivatives": "jvp linear_transpose linearize vjp",
        "stagec.api.devices": "block_until_ready device_get device_put memory_stats",
        "stagec.api.environment": (
            "check_tracer_leaks checking_leaks copy_to_host_async device_count effects_barrier live_arrays "
            "local_devices print_environment_info process_count process_index process_indices typeof"
        ),
        "stagec.api.explain": "explain",
        "stagec.api.export": "export",
        "stagec.api.exported": "Exported save",
        "stagec.api.forward_backward": "fwd_and_bwd",
        "stagec.api.gradients": "grad value_and_grad",
        "stagec.api.jacobians": "hessian jacfwd jacobian jacrev",
        "stagec.api.jit": "clear_caches jit",
        "stagec.api.load": "Loaded load",
        "stagec.api.naming": "named_call named_scope",
        "stagec.api.pmap": "pmap",
        "stagec.api.remat": "checkpoint checkpoint_policies remat",
        "stagec.api.shapes": "eval_shape make_graph make_jaxpr",
        "stagec.api.shard_map": "shard_map smap",
        "stagec.api.sharded": (
            "make_array_from_callback make_array_from_process_local_data make_array_from_single_device_arrays reshard"
        ),
        "stagec.control.callback": "pure_callback",
        "stagec.core.dtypes": "float0",
        "stagec.core.trace": "ensure_compile_time_eval",
        "stagec.differential.check": "check",
        "stagec.foreign.function": "from_stablehlo",
        "stagec.numpy.dynamic_slices": "ds",
        "stagec.primitives.references": "Ref freeze new_ref",
        "stagec.profiling.profile": "profile",
        "stagec.ref": "empty_ref free_ref",
        "stagec.runtime.mesh": "P get_abstract_mesh get_mesh make_mesh set_mesh use_abstract_mesh",
        "stagec.runtime.sharding": "NamedSharding Shard",
        "stagec.viewing.notebook": "load_ipython_extension",
        "stagec.viewing.view": "view",
    }.items()
    for name in names.split()
}
_RENAMED = {"P": "PartitionSpec", "make_jaxpr": "make_graph"}


@_boundary.short_tracebacks
def __getattr__(name: str) -> _Any:
    if name not in _HOMES and name not in __all__:
        raise _missing.error("stagec", name, __all__)
    try:
        with _forking.importing():
            found = _importlib.import_module(_HOMES.get(name, f"stagec.{name}"))
    except ModuleNotFoundError as missing:
        raise _not_installed(f"stagec.{name}", missing) from None
    if name in _HOMES:
        found = _boundary.published(getattr(found, _RENAMED.get(name, name)), "stagec", name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(name for name in __all__ if name in globals() or _is_installed(_HOMES.get(name, f"stagec.{name}")))


def _is_installed(module: str) -> bool:
    try:
        return _find_spec(module) is not None
    except ModuleNotFoundError:  # of a package that is not there
        return False
