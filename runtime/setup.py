"""Builds stagec-runtime from the sources of stagec beside it: copies the modules that loading and running need.

An archive made by `python -m build` holds the copies, and is built without the sources.
"""

import ast
import pathlib
import re
import shutil
from collections.abc import Iterator

from setuptools import setup

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parent
PACKAGE = HERE / "stagec_runtime"

# What users of stagec-runtime import, or reach through `stagec`; all else follows from the imports of these.
ROOTS = """
stagec stagec.__main__ stagec.cli stagec.commands.run stagec.commands.inspect
stagec.api.load stagec.api.devices stagec.api.arguments
stagec.dtypes stagec.errors stagec.tree stagec.tree_util stagec.typing
""".split()
# Functions of arrays, which NumPy computes outside `jit`: all modules of these packages.
FUNCTIONS = "numpy lax nn random scipy".split()
# Of `passes`, the runtime has a few modules, under another name: those that know nothing of MLIR.
IMPORT = re.compile(r"^( *from )passes(?=[. ])", re.MULTILINE)
# Imported inside a function, where the compiler is installed.
LEFT_OUT = {"stagec.compiler.build", "stagec.commands.foreign"}


def source(module: str) -> pathlib.Path | None:
    """The file of a module of stagec."""
    path = TREE.joinpath(*module.split("."))
    found = (path / "__init__.py", path.with_suffix(".py"))
    return next((file for file in found if file.is_file()), None)


def imports(file: pathlib.Path) -> Iterator[str]:
    """The modules that a file imports, at the top or inside functions, but not for type checkers alone."""
    todo: list[ast.AST] = [ast.parse(file.read_text("utf-8"))]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)):
            todo.extend(ast.iter_child_nodes(node))


def part() -> dict[str, pathlib.Path]:
    """The modules of the runtime, with their files."""
    found: dict[str, pathlib.Path] = {}
    functions = [file for name in FUNCTIONS for file in (TREE / "stagec" / name).rglob("*.py")]
    todo = [*ROOTS, *[".".join(f.relative_to(TREE).with_suffix("").parts).removesuffix(".__init__") for f in functions]]
    while todo:
        name = todo.pop()
        file = source(name)
        if name in (*found, *LEFT_OUT) or not name.startswith(("stagec", "passes.")) or file is None:
            continue
        found[name] = file
        todo += [*imports(file), name.rpartition(".")[0]]
    return found


def collect() -> None:
    """Copy the runtime's modules and the license to where setuptools looks for them."""
    for stale in (PACKAGE, HERE / "build"):
        shutil.rmtree(stale, ignore_errors=True)
    for file in part().values():
        top, *path = file.relative_to(TREE).parts
        copy = PACKAGE.joinpath(*(["_passes"] if top == "passes" else []), *path)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(IMPORT.sub(r"\1stagec._passes", file.read_text("utf-8")), "utf-8")
    (PACKAGE / "_passes" / "__init__.py").touch()
    shutil.copyfile(TREE / "LICENSE", HERE / "LICENSE")


if source("stagec") is not None:
    collect()
setup()
