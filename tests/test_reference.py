"""The reference pages are complete: each lists exactly what the code has."""

import ast
import importlib
import inspect
import pathlib
import re
import types

import pytest

import passes
import stagec
from stagec import errors
from stagec.core import config as options

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


def page(name):
    return (DOCS / name).read_text()


def section(text, heading):
    """The part of a page under a heading of level two."""
    match = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert match, f"the page has no section {heading!r}"
    return match[1]


def rows(text):
    """The cells of the tables of a page, the headings and rules left out."""
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    return [
        row for i, row in enumerate(table) if set(row[0]) - set("-") and table[i + 1 : i + 2] != [["---"] * len(row)]
    ]


def gathered(node):
    """What an import with a star brings."""
    return set(importlib.import_module(node.module).__all__) if node.names[0].name == "*" else set()


def public_names(module):
    """What a module offers: `__all__`, or what it defines, and what it imports with a star or `as` its own.

    Primitives' rows (`sin_p`) and submodules are left out.
    """
    names = set(getattr(module, "__all__", ()))
    if not names:
        for node in ast.parse(inspect.getsource(module)).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                names.add(node.name)
            elif isinstance(node, ast.Assign):
                names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
            elif isinstance(node, ast.ImportFrom):
                names |= gathered(node)
                own = [alias for alias in node.names if alias.asname]
                # `from a import b as b` exports; in a package's own file, so does `from a import b as c`.
                names |= {a.asname for a in own if a.asname == a.name or hasattr(module, "__path__")}
    values = {name: getattr(module, name) for name in names if not name.startswith("_") and not name.endswith("_p")}
    return {name for name, value in values.items() if not isinstance(value, types.ModuleType)}


FUNCTION_MODULES = [
    "stagec.numpy",
    "stagec.numpy.linalg",
    "stagec.lax",
    "stagec.lax.linalg",
    "stagec.nn",
    "stagec.numpy.fft",
    "stagec.scipy.fft",
    "stagec.scipy.linalg",
    "stagec.scipy.special",
    "stagec.scipy.signal",
    "stagec.scipy.ndimage",
    "stagec.scipy.interpolate",
    "stagec.scipy.integrate",
    "stagec.scipy.optimize",
    "stagec.scipy.sparse.linalg",
    "stagec.scipy.cluster.vq",
    "stagec.random",
    "stagec.nn.initializers",
    "stagec.ops",
    "stagec.image",
    "stagec.flatten_util",
    "stagec.experimental.checkify",
    "stagec.experimental.ode",
    "stagec.experimental.sparse",
]


@pytest.mark.parametrize("name", FUNCTION_MODULES)
def test_the_list_of_functions_is_that_of_the_module(name):
    listed = set(re.findall(r"`([A-Za-z]\w*)`", section(page("reference/numpy.md"), f"`{name}`")))
    found = public_names(importlib.import_module(name))
    assert sorted(listed - found) == [], "listed, but not in the module"
    assert sorted(found - listed) == [], "in the module, but not listed"


def test_the_table_of_distributions_is_that_of_the_modules():
    from stagec.scipy import stats

    listed = {row[0].strip("`"): row[1] for row in rows(section(page("reference/numpy.md"), "`stagec.scipy.stats`"))}
    found = {name: sorted(getattr(stats, name).__all__) for name in stats._DISTRIBUTIONS}
    assert {name: re.findall(r"`(\w+)`", text) for name, text in listed.items()} == found


@pytest.mark.parametrize("name", ["stagec.numpy", "stagec.lax", "stagec.nn"])
def test_no_function_is_hidden_by_a_module_of_its_name(name):
    """`from package.spacing import spacing` binds the module, if another import of it comes later."""
    module = importlib.import_module(name)
    imports = [node for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.ImportFrom)]
    names = {a.asname or a.name for node in imports if node.module != name for a in node.names}
    names |= set().union(*map(gathered, imports))
    assert sorted(n for n in names if isinstance(getattr(module, n, None), types.ModuleType)) == []


def test_every_option_is_listed_with_its_variable_and_default():
    listed = {row[0].strip("`"): row[1:] for row in rows(page("reference/config.md"))}
    expected = {
        name: [f"`{variable}`", f"`{default!r}`", "yes" if traced else "no"]
        for name, (variable, _, default, traced) in options._OPTIONS.items()
    }
    assert listed == expected


def test_every_option_is_explained():
    explained = re.findall(r"^- `(\w+)`: ", page("reference/config.md"), re.MULTILINE)
    assert explained == list(options._OPTIONS)


def error_classes():
    yield from ((name, getattr(errors, name)) for name in errors.__all__)
    for name in passes.__all__:
        value = getattr(passes, name)
        if inspect.isclass(value) and issubclass(value, Exception):
            yield f"passes.{name}", value


@pytest.mark.parametrize(("name", "kind"), list(error_classes()), ids=lambda v: v if isinstance(v, str) else "")
def test_every_error_is_listed_with_its_bases_and_docstring(name, kind):
    text = page("reference/errors.md")
    if kind.__name__ != name.removeprefix("passes."):
        assert f"{name} is stagec.errors.{kind.__name__}" in text, "an alias that the page does not show"
        return
    match = re.search(rf"^### `{re.escape(name)}`\n(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL)
    assert match, f"{name} is not on the page"
    bases = ", ".join(f"`{base.__name__}`" for base in kind.__bases__)
    assert match[1].strip() == f"Bases: {bases}.\n\n{inspect.cleandoc(kind.__doc__)}"


def test_no_error_is_listed_that_does_not_exist():
    listed = re.findall(r"^### `([\w.]+)`", page("reference/errors.md"), re.MULTILINE)
    assert sorted(listed) == sorted(name for name, kind in error_classes() if name.split(".")[-1] == kind.__name__)


def test_every_public_name_of_stagec_is_listed():
    text = section(page("reference/index.md"), "`stagec`")
    listed = {name.removeprefix("stagec.") for name in re.findall(r"`([\w.]+)`", "\n".join(r[0] for r in rows(text)))}
    assert listed == set(stagec.__all__)


def test_every_argument_of_jit_is_listed():
    text = section(page("reference/index.md"), "`jit`")
    listed = {name for row in rows(text) for name in re.findall(r"`(\w+)`", row[0])}
    assert set(inspect.signature(stagec.jit).parameters) - {"fun"} <= listed


def test_every_public_name_of_passes_is_listed():
    listed = re.findall(r"`(\w+)[`(]", section(page("reference/index.md"), "`passes`"))
    assert sorted(set(listed)) == sorted(passes.__all__)


def test_the_folders_of_the_architecture_page_exist():
    block = re.search(r"^```text\n(passes/.*?)^```", page("explanation/architecture.md"), re.MULTILINE | re.DOTALL)[1]
    package, listed = "", set()
    for line in block.splitlines():
        path = line.split("  ")[0] if not line.startswith("  ") else line.split()[0]
        if not line.startswith("  "):
            package = path.rstrip("/")
        listed.add(package if not line.startswith("  ") else f"{package}/{path.rstrip('/')}")
    for path in listed:
        assert (ROOT / path).exists(), path
    packages = {
        str(p.parent.relative_to(ROOT))
        for top in ("passes", "stagec")
        for p in (ROOT / top).glob("*/__init__.py")
        if any(f.stat().st_size > 100 for f in p.parent.rglob("*.py"))
    }
    assert sorted(packages - listed) == []


LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")


@pytest.mark.parametrize(
    "path",
    [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "runtime/README.md")), *sorted(DOCS.rglob("*.md"))],
    ids=lambda p: p.name,
)
def test_links_lead_somewhere(path):
    for target, _ in LINK.findall(path.read_text()):
        if "://" not in target:
            assert (path.parent / target).exists(), target


def test_the_list_of_all_pages_links_every_page():
    linked = {(DOCS / target).resolve() for target, _ in LINK.findall(page("pages.md"))}
    pages = {path.resolve() for path in DOCS.rglob("*.md")} - {(DOCS / "index.md").resolve()}
    assert sorted(map(str, pages - linked)) == []


def test_what_is_not_published_is_not_installed_by_name():
    """`pip install stagec` would fetch what somebody else uploads under the name."""
    texts = [
        ROOT / "README.md",
        *(p for top in ("docs", "examples", "stagec", "runtime") for p in (ROOT / top).rglob("*")),
    ]
    for path in texts:
        if path.suffix in (".md", ".py", ".toml") and "stagec_runtime" not in path.parts:
            assert not re.search(r"pip3? install [^\n`]*(?<![/.\w-])stagec\b", path.read_text()), path
