"""Modules under JAX's names, whose attributes are those of stagec's modules."""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Sequence
from typing import Any, NewType

from stagec.compat import options, version
from stagec.compat.compiler import CompilerEffortLevel, Inline
from stagec.compat.dtypes import finfo
from stagec.control.custom import custom_jvp_p, custom_vjp_p
from stagec.core import location
from stagec.core.config import state
from stagec.core.errors import DimensionError
from stagec.core.recording import GraphTrace
from stagec.core.trace import Tracer
from stagec.numpy.arguments import explicitly_split
from stagec.primitives.convert import convert_element_type_p
from stagec.primitives.hitypes import here
from stagec.runtime.array import Array
from stagec.runtime.devices import before_listing
from stagec.runtime.mesh import make_mesh
from stagec.tree_util import default_registry

VERSION = version.__version__
# Modules of JAX whose counterparts here have other names. Those of `jax._src` are else the public ones of that name.
_RENAMED = {
    "jax._src": "stagec.compat.internals",
    "jax._src.api": "stagec",
    "jax._src.checkify": "stagec.experimental.checkify",
    "jax._src.config": "stagec.compat.options",
    "jax._src.linear_util": "stagec.compat.extend.linear_util",
    "jax._src.effects": "stagec.compat.experimental.hijax",
    "jax._src.hijax": "stagec.compat.experimental.hijax",
    "jax._src.public_test_util": "stagec.compat.public_test_util",
    "jax._src.mesh": "stagec.sharding",
    "jax._src.sharding_impls": "stagec.sharding",
    "jax._src.state": "stagec.ref",
    "jax._src.state.types": "stagec.ref",
    "jax._src.source_info_util": "stagec.compat.extend.source_info_util",
    "jax._src.test_util": "stagec.test_util",
    "jax._src.xla_bridge": "stagec.compat.extend.backend",
    # JAX's packages have their functions in modules of their own.
    **{
        f"jax._src.lax.{n}": "stagec.lax"
        for n in "convolution fft lax other parallel slicing special windowed_reductions".split()
    },
    **{f"jax._src.lax.control_flow{n}": "stagec.lax" for n in ("", ".conditionals", ".loops")},
    **{f"jax._src.numpy.{n}": "stagec.numpy" for n in "array_methods indexing lax_numpy reductions ufuncs".split()},
    **{
        f"jax._src.{n}": f"stagec.compat.{n}"
        for n in "ad_util compiler dispatch distributed dtypes traceback_util util".split()
    },
    **{
        f"jax.{name}": f"stagec.compat.{name}"
        for name in """
            api_util core example_libraries example_libraries.optimizers example_libraries.stax experimental.hijax
            experimental.layout export extend extend.backend extend.ifrt_programs extend.linear_util
            extend.source_info_util interpreters interpreters.ad interpreters.batching interpreters.mlir
            interpreters.partial_eval interpreters.pxla interpreters.xla lib monitoring profiler stages version
        """.split()
    },
    **{
        f"jax.experimental.{name}{part}": f"stagec.compat.experimental.{name}"
        for name, *parts in (
            ("array_serialization", ".serialization"),
            ("colocated_python", ".func", ".serialization"),
            ("compilation_cache", ".compilation_cache"),
            ("pallas", ".ops", ".ops.tpu", ".ops.tpu.splash_attention", ".tpu", ".triton"),
        )
        for part in ("", *parts)
    },
    **{
        f"{name}{part}": f"stagec.compat.extend.mlir{part}"
        for name in ("jax.extend.mlir", "jax._src.lib.mlir")
        for part in ("", ".dialects", ".ir")
    },
    "jax.interpreters.mlir.ir": "stagec.compat.extend.mlir.ir",
    "jax.extend.core": "stagec.compat.core",
    "jax.extend.core.primitives": "stagec.compat.extend.primitives",
}
# Modules that `import jax` makes known, and that are loaded when they are first used.
_KNOWN = """
    api_util core custom_batching custom_derivatives debug dlpack dtypes errors experimental export image interpreters
    interpreters.ad interpreters.batching interpreters.mlir interpreters.partial_eval interpreters.xla lax lax.linalg
    lib monitoring nn nn.initializers numpy numpy.fft numpy.linalg ops profiler random ref scipy sharding stages tree
    tree_util typing version
""".split()


@functools.wraps(make_mesh)
def _make_mesh(*args: Any, **kwargs: Any) -> Any:
    if "axis_shapes" in kwargs:  # until JAX 0.11
        kwargs["axis_sizes"] = kwargs.pop("axis_shapes")
    return make_mesh(*args, **kwargs)


# Attributes of JAX's modules that stagec's modules lack.
_EXTRA: dict[str, dict[str, Any]] = {
    "jax": {
        "__version__": VERSION,
        "__version_info__": tuple(map(int, VERSION.split("."))),
        "config": options.config,
        "CompilerEffortLevel": CompilerEffortLevel,
        "Inline": Inline,
        "make_mesh": _make_mesh,
        **options.OF_JAX,
    },
    "jax._src.tree_util": {"_registry": default_registry},
    "jax.custom_derivatives": {"custom_jvp_call_p": custom_jvp_p, "custom_vjp_call_p": custom_vjp_p},
    "jax.errors": {"InconclusiveDimensionOperation": DimensionError},
    "jax.experimental": {"cur_qdd": lambda x: here(x).cur_qdd()},
    "jax.numpy": {"finfo": finfo, "ndarray": Array},
    "jax.random": {"Key": NewType("Key", Array)},
}


class Alias(types.ModuleType):
    """A module with the name of one of JAX's, and the attributes of one of stagec's, which is loaded at first use."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__dict__.update(_EXTRA.get(name, {}))

    def __getattr__(self, name: str) -> Any:
        own = f"{self.__name__}.{name}"
        if name in ("__file__", "__path__"):  # asked for when the module is made
            raise AttributeError(name)
        if name == "_target":
            value: Any = _module_of_stagec(self.__name__)
            self.__doc__ = value.__doc__
        elif own in _RENAMED:
            # Not by an import: after the block of `stagec.compat.jax`, that would find JAX.
            value = alias(own)
        elif self.__name__ == "jax._src" and importlib.util.find_spec(f"stagec.{name}"):
            # JAX imports its internal modules itself.
            value = alias(own)
        else:
            value = getattr(self._target, name)
            if isinstance(value, types.ModuleType) and not name.startswith("_"):
                value = alias(own)
            elif self.__name__ == "jax.random" or name in _PLACED.get(self.__name__, ()):
                value = _with_sharding(self.__name__, _traced(value) if name in ("array", "asarray") else value)
        # Looked up once: the names of stagec's modules do not change.
        self.__dict__[name] = value
        return value

    def __dir__(self) -> list[str]:
        return dir(self._target)


# Functions that say in JAX where their results are, besides those of `jax.random`.
_PLACED = {
    "jax.lax": frozenset(
        """
        broadcast broadcast_in_dim broadcasted_iota conv_general_dilated dot dot_general empty ragged_dot
        ragged_dot_general reduce reduce_sum reshape
        """.split()
    ),
    "jax.numpy": frozenset(
        """
        arange array asarray bincount broadcast_to dot einsum empty full full_like matmul ones ones_like percentile
        ravel repeat reshape tensordot zeros zeros_like
        """.split()
    ),
    "jax.ops": frozenset(("segment_max", "segment_min", "segment_prod", "segment_sum")),
}


def _with_sharding(module: str, function: Any) -> Any:
    """Wrap a function so that it accepts `out_sharding`, as JAX's do."""
    if not isinstance(function, types.FunctionType):
        return function

    @functools.wraps(function)
    def call(*args: Any, out_sharding: Any = None, **kwargs: Any) -> Any:
        found = function(*args, **kwargs)
        return found if out_sharding is None else explicitly_split(found, out_sharding, f"{module}.{function.__name__}")

    return call


def _traced(function: Any) -> Any:
    """Wrap a function that makes arrays so that those of a traced function's numbers have no values, as in JAX.

    Libraries ask for the value of such an array to find out whether a function is traced.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        made, trace = function(*args, **kwargs), state.trace
        if isinstance(made, Tracer) or any(made is given for given in args):
            return made
        while trace is not None and not isinstance(trace, GraphTrace):
            trace = trace.parent
        return made if trace is None else convert_element_type_p(made, new_dtype=made.dtype, weak_type=made.weak_type)

    return call


_aliases: dict[str, Alias] = {}


def alias(name: str) -> Alias:
    """Return the module for a name of JAX's; it is an error to use one that stagec does not have."""
    return _aliases.get(name) or _aliases.setdefault(name, Alias(name))


def _module_of_stagec(name: str) -> types.ModuleType:
    """Import the module of stagec for one of JAX."""
    public = name.replace("jax._src.", "jax.")
    ours = _RENAMED.get(name) or _RENAMED.get(public) or f"stagec{public.removeprefix('jax')}"
    try:
        return importlib.import_module(ours)
    except ModuleNotFoundError as missing:
        # A package that a module of stagec needs has a message of its own.
        if missing.name is None or not ours.startswith(missing.name):
            raise
    raise location.error(
        ModuleNotFoundError,
        f"stagec has no module {name}",
        fix="docs/reference/missing.md lists the modules and names of JAX that stagec lacks",
    )


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `jax` and its modules among stagec's."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] not in ("jax", "jaxlib"):
            return None
        return importlib.util.spec_from_loader(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        if spec.name.startswith("jaxlib"):
            raise location.error(
                ModuleNotFoundError,
                f"stagec has no module {spec.name}: it runs programs without JAX's compiler",
                fix="leave the import out, or import it outside of stagec.compat",
            )
        return alias(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Load what the module stands for; its attributes are found when they are asked for."""
        module._target  # noqa: B018
        if module.__name__ == "jax":
            before_listing.append(options.config.read_xla_flags)
            for name in _KNOWN:
                spec = self.find_spec(f"jax.{name}")
                assert spec is not None, "all names of JAX are found"
                sys.modules.setdefault(spec.name, importlib.util.module_from_spec(spec))
