"""What `dir()` and completion offer is what users may use: no imports, no internals, nothing that is not there."""

import collections.abc
import importlib
import types
import typing

import numpy as np
import pytest
from test_reference import FUNCTION_MODULES, public_names

import passes
import stagec
import stagec.numpy as snp
from stagec.core.operators import ArrayOperators
from stagec.core.trace import Tracer

NUMPY = {name for name in dir(np.ndarray) if not name.startswith("_")}


def offered(value):
    return {name for name in dir(value) if not name.startswith("_")}


def double(x):
    return x * 2


JITTED = stagec.jit(double)
SIGNATURE = {"args_info", "donate_argnums", "in_avals", "in_tree", "out_info", "out_tree"}
STAGES = SIGNATURE | {"as_text", "cost_analysis", "report"}
OBJECTS = {
    "jitted": (lambda: JITTED, {"clear_cache", "eval_shape", "lower", "trace"}),
    "traced": (
        lambda: JITTED.trace(1.0),
        SIGNATURE | {"fun_name", "graph", "jaxpr", "lower", "out_avals"},
    ),
    "lowered": (lambda: JITTED.lower(1.0), STAGES | {"compile", "compiler_ir", "serialize"}),
    "compiled": (
        lambda: JITTED.lower(1.0).compile(),
        STAGES
        | {"export", "input_formats", "input_shardings", "memory_analysis", "output_formats", "output_shardings"}
        | {"runtime_executable", "save"},
    ),
    "exported": (
        lambda: stagec.export(JITTED)(1.0),
        {"call", "fun_name", "in_avals", "in_tree", "mlir_module", "out_avals", "out_tree", "save", "serialize"}
        | {"targets", "to_c", "to_html", "to_wasm"},
    ),
    "loaded": (
        lambda: stagec.load(stagec.export(JITTED)(1.0).serialize()),
        {"digest", "fun_name", "functions", "in_avals", "modules", "out_avals", "path"},
    ),
    "device": (
        lambda: stagec.devices()[0],
        {
            *("addressable_memories", "client", "default_memory", "device_kind", "id", "local_hardware_id"),
            *("memory_stats", "platform", "process_index"),
        },
    ),
    "shape": (
        lambda: stagec.ShapeDtypeStruct((2,), "float32"),
        {"dtype", "like", "ndim", "shape", "sharding", "size", "update", "weak_type"},
    ),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_offers_these(name):
    make, expected = OBJECTS[name]
    assert offered(make()) == expected


def test_an_array_offers_numpys_methods_and_these():
    array = snp.ones(2)
    assert offered(array) - NUMPY - {"ptp"} == {
        *("at", "aval", "block_until_ready", "committed", "copy_to_host_async", "delete", "devices"),
        *("is_deleted", "is_ready", "weak_type"),
        *("addressable_data", "addressable_shards", "global_shards", "sharding"),
        *("is_fully_addressable", "is_fully_replicated", "unsafe_buffer_pointer"),
    }
    seen = []
    stagec.jit(lambda x: seen.append(offered(x)) or x)(array)
    assert seen[0] - NUMPY - {"ptp"} == {"at", "aval", "block_until_ready", "weak_type"}


def test_internals_do_not_hide_numpys_methods():
    # `take` was once what a donation did to an array.
    shared = {"item", "tolist"}
    for kind in (stagec.Array, Tracer):
        hidden = {n for n in NUMPY & set(dir(ArrayOperators)) if getattr(kind, n) is not getattr(ArrayOperators, n)}
        assert hidden <= shared
    x = snp.array([1.0, 2.0, 3.0])
    assert x.take(np.array([2, 0])).tolist() == [3.0, 1.0]
    assert not x.is_deleted()


def test_the_options_are_offered():
    assert {"enable_x64", "debug_nans", "override", "update"} <= offered(stagec.config)
    assert not {"on_update", "trace_key", "checks_values"} & offered(stagec.config)


SUBMODULES = {
    "stagec.experimental": {"checkify", "mesh_utils", "multihost_utils", "ode", "pjit", "shard_map", "sparse"},
    "stagec.lax": {"linalg"},
    "stagec.nn": {"initializers"},
    "stagec.numpy": {"fft", "linalg"},
    "stagec.scipy": set(stagec.scipy._MODULES),
}


@pytest.mark.parametrize("name", FUNCTION_MODULES)
def test_a_module_of_functions_offers_those_in_its_list(name):
    module = importlib.import_module(name)
    found = {n for n in offered(module) if not n.endswith("_p")}
    assert found == public_names(module) | SUBMODULES.get(name, set())


MODULES = [name for name in stagec.__all__ if isinstance(getattr(stagec, name), types.ModuleType)]
IMPORTED = {"annotations", *typing.__all__, *collections.abc.__all__} - {"Pattern"}


@pytest.mark.parametrize("name", ["stagec", "passes", *[f"stagec.{name}" for name in MODULES]])
def test_no_module_offers_what_it_imports(name):
    module = importlib.import_module(name)
    assert not offered(module) & IMPORTED
    modules = {n for n in offered(module) if isinstance(getattr(module, n), types.ModuleType)}
    assert modules <= {"build", "match", *MODULES, *SUBMODULES.get(name, ())}


def test_passes_offers_its_names_and_the_tools_for_patterns():
    assert offered(passes) == {*passes.__all__, "build", "match"}
