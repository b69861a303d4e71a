"""What errors advise works: each hint is provoked, compared, and followed.

A table of a topic has rows of the hint as it is printed, what is wrong, and what the hint makes of it. A hint in the
sources that no table has fails the last test.
"""

# ruff: noqa: E501

import pathlib
import re
import sys

import hint_sources
import hints_api
import hints_calls
import hints_checkify
import hints_commands
import hints_compat
import hints_control
import hints_core
import hints_dynamic
import hints_lax
import hints_linalg
import hints_numpy
import hints_numpy_files
import hints_passes
import hints_programs
import hints_python
import hints_random
import hints_reductions
import hints_references
import hints_scipy
import hints_shapes
import hints_sharding
import hints_solves
import hints_sparse
import hints_traces
import pytest

TABLES = [
    hints_api,
    hints_calls,
    hints_checkify,
    hints_commands,
    hints_compat,
    hints_control,
    hints_core,
    hints_dynamic,
    hints_lax,
    hints_linalg,
    hints_numpy,
    hints_numpy_files,
    hints_passes,
    hints_programs,
    hints_python,
    hints_random,
    hints_references,
    hints_reductions,
    hints_scipy,
    hints_shapes,
    hints_sharding,
    hints_solves,
    hints_sparse,
    hints_traces,
]
ROWS = [
    pytest.param(table, *row, id=f"{table.__name__}-{i}-{row[0][:40]}")
    for table in TABLES
    for i, row in enumerate(table.CASES)
]


def hint_of(error):
    found = re.findall(r"^  Fix: (.*)$", str(error), re.MULTILINE)
    assert len(found) == 1, str(error)
    return found[0]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    """Advice about files writes some, and the command imports one by its name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "model", raising=False)


@pytest.mark.parametrize(("table", "hint", "wrong", "right"), ROWS)
def test_the_hint_is_given_and_works_when_followed(table, hint, wrong, right):
    with pytest.raises(Exception) as caught:
        wrong()
    text = str(caught.value)
    assert hint_of(caught.value) == hint, text
    if getattr(table, "HAVE_LINES", True):
        assert re.search(r"\bhints_\w+\.py:\d+", text)
    right()


# The names under which the tables import modules.
NAMES = {"snp": "stagec.numpy", "lax": "stagec.lax", "nn": "stagec.nn", "np": "numpy"}
NAMES |= {name: f"stagec.{name}" for name in ("debug", "dtypes", "random", "tree_util")}


def as_written(hint):
    """A hint as the sources have it: with the full names of modules."""
    return re.sub(r"(?<![\w.])(\w+)(?=\.\w)", lambda match: NAMES.get(match[1], match[1]), hint)


# Hints that need a fault of the compiler, of the disk or of another installation, with the test that makes it; those of
# hardware that is not there cannot be followed. Of a file whose functions were compiled for other arguments, the tests
# of files tell all.
ELSEWHERE = {
    "install it: pip install bitwuzla": "differential/test_check.py",
    "none needed; it was removed and the program is compiled again": "compiler/test_cache_damage.py",
    "remove .*": "compiler/test_cache_damage.py",
    "replace or remove .*": "compiler/test_cache_damage.py",
    "raise STAGEC_CACHE_MAX_BYTES": "compiler/test_cache.py",
    "set STAGEC_CACHE_DIR": "compiler/test_cache.py",
    "describe each of them, as in 'f32[8,3]'": "test_cli.py",
    "look at x.addressable_shards, or gather it with "
    "stagec.experimental.multihost_utils.process_allgather(x, tiled=True)": "sharding/test_mpi.py",
    "make a mesh of stagec.local_devices()": "sharding/test_mpi.py",
    "lower(...).as_text(stage) shows it; to run it, split the arrays among devices of the CPU": "sharding/"
    "test_several_gpus.py",
    "lower(...).as_text(stage) shows the program that each of them runs": "sharding/test_several_gpus.py",
    "use one mesh with all axes": "sharding/test_several_gpus.py",
    "make a mesh of CPU devices, of which the option num_cpu_devices makes several, or of one other device": "sharding/"
    "test_shardings.py",
    "name the axes that divide processes first": "sharding/test_mpi.py",
    "run the function on the devices of the mesh, or leave the sharding out": "sharding/test_shardings.py",
    "make the mesh with stagec.make_mesh, or arrange the devices by process": "sharding/test_mpi.py",
    "pip install mpi4py mpich, and start the program with mpiexec -n 4 python program.py": "sharding/test_mpi.py",
    "pass arrays with .* >= .*, and treat this case before the call": "dynamic/test_open_sizes.py",
    "call stagec.numpy..*, whose result is computed from the size at the call": "dynamic/test_open_sizes.py",
    "write a number, or a name such as b for an open dimension": "dynamic/test_open_sizes.py",
    "make the array with stagec.numpy.array, which computes its elements from the size at the call": "dynamic/"
    "test_open_sizes.py",
    "pass the path of a file, or MLIR, as jax.jit(f).lower(...).as_text() returns it": "foreign/test_damaged_modules.py",
    "; or leave the dimensions static": "dynamic/test_open_sizes.py",
    "pass an array, or numbers": "foreign/test_module_forms.py",
    "write the recursion as a stablehlo.while, or repeat the function's text as often as it is called": "foreign/"
    "test_module_forms.py",
    "check who owns the files": "test_cli.py",
    "install the release of llvmlite that stagec asks for": "standalone/test_c_libraries.py",
    "write a page of its own: stagec compile --emit html": "viewing/test_form.py",
    "install iree-base-compiler again": "standalone/test_web.py",
    "pip install fsspec, and what fsspec needs for this address, such as s3fs": "compiler/test_cache_remote.py",
    "correct or unset STAGEC_CACHE_REMOTE; the program is compiled here": "compiler/test_cache_remote.py",
    "allow writing there, or unset STAGEC_CACHE_REMOTE_WRITE": "compiler/test_cache_remote.py",
    "set it to what `openssl rand -hex 32` prints": "compiler/test_cache_remote.py",
    "set STAGEC_DUMP to a writable directory": "compiler/test_stages.py",
    "compute in float32 or complex64, or run this function on the CPU: stagec.jit(f, device='cpu')": "primitives/test_gpus.py",
    "this is a fault of whoever built the module; a custom pass or rewrite is the first suspect": "compiler/test_driver.py",
    "pass the constant as an argument, or use complex64": "compiler/test_driver.py",
    "run the function under stagec.disable_jit(), and report the saved module": "compiler/test_diagnostics.py",
    "split the expression above, so that less of it becomes one kernel": "compiler/test_diagnostics.py",
    "the operation above does not exist for .*; use another operation or dtype, or do it outside jit": "compiler/test_diagnostics.py",
    "this function has no portable form in this dtype; compute it in float32, or outside jit": "compiler/test_diagnostics.py",
    "use another operation, dtype or shape for .*, or compute it outside jit; report the saved module": "compiler/test_outside.py",
    "stack results of one shape, or compute them in several functions": "compiler/test_many_arrays.py",
    "run on it by Vulkan: device='vulkan'": "test_backends.py",
    "install stagec with its compiler here, or export the function for this target too": "artifact/test_variants.py",
    "export the function again": "artifact/test_damage.py",
    "load it with the version of iree-base-runtime that `python -m stagec inspect` shows": "artifact/test_damage.py",
    "IREE miscompiled its loops; call the jitted function, which falls back on NumPy": "runtime/test_traps.py",
    "install the GPU's driver; `stagec doctor` shows what is found": "",
    "install stagec itself, which brings the compiler: `pip install .` in a clone; both may be installed together": "install/test_runtime.py",
    ".cat.codes are the categories' numbers": "core/test_foreign.py",
    ".astype('int64') counts its units of time; subtract the first one, since 32 bits hold few": "core/test_foreign.py",
    ".sparse.to_dense() has all elements": "core/test_foreign.py",
    ".to_numpy('float32', na_value=float('nan')) has NaN where a value is missing": "core/test_foreign.py",
    ".astype('float32') reads numbers; .*.astype('category').cat.codes numbers the different values": "core/test_foreign.py",
    "x.to_numpy('float32') makes one array; {c: x[c] for c in x} is a dict of arrays": "core/test_foreign.py",
    "pass a dense array of numbers that is on the CPU": "core/test_foreign.py",
    "x.detach() leaves the gradient out, which stagec could not continue": "core/test_foreign.py",
    "wait with stagec.block_until_ready(...) before the fork": "runtime/test_fork.py",
    "end the child inside the callback, with os._exit": "runtime/test_interruptible.py",
    "end the child inside the pass, with os._exit": "passes/test_pass_interrupts.py",
    "write it in the language that passes/simplify/term_text.py describes": "passes/test_pass_terms.py",
    'compile it before the process forks, or start processes with multiprocessing.get_context("spawn")': "runtime/test_fork.py",
    'start processes with multiprocessing.get_context("spawn"), or use the device in the child alone': "runtime/test_fork.py",
    "move one of them: stagec.device_put(x, .*)": "api/test_vulkan_arrays.py",
    "leave the arguments out": "test_cli.py",
    "export the program for one device": "foreign/test_foreign_operations.py",
    "export the program without this function": "foreign/test_foreign_operations.py",
    "describe the arguments yourself, with stagec.ShapeDtypeStruct": "foreign/test_modules_of_jax.py",
    "convert it with `astype`, or reshape it": "foreign/test_foreign_operations.py",
    "export it for one": "foreign/test_damaged_modules.py",
    "export the function without them": "foreign/test_damaged_modules.py",
    "flatten what the function takes and returns": "foreign/test_damaged_modules.py",
    "pass the containers that it was exported with": "foreign/test_modules_of_jax.py",
    "aggregate to the top k in the call": "foreign/test_module_forms.py",
    "pass one of these, as in function=.*": "foreign/test_damaged_modules.py",
    "give a module that defines a function": "foreign/test_damaged_modules.py",
    "pass the arrays by position, in this order": "foreign/test_foreign_operations.py",
    "pass one array for each parameter, in this order": "foreign/test_foreign_operations.py",
    "pass a tuple of .*": "foreign/test_forms_of_operations.py",
    "pass None for a token": "foreign/test_forms_of_operations.py",
    "export a function of arrays of known rank": "foreign/test_foreign_operations.py",
    "convert it before the function, and take another dtype": "foreign/test_foreign_operations.py",
    "export the program without this operation": "foreign/test_module_forms.py",
    "compute it in another dtype": "foreign/test_rare_operations.py",
    "export the program with arrays of known rank": "foreign/test_rare_operations.py",
    "compute it from the other results": "foreign/test_rare_operations.py",
    "export the Schur form without sorting, and reorder it afterwards": "foreign/test_rare_operations.py",
    "export the reduction of the whole matrix": "foreign/test_rare_operations.py",
    "pass arrays of the shapes that the program was exported for": "foreign/test_modules_of_jax.py",
    "set a length within the bounds of the dimension": "foreign/test_module_forms.py",
    "serialize the program as a portable artifact of StableHLO again": "foreign/test_module_forms.py",
    "serialize the program for an older version of StableHLO": "foreign/test_module_forms.py",
    "give it a static shape": "foreign/test_foreign_operations.py",
    "make it a constant in the module, or a parameter of at most 64 integers": "foreign/test_rare_operations.py",
    "install the release that stagec requires, or correct the reader in passes/printed.py": "passes/test_printed.py",
    "serialize for version .* or a newer one": "foreign/test_portable_artifacts.py",
    "give three numbers, such as '1.0.0'": "foreign/test_portable_artifacts.py",
    "leave stagec.debug.print and the callbacks out of what is serialized, and call them around it": "foreign/test_portable_artifacts.py",
    "convert it outside, and take and return a wider dtype": "foreign/test_portable_artifacts.py",
    "write numbers in their place to run it, or leave out --run": "viewing/test_view_command.py",
    "describe smaller arrays, or leave out --run": "viewing/test_view_command.py",
    "give sizes above 0": "viewing/test_view_command.py",
    "choose another --port, or leave it out": "viewing/test_live.py",
    "leave it out, or add --live": "viewing/test_live.py",
    "name a file, as in model.py:loss": "viewing/test_live.py",
    "write the page with -o page.html, or serve it with --live": "viewing/test_live.py",
    "write %stagec f(x), or end the cell of %%stagec with a call such as f(x)": "viewing/test_notebook.py",
    "correct the text of the module": "foreign/test_damaged_modules.py",
    "raise the limit, as in sys.setrecursionlimit(10_000), or nest fewer": "foreign/test_damaged_modules.py",
    "pass a string, as in function='main'": "foreign/test_damaged_modules.py",
    "write inner parts of the program as functions of the module, and call them": "foreign/test_damaged_modules.py",
    "end the block with a return": "foreign/test_damaged_modules.py",
    "write the branches as conditionals and loops of StableHLO": "foreign/test_damaged_modules.py",
    "call functions in a stablehlo.while, so that at most .* operations are traced": "foreign/test_damaged_modules.py",
    "print the module with all elements of its constants, as dense<...>": "foreign/test_damaged_modules.py",
    "define the function in the module": "foreign/test_damaged_modules.py",
    "allow this user to read it": "foreign/test_damaged_modules.py",
    "copy it to the CPU first, as with stagec.device_put(x, 'cpu')": "runtime/test_array.py",
    "pass .* devices": "sharding/test_shardings.py",
    "make the mesh with axis_types=AxisType.Explicit": "sharding/test_traced_shardings.py",
    "leave axis_types out, or give axes of type Auto or Explicit; shard_map makes axes manual": "sharding/test_mesh_in_force.py",
    "use a mesh of .* devices": "sharding/test_mesh_in_force.py",
    "pass a PartitionSpec for the mesh in force": "sharding/test_mesh_in_force.py",
    "leave in_shardings out, or move the argument first, with stagec.device_put(x, sharding)": "sharding/test_shardings.py",
    "leave the device of the argument out, or put it on the mesh, with stagec.device_put(x, NamedSharding(mesh, spec))": "sharding/test_shardings.py",
    "pass by position what in_shardings is of": "sharding/test_shardings.py",
    "move the array, with stagec.device_put(x, sharding)": "sharding/test_shardings.py",
    "write None for an axis that is whole, or leave in_shardings out": "sharding/test_shardings.py",
    " stagec.lax.pcast(x, .*, to='varying') in place of x, which is carry": "sharding/test_carries.py",
    "give the size of each axis, such as make_mesh((2, 4), ('x', 'y'))": "sharding/test_shardings.py",
    "name explicit axes alone; stagec.lax.with_sharding_constraint takes those of type Auto": "sharding/test_mesh_in_force.py",
    "leave axis_names out": "sharding/test_traced_shardings.py",
    "pass a Mesh, or arrays that are split": "sharding/test_shardings.py",
    "pass in_axes, such as in_axes=0": "sharding/test_shardings.py",
    "leave the name out, or leave it out of shard_map's axis_names": "sharding/test_shardings.py",
    "split the batch along another axis of the mesh": "sharding/test_shardings.py",
    "pass sizes for which the conditions hold, or state other ones": "dynamic/test_dims.py",
    "state no condition on several sizes": "dynamic/test_dims.py",
    "give the constraints to the scope": "compat/test_exported_functions.py",
    "pass what `serialize` of an exported function returned": "compat/test_exported_functions.py",
    "pass jax.jit(f)": "compat/test_exported_functions.py",
    "pass an array of this shape, or export it for this one": "compat/test_exported_functions.py",
    "serialize the function with vjp_order=1, or differentiate `call`, which is possible here": "compat/test_exported_functions.py",
    "take and return arrays of numbers": "compat/test_exported_functions.py",
    "convert it with `astype`": "compat/test_exported_functions.py",
    "export it again": "compat/test_exported_functions.py",
    "register it with jax.export.register_pytree_node_serialization of stagec.compat, or export a function of tuples, lists and dictionaries": "foreign/test_damaged_modules.py",
    "call jax.export.register_pytree_node_serialization or register_namedtuple_serialization for it": "compat/test_exported_functions.py",
    "convert the keys to str": "compat/test_exported_functions.py",
    "register it once": "compat/test_exported_functions.py",
    "call jax.tree_util.register_pytree_node for it first, or pass from_children": "compat/test_exported_functions.py",
    "name a dimension .*, or a multiple of it, for an axis of an argument": "compat/test_exported_functions.py",
    "give StableHLO as `jax.jit(f).lower(...).as_text()` or `jax.export` write it": "foreign/test_damaged_modules.py",
}


def test_every_hint_of_the_sources_is_tried():
    tried = {as_written(row[0]) for table in TABLES for row in table.CASES}
    # More advice may follow.
    tried |= {hint[: match.start()] for hint in tried for match in re.finditer(", or ", hint)}
    missing, used = [], set()
    for place, template in hint_sources.templates():
        plain = re.sub(r"\\(.)", r"\1", template)
        inner = re.sub(r"^(\.\*)+|(\.\*)+$", "", plain)
        known = {plain, plain.removeprefix(".*"), plain.removeprefix(".*").removesuffix(".*"), inner} & set(ELSEWHERE)
        used |= known
        if not known and plain not in tried and not any(map(re.compile(template).fullmatch, tried)):
            missing.append(f"{place}: {plain}")
    assert missing == []
    assert sorted(set(ELSEWHERE) - used) == [], "there are no such hints"
    for file in filter(None, ELSEWHERE.values()):
        assert (pathlib.Path(__file__).parent.parent / file).exists()
