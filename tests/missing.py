"""Writes the lists of docs/reference/missing.md: what JAX has, and stagec has not.

`python tests/missing.py` compares stagec with the names in jax_names.txt. `python tests/missing.py --names` reads that
file's names from an installed JAX first.
"""

from __future__ import annotations

import importlib
import inspect
import pathlib
import pkgutil
import sys
import textwrap
import types
import warnings

import missing_reasons

TESTS = pathlib.Path(__file__).resolve().parent
NAMES = TESTS / "jax_names.txt"
PAGE = TESTS.parent / "docs" / "reference" / "missing.md"
BEGIN, END = "<!-- begin: written by tests/missing.py -->", "<!-- end -->"

# What is documented for users of JAX; `jax.core`, `jax.extend` and the like are for those who extend it.
MODULES = """
jax jax.ad_checkpoint jax.custom_batching jax.custom_derivatives jax.debug jax.distributed jax.dlpack jax.dtypes
jax.errors jax.export jax.ffi jax.flatten_util jax.image jax.lax jax.lax.linalg jax.nn jax.nn.initializers jax.numpy
jax.numpy.fft jax.numpy.linalg jax.ops jax.profiler jax.random jax.ref jax.scipy jax.sharding jax.stages jax.test_util
jax.tree jax.tree_util jax.typing
""".split()
# What the page says of names without a reason.
UNEXPLAINED = "**Without a reason.**"
# Arguments for what stagec does not have at all, named once on the page.
SHARDING = {"out_sharding", "sharding", "in_shardings", "out_shardings", "axis_env", "sum_match"}


def jax_names() -> str:
    """The public names of an installed JAX, one a line: module, name, and the arguments that have names."""
    import jax

    modules = set(MODULES)
    for found in pkgutil.walk_packages(jax.scipy.__path__, "jax.scipy."):
        modules.add(found.name)
    lines = [f"# JAX {jax.__version__}"]
    for name in sorted(modules):
        module = importlib.import_module(name)
        lines += [f"{name} {row}" for row in _rows(module)]
    lines += [f"jax.Array {name}" for name in dir(jax.Array) if not name.startswith("_")]
    import jax.experimental

    lines += [f"jax.experimental {m.name}" for m in pkgutil.iter_modules(jax.experimental.__path__) if m.name[0] != "_"]
    return "\n".join(lines) + "\n"


def _rows(module: types.ModuleType) -> list[str]:
    rows = []
    for name in dir(module):
        # Deprecated names warn or fail; those that end in _p are primitives.
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                value = getattr(module, name)
            except Exception:
                continue
        if not name.startswith("_") and not name.endswith("_p") and not isinstance(value, types.ModuleType):
            rows.append(" ".join([name, *arguments(value)]))
    return rows


def arguments(value: object) -> list[str]:
    """The arguments of a function that may be passed by name."""
    if isinstance(value, type) or not callable(value):
        return []
    try:
        found = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return []
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [p.name for p in found if p.kind in named and not p.name.startswith("_")]


def ours(module: str) -> object:
    """What stands for a module of JAX here, or None."""
    if module == "jax.Array":
        return importlib.import_module("stagec").Array
    try:
        return importlib.import_module(module.replace("jax", "stagec", 1))
    except ModuleNotFoundError:
        return None


def lists() -> str:
    """The lists of the page."""
    heading, *lines = NAMES.read_text().splitlines()
    modules: dict[str, dict[str, list[str]]] = {}
    for line in lines:
        module, name, *given = line.split()
        modules.setdefault(module, {})[name] = given
    rows, short = [], {}
    lacks: dict[str, list[str]] = {}
    for module, names in modules.items():
        here = ours(module)
        if here is None:
            lacks[module] = list(names)
            continue
        missing = [name for name in names if not hasattr(here, name)]
        rows.append(f"| `{module}` | {len(names)} | {len(names) - len(missing)} |")
        if missing:
            lacks[module] = missing
        for name in names.keys() - {*missing}:
            lacking = _lacking(names[name], getattr(here, name))
            if lacking:
                short[f"{module.removeprefix('jax.')}.{name}"] = lacking
    table = ["| Module | Names in JAX | Here |", "|---|---|---|", *rows]
    parts = [
        f"The names are those of {heading.removeprefix('# ')}.",
        "\n".join(table),
        "### Names",
        _explained(lacks),
        "### Arguments",
        "Functions that are here, but do not take these arguments by name, except those of sharding:",
        _wrapped(_arguments_explained(short)),
    ]
    return "\n\n".join(parts)


def _explained(lacks: dict[str, list[str]]) -> str:
    """The names that are missing, by reason, then by module."""
    rest = {module: list(names) for module, names in lacks.items()}
    out = []
    for reason, modules in missing_reasons.NAMES.items():
        lines = []
        for module, given in sorted(modules.items()):
            names = [n for n in rest.get(module, []) if given is None or n in given.split()]
            rest[module] = [n for n in rest.get(module, []) if n not in names]
            if names:
                lines.append(f"- `{module}`: {', '.join(f'`{n}`' for n in names)}.")
        if lines:
            out.append(f"{_wrapped([reason])}\n\n{_wrapped(lines)}")
    unexplained = [f"- `{module}`: {', '.join(f'`{n}`' for n in names)}." for module, names in rest.items() if names]
    if unexplained:
        out.append(f"{UNEXPLAINED}\n\n{_wrapped(unexplained)}")
    return "\n\n".join(out)


def _arguments_explained(short: dict[str, list[str]]) -> list[str]:
    out = []
    reasons = {n: reason for reason, names in missing_reasons.ARGUMENTS.items() for n in names.split()}
    for reason in dict.fromkeys([*missing_reasons.ARGUMENTS, UNEXPLAINED]):
        found = []
        for name, lacking in sorted(short.items()):
            chosen = [f"`{n}`" for n in lacking if reasons.get(n, UNEXPLAINED) == reason]
            found += [f"`{name}` ({', '.join(chosen)})"] if chosen else []
        if found:
            out.append(f"- {', '.join(found)}: {reason.rstrip('.')}.")
    return out


def _lacking(wanted: list[str], value: object) -> list[str]:
    """Arguments of JAX's function that ours does not have."""
    try:
        found = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return []
    if any(p.kind is p.VAR_KEYWORD for p in found):
        return []
    known = {p.name for p in found} | SHARDING
    return [name for name in wanted if name not in known]


def _wrapped(paragraphs: list[str]) -> str:
    fill = textwrap.TextWrapper(120, break_long_words=False, break_on_hyphens=False)
    out = []
    for text in paragraphs:
        fill.subsequent_indent = "  " if text.startswith("- ") else ""
        out.append(fill.fill(text))
    return "\n".join(out)


def page() -> str:
    """The page, with lists that fit the code."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    return f"{before}{BEGIN}\n\n{lists()}\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    if "--names" in sys.argv:
        NAMES.write_text(jax_names())
    PAGE.write_text(page())
