"""The shape of the code: who imports whom, what is public, what an import costs."""

import ast
import collections
import functools
import pathlib
import re
import subprocess
import sys

import pytest

from stagec.backends import BACKENDS

ROOT = pathlib.Path(__file__).resolve().parent.parent

# From the bottom up. A module imports from its own layer or from layers below.
LAYERS = [
    ("passes",),
    ("stagec.core", "stagec.typing"),
    ("stagec.backends",),
    ("stagec.primitives",),
    ("stagec.transforms",),
    ("stagec.control",),
    ("stagec.lowering",),
    ("stagec.compiler", "stagec.runtime", "stagec.artifact"),
    ("stagec.standalone",),
    (
        "stagec.numpy",
        "stagec.lax",
        "stagec.nn",
        "stagec.scipy",
        "stagec.random",
        "stagec.flatten_util",
        "stagec.image",
        "stagec.ops",
        "stagec.ref",
        "stagec.dlpack",
        "stagec.factorizations",
    ),
    (
        "stagec.tree",
        "stagec.tree_util",
        "stagec.dtypes",
        "stagec.errors",
        "stagec.debug",
    ),
    ("stagec.python_flow",),
    ("stagec.api",),
    (
        "stagec.ad_checkpoint",
        "stagec.custom_batching",
        "stagec.custom_derivatives",
        "stagec.distributed",
        "stagec.experimental",
        "stagec.sharding",
        "stagec.test_util",
    ),
    ("stagec.foreign",),
    ("stagec.differential", "stagec.profiling"),
    ("stagec.viewing",),
    ("stagec.compat",),
    ("stagec.commands",),
    ("stagec.cli", "stagec.__main__"),
]


def modules():
    for package in ("passes", "stagec"):
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = list(path.relative_to(ROOT).with_suffix("").parts)
            if parts[-1] == "__init__":
                parts.pop()
            yield ".".join(parts), path


def layer(name):
    for level, prefixes in enumerate(LAYERS):
        if any(name == p or name.startswith(p + ".") for p in prefixes):
            return level
    return None


@functools.cache
def imports(path):
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return found


def nodes_of_files_with(expression):
    """Name and syntax node of each module whose text an expression matches: few, and parsing takes long."""
    for name, path in modules():
        if re.search(expression, text := path.read_text()):
            yield from ((name, node) for node in ast.walk(ast.parse(text)))


@pytest.mark.parametrize(("name", "path"), list(modules()), ids=lambda v: v if isinstance(v, str) else "")
def test_imports_go_downward(name, path):
    mine = layer(name)
    if mine is None:
        assert name == "stagec", f"{name} is in no layer"
        return
    for target in imports(path):
        level = layer(target)
        assert level is None or level <= mine, f"{name} imports {target}, which is above it"


def imported(path, names):
    """The modules among `names` that a file imports: those that its own import loads, and those of its functions."""

    def walk(node, inside):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                continue
            if isinstance(child, ast.ImportFrom) and child.module:
                full = [f"{child.module}.{alias.name}" for alias in child.names]
                found[inside].update(f if f in names else child.module for f in full)
            elif isinstance(child, ast.Import):
                found[inside].update(alias.name for alias in child.names)
            walk(child, inside or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)))

    found = {False: set(), True: set()}
    walk(ast.parse(path.read_text()), False)
    return found[False] & names, found[True] & names


def test_imports_form_no_circle():
    """Nor would they if those inside functions, for what most programs do not need, stood at the top."""
    files = dict(modules())
    edges = {name: imported(path, set(files)) for name, path in files.items()}

    def reached(name):
        seen, waiting = set(), [name]
        while waiting:
            new = edges[waiting.pop()][0] - seen
            seen |= new
            waiting += new
        return seen

    for name, (_, inside) in edges.items():
        assert name not in reached(name), f"{name} imports itself by way of others"
        for target in sorted(inside):
            assert name not in reached(target), f"{target}, imported in a function of {name}, imports {name}"


@pytest.mark.parametrize(("name", "path"), list(modules()), ids=lambda v: v if isinstance(v, str) else "")
def test_the_class_for_annotations_is_not_asked_for_at_run_time(name, path):
    """`stagec.core.array.Array` is then what arrays and tracers share: no value has that type."""
    if "stagec.core.array.Array" in imports(path):
        for node in ast.walk(ast.parse(path.read_text())):
            asked = [*node.comparators, node.left] if isinstance(node, ast.Compare) else []
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
                asked = node.args[1:]
            assert not any(isinstance(n, ast.Name) and n.id == "Array" for a in asked for n in ast.walk(a)), node.lineno


def test_rules_import_the_rows_that_they_apply():
    """A row is looked up by its name only in `core`, which puts conversions around operations on small dtypes."""
    for name, node in nodes_of_files_with(r"\bregistry\b"):
        if not name.startswith("stagec.core."):
            by_name = isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
            found = by_name and ast.unparse(node.value).endswith("Primitive.registry")
            assert not found, f"{name}:{node.lineno} looks {ast.unparse(node.slice)} up: import the row"


def test_only_bindings_and_the_compiler_import_the_compilers_library():
    allowed = {"passes.bindings"} | {n for n, _ in modules() if n.startswith("stagec.compiler.")}
    for name, path in modules():
        if name not in allowed:
            assert not any(t.startswith("iree.compiler") for t in imports(path)), name
    for name, node in nodes_of_files_with("iree"):
        if name.startswith("passes.") and name != "passes.bindings" and isinstance(node, ast.Constant):
            assert not str(node.value).startswith("iree.compiler"), f"{name}: use passes.bindings"


def test_importing_stagec_is_lean():
    code = (
        "import sys, stagec, stagec.numpy; "
        "heavy = ['iree.compiler', 'iree.runtime', 'click', 'rich', 'opt_einsum', 'scipy', 'jax']; "
        "print([m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_importing_stagec_alone_imports_no_functions():
    """What loads an artifact needs none; they come with the first use of an array."""
    code = (
        "import sys, stagec; stagec.load; "
        "print([m for m in sys.modules if m.startswith(('passes.b', 'passes.p', 'stagec.numpy', 'stagec.control', "
        "'stagec.lowering', 'stagec.api.jit', 'stagec.compiler.build'))]); "
        "from stagec.runtime.array import Array; from stagec.core.aval import ShapedArray; import numpy as np; "
        "x = Array.of(np.ones(3), ShapedArray.of((3,), np.dtype('float64'))); print(float((x + x).sum()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "6.0"]


def test_importing_the_primitives_imports_none_of_scipys_functions():
    code = (
        "import sys, stagec.lax as lax; print([m for m in sys.modules if m.startswith('stagec.scipy')]); "
        "print(round(float(lax.igamma(2.0, 3.0)), 4), round(float(lax.betainc(2.0, 3.0, 0.5)), 4), "
        "round(float(lax.random_gamma_grad(2.0, 3.0)), 4))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "0.8009 0.6875 1.3218"]


def test_a_start_needs_errors_and_the_names_of_fast_math_alone_of_passes():
    code = "import sys, stagec; print(sorted(m for m in sys.modules if m.split('.')[0] == 'passes'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['passes', 'passes.errors', 'passes.fast_math']"


def test_every_public_exception_is_a_stagec_error():
    import passes
    import stagec

    for module in (passes, stagec.errors):
        kinds = [getattr(module, name) for name in module.__all__]
        for kind in kinds:
            if isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, Warning):
                assert issubclass(kind, stagec.StagecError), kind


def test_public_names_are_these():
    import stagec

    assert sorted(stagec.__all__) == sorted(
        """
        Array Device Exported Loaded NamedSharding P Pass Pattern Ref Shard ShapeDtypeStruct StagecError ad_checkpoint
        block_until_ready check check_tracer_leaks checking_leaks checkpoint checkpoint_policies clear_caches
        closure_convert compat config copy_to_host_async custom_batching custom_derivatives custom_gradient
        custom_jvp custom_vjp debug debug_infs debug_key_reuse debug_nans default_backend default_device
        default_matmul_precision device_count device_get device_put devices disable_jit distributed dlpack ds dtypes
        effects_barrier empty_ref enable_x64 ensure_compile_time_eval errors eval_shape experimental explain
        export flatten_util float0 free_ref freeze from_stablehlo fwd_and_bwd grad hessian image jacfwd jacobian
        jacrev jit jvp lax linear_transpose linearize live_arrays load local_device_count local_devices
        log_compiles make_array_from_callback make_array_from_process_local_data
        make_array_from_single_device_arrays make_graph make_jaxpr make_mesh memory_stats named_call named_scope
        new_ref nn numpy use_abstract_mesh get_abstract_mesh get_mesh
        numpy_dtype_promotion numpy_rank_promotion ops pattern pmap print_environment_info process_count
        process_index process_indices profile pure_callback random ref remat reshard save scipy set_mesh
        shard_map sharding smap test_util tree tree_util typeof
        typing value_and_grad view vjp vmap
        """.split()
    )
    for name in stagec.__all__:
        assert getattr(stagec, name) is not None


def test_names_of_jax_that_do_not_exist_yet_say_what_to_do():
    import stagec

    with pytest.raises(AttributeError, match=r"no attribute 'tree_map'\n.*\n  Fix: use stagec\.tree\.map"):
        stagec.tree_map  # noqa: B018
    with pytest.raises(AttributeError, match=r"jax\.transfer_guard"):
        stagec.transfer_guard  # noqa: B018


PUBLIC = ["passes", "stagec", *sorted(f"stagec.{p.parent.name}" for p in (ROOT / "stagec").glob("*/__init__.py"))]
PUBLIC += ["stagec.lax.linalg", "stagec.numpy.linalg", "stagec.scipy.linalg"]


@pytest.mark.parametrize("name", PUBLIC)
def test_a_module_can_be_imported_before_all_others(name):
    subprocess.run([sys.executable, "-c", f"import {name}"], check=True)


def test_nobody_asks_for_a_backend_by_its_name():
    names = set(BACKENDS)
    for name, node in nodes_of_files_with("|".join(names)):
        if not name.startswith("stagec.") or name.startswith("stagec.backends"):
            continue
        parts = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
        parts += [e for p in parts if isinstance(p, (ast.Tuple, ast.Set, ast.List)) for e in p.elts]
        asked = [p.value for p in parts if isinstance(p, ast.Constant) and p.value in names]
        assert not asked, f"{name}:{node.lineno} compares with {asked[0]!r}: make it an attribute of Backend"


# Modules that know of MLIR and use regular expressions, with what they read by them.
EXPRESSIONS = {
    "passes.nesting": "text that is not parsed yet",
    "passes.patterns": "addresses in the representations of Python's objects",
    "passes.printed": "what MLIR prints",
    "stagec.compat.extend.mlir.dialects": "names of classes",
    "stagec.compiler.cache_directory": "names of files",
    "stagec.compiler.diagnostics": "messages of the compiler, and names of files",
    "stagec.compiler.key": "the version of IREE in its package",
    "stagec.compiler.refused": "names of files",
    "stagec.compiler.stages": "names of files",
    "stagec.foreign.mistakes": "messages of MLIR's parser; others are shown as they are",
    "stagec.foreign.vhlo": "VHLO, whose text belongs to a version; what is unknown is refused",
    "stagec.lowering.portable": "a version of StableHLO that a user gives",
    "stagec.lowering.vhlo": "attributes to be written as VHLO; what is unknown is refused",
}


def test_what_mlir_prints_is_read_in_one_module():
    found = set()
    for name, path in modules():
        used = list(imports(path))
        knows_mlir = name.startswith(("passes", "stagec.compiler", "stagec.lowering", "stagec.foreign"))
        if "re" in used and (knows_mlir or "passes.bindings" in used or "stagec.compiler.mlir" in used):
            found.add(name)
    assert found == set(EXPRESSIONS)


NAMES = {name for name, _ in modules()}
# Modules that functions import, where they are first needed, with the reason. Everything else is imported at the top.
LAZY = {
    # The compiler, MLIR and the passes: a process that finds its programs in the cache or in a file needs none of them.
    "iree.compiler": "the compiler",
    "passes": "the compiler",
    "mpi4py": "an extra",
    "threadpoolctl": "needed for factorizations",
    "passes.proving.verdict": "takes Bitwuzla, an extra",
    "stagec.compat.emitted": "the compiler",
    "stagec.foreign.parsed": "the compiler: a call of a stored program needs none",
    "stagec.commands.foreign": "reading a module needs MLIR, and stagec-runtime has neither",
    "stagec.compiler.batches": "needed when something is compiled",
    "stagec.compiler.limits": "needed when something is compiled",
    "passes.analysis.in_place": "the compiler",
    "passes.bindings": "the compiler",
    "passes.guard": "the compiler",
    "passes.operations": "needed when something is compiled",
    "passes.match": "the compiler",
    "passes.pipeline": "the compiler",
    "stagec.compiler.build": "the compiler",
    "stagec.compiler.dump": "the compiler",
    "stagec.lowering.portable": "the compiler",
    "stagec.compiler.outside": "the compiler",
    "stagec.compiler.ready": "the compiler",
    "stagec.compiler.row_blocks": "the compiler",
    "stagec.compiler.stages": "the compiler",
    "stagec.lowering.lower": "the compiler",
    "stagec.lowering.open_shapes": "the compiler",
    # Other packages, which are optional or take long to import.
    "absl": "optional: flags of a command line that names options of JAX",
    "importlib.metadata": "slow to import",
    "iree._runtime.libs": "needed when something runs",
    "opt_einsum": "slow to import",
    "llvmlite": "the compiler",
    "fsspec": "optional: needed for a remote cache",
    "platformdirs": "needed where no environment variable names the cache's directory",
    "IPython": "needed in notebooks",
    "rich": "needed by commands that print tables",
    "scipy": "optional",
    # Parts of stagec that few programs need, and that import much.
    "stagec.api.exported": "only for functions that are exported",
    "stagec.api.load": "only for functions that are loaded",
    "stagec.api.outside": "only where something outside jit is compiled; stagec-runtime does not have it",
    "stagec.core.dlpack": "only for tensors of other libraries",
    "stagec.numpy": "the operators of arrays; importing stagec imports no functions",
    "stagec.numpy.linalg": "few polynomials need matrices",
    "stagec.python_flow.entry": "only for functions with Python's control flow",
    "stagec.runtime.debugger": "imports Python's debugger",
    "stagec.standalone.c_library": "the compiler",
    "stagec.standalone.function": "the compiler",
    "stagec.standalone.web": "the compiler",
    "stagec.runtime.nonfinite": "only under debug_nans and debug_infs",
    "stagec.scipy.gamma_grad": "special functions that few programs need",
    "stagec.scipy.incomplete_beta": "special functions that few programs need",
    "stagec.scipy.incomplete_gamma": "special functions that few programs need",
}


def imports_of_functions(path):
    """The modules that functions of a file import, by name or by `import_module`, with the lines."""
    tree = ast.parse(path.read_text())
    functions = [f for f in ast.walk(tree) if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))]
    for node in {node for f in functions for node in ast.walk(f)}:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in NAMES or name in LAZY else node.module for name in full]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            names = [a.value for a in node.args if isinstance(a, ast.Constant)]
        else:
            continue
        yield from ((node.lineno, name) for name in names)


def in_table(name):
    """The row of LAZY for a module: of stagec's own the module itself, of others also a package that holds it."""
    parts = name.split(".")
    shortest = len(parts) if parts[0] in ("passes", "stagec") else 1
    return next((p for n in range(shortest, len(parts) + 1) if (p := ".".join(parts[:n])) in LAZY), None)


def test_functions_import_only_what_is_slow_or_rarely_needed():
    indented = re.compile(r"^[ \t]+(import|from)\b|import_module", re.MULTILINE)
    files = [(name, path) for name, path in modules() if indented.search(path.read_text())]
    late = [(name, line, module) for name, path in files for line, module in imports_of_functions(path)]
    unknown = [f"{name}:{line} imports {module}" for name, line, module in late if in_table(module) is None]
    assert unknown == [], "import it at the top, or give the reason in LAZY"
    assert sorted(set(LAZY) - {in_table(module) for _, _, module in late}) == [], "no function imports these"


def test_files_of_tests_have_names_of_their_own():
    """Pytest imports them as modules without packages, and refuses a second one of a name."""
    names = collections.Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []
