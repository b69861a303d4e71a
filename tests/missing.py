"""Writes the lists of docs/reference/missing.md: what JAX, NumPy, SciPy and the array API have, and stagec has not.

`python tests/missing.py` compares stagec with the names in jax_names.txt and numpy_names.txt. `python tests/missing.py
--jax` writes the first of these files from the JAX that is installed, and needs no stagec: run it where a new version
of JAX is, look at what `git diff` says is new, and then write the page. `--numpy` writes the other.
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
from typing import Any

import missing_reasons

TESTS = pathlib.Path(__file__).resolve().parent
NAMES, NUMPY_NAMES = TESTS / "jax_names.txt", TESTS / "numpy_names.txt"
PAGE = TESTS.parent / "docs" / "reference" / "missing.md"
BEGIN, END = "<!-- begin: written by tests/missing.py -->", "<!-- end -->"

# What is documented for users of JAX; `jax.core`, `jax.extend` and the like are for those who extend it.
MODULES = """
jax jax.ad_checkpoint jax.custom_batching jax.custom_derivatives jax.debug jax.distributed jax.dlpack jax.dtypes
jax.errors jax.export jax.ffi jax.flatten_util jax.image jax.lax jax.lax.linalg jax.nn jax.nn.initializers jax.numpy
jax.numpy.fft jax.numpy.linalg jax.ops jax.profiler jax.random jax.ref jax.scipy jax.sharding jax.stages jax.test_util
jax.tree jax.tree_util jax.typing
""".split()
# Of NumPy and SciPy, those that JAX has a part of.
NUMPY_MODULES = """
numpy numpy.linalg numpy.fft scipy.cluster.vq scipy.fft scipy.integrate scipy.interpolate scipy.linalg scipy.ndimage
scipy.optimize scipy.signal scipy.special scipy.stats
""".split()
# The functions, constants and dtypes of the array API standard, 2024.12, and of its extensions.
ARRAY_API = {
    "numpy": """
        __array_namespace_info__ abs acos acosh add all any arange argmax argmin argsort asarray asin asinh
        astype atan atan2 atanh bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift
        bitwise_xor bool broadcast_arrays broadcast_to can_cast ceil clip complex128 complex64 concat conj
        copysign cos cosh count_nonzero cumulative_prod cumulative_sum diff divide e empty empty_like equal exp
        expand_dims expm1 eye finfo flip float32 float64 floor floor_divide from_dlpack full full_like greater
        greater_equal hypot iinfo imag inf int16 int32 int64 int8 isdtype isfinite isinf isnan less less_equal
        linspace log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor matmul
        matrix_transpose max maximum mean meshgrid min minimum moveaxis multiply nan negative newaxis nextafter
        nonzero not_equal ones ones_like permute_dims pi positive pow prod real reciprocal remainder repeat
        reshape result_type roll round searchsorted sign signbit sin sinh sort sqrt square squeeze stack std
        subtract sum take take_along_axis tan tanh tensordot tile tril triu trunc uint16 uint32 uint64 uint8
        unique_all unique_counts unique_inverse unique_values unstack var vecdot where zeros zeros_like
    """.split(),
    "numpy.linalg": """
        cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose outer
        pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm
    """.split(),
    "numpy.fft": """
        fft fftfreq fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn rfft rfftfreq rfftn
    """.split(),
}
# What the page says of names without a reason.
UNEXPLAINED = "**Without a reason.**"
# What stands for a default in jax_names.txt that is no number, string, bool, None or empty tuple.
OTHER = "..."
# Arguments for what stagec does not have at all, named once on the page.
SHARDING = {"out_sharding", "sharding", "in_shardings", "out_shardings", "sum_match"}


def jax_names() -> str:
    """The public names of an installed JAX, one a line: module, name, and the arguments of functions."""
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


def numpy_names() -> str:
    """The public names of an installed NumPy and SciPy, one a line: module and name."""
    import numpy
    import scipy

    lines = [f"# NumPy {numpy.__version__} and SciPy {scipy.__version__}"]
    for name in NUMPY_MODULES:
        module = importlib.import_module(name)
        public = {row.split()[0] for row in _rows(module)}
        lines += [f"{name} {n}" for n in sorted(public & {*getattr(module, "__all__", public)})]
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
    """The arguments of a function, as in its signature: those before `/` have no name, those after `*` no position."""
    if isinstance(value, type) or not callable(value):
        return []
    try:
        found = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return []
    shown, kinds = [], [p.kind for p in found]
    for i, p in enumerate(found):
        if p.kind is p.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and not p.name.startswith("_"):
            shown.append(p.name if p.default is p.empty else f"{p.name}={_default(p.default)}")
        if p.kind is p.POSITIONAL_ONLY and kinds[i + 1 : i + 2] != [p.kind]:
            shown.append("/")
    return [] if shown == ["*"] else shown


def _default(value: object) -> str:
    text = repr(value)
    plain = value is None or type(value) in (bool, int, float, str) or text == "()"
    return text if plain and not {" ", "/", "*"} & {*text} else OTHER


def ours(module: str) -> object:
    """What stands for a module of JAX, NumPy or SciPy here, or None."""
    if not module.startswith("jax"):
        return importlib.import_module(f"stagec.{module}")
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
    rows, short, different = [], {}, {}
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
            shown = f"{module.removeprefix('jax.')}.{name}"
            lacking, changed = _compared(names[name], getattr(here, name))
            if lacking:
                short[shown] = lacking
            if changed:
                different[shown] = changed
    table = ["| Module | Names in JAX | Here |", "|---|---|---|", *rows]
    parts = [
        f"The names are those of {heading.removeprefix('# ')}.",
        "\n".join(table),
        "### Names",
        _explained(lacks),
        "### Arguments",
        "Functions that are here, but do not take these arguments by name, except those of sharding:",
        _wrapped(_arguments_explained(short, missing_reasons.ARGUMENTS)),
        "Arguments that are at another position, or have another default, which is JAX's in parentheses:",
        _wrapped(_arguments_explained(different, missing_reasons.DIFFERENT)),
        numpy_lists(),
    ]
    return "\n\n".join(parts)


def numpy_lists() -> str:
    """The lists of the page for NumPy, SciPy and the array API."""
    heading, *lines = NUMPY_NAMES.read_text().splitlines()
    modules: dict[str, list[str]] = {}
    for line in lines:
        module, name = line.split()
        modules.setdefault(module, []).append(name)
    given = [(module, module, names) for module, names in modules.items()]
    given += [(f"array API, {module}", module, names) for module, names in ARRAY_API.items()]
    rows, lacks = [], {}
    for title, module, names in given:
        missing = [name for name in names if not hasattr(ours(module), name)]
        rows.append(f"| `{title}` | {len(names)} | {len(names) - len(missing)} |")
        if missing:
            lacks[title] = missing
    table = ["| Module | Names | Here |", "|---|---|---|", *rows]
    versions = heading.removeprefix("# ")
    return "\n\n".join(
        [
            "### NumPy, SciPy and the array API",
            _wrapped(
                [
                    f"The names are those of {versions}, in the modules of which JAX has a part, and of the array API "
                    "standard, 2024.12, with its extensions."
                ]
            ),
            "\n".join(table),
            _explained(lacks, missing_reasons.NUMPY_NAMES),
        ]
    )


def _explained(lacks: dict[str, list[str]], reasons: Any = missing_reasons.NAMES) -> str:
    """The names that are missing, by reason, then by module."""
    rest = {module: list(names) for module, names in lacks.items()}
    out = []
    for reason, modules in reasons.items():
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


def _arguments_explained(short: dict[str, list[str]], given: dict[str, str]) -> list[str]:
    """The arguments by reason, which is that of the function and the argument, or else of all with this name."""
    out = []
    reasons = {n: reason for reason, names in given.items() for n in names.split()}
    for reason in dict.fromkeys([*given, UNEXPLAINED]):
        found = []
        for name, lacking in sorted(short.items()):
            named = [(n, n.partition("=")[0]) for n in lacking]
            chosen = [
                f"`{shown}`" for shown, n in named if reasons.get(f"{name}:{n}", reasons.get(n, UNEXPLAINED)) == reason
            ]
            found += [f"`{name}` ({', '.join(chosen)})"] if chosen else []
        if found:
            out.append(f"- {', '.join(found)}: {reason.rstrip('.')}.")
    return out


def _compared(wanted: list[str], value: object) -> tuple[list[str], list[str]]:
    """Arguments of JAX's function that ours does not have, and those that it has otherwise."""
    if isinstance(value, type):
        return [], []
    try:
        found = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        return [], []
    names = [p.name for p in found]
    kinds = [p.kind for p in found]
    placed = [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    before, _, after = " ".join(wanted).partition("*")
    without, _, either = before.rpartition("/")
    lacking, different = [], []
    for i, shown in enumerate([*without.split(), *either.split(), *after.split()]):
        name, _, default = shown.partition("=")
        if i < len(without.split()) or name in SHARDING:
            continue
        if name not in names:
            lacking += [] if inspect.Parameter.VAR_KEYWORD in kinds else [name]
            continue
        any_place = inspect.Parameter.VAR_POSITIONAL in kinds or shown in after.split()
        moved = not any_place and placed[i : i + 1] != [name]
        own = _default(found[names.index(name)].default)
        if moved or (default and OTHER not in (default, own) and default != own):
            different.append(shown)
    return lacking, different


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
    if "--jax" in sys.argv:
        NAMES.write_text(jax_names())
    elif "--numpy" in sys.argv:
        NUMPY_NAMES.write_text(numpy_names())
    else:
        PAGE.write_text(page())
