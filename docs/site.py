"""What `mkdocs build` adds to the pages in this folder.

The reference from docstrings, the files at the top of the repository, the examples with their plots, and a network
that runs in the first page. MkDocs calls the functions, and mkdocstrings the extension.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import griffe
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))
import notebooks

ROOT = Path(__file__).parents[1]
TOP = {
    "README.md": "readme.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}
MODULES = """
    stagec stagec.numpy stagec.numpy.linalg stagec.numpy.fft stagec.lax stagec.lax.linalg stagec.nn
    stagec.nn.initializers stagec.random stagec.tree stagec.tree_util stagec.scipy.special stagec.scipy.linalg
    stagec.scipy.fft stagec.scipy.signal stagec.scipy.ndimage stagec.scipy.interpolate stagec.scipy.integrate
    stagec.scipy.optimize stagec.scipy.stats stagec.scipy.cluster.vq stagec.scipy.sparse.linalg stagec.debug
    stagec.image stagec.ops stagec.dlpack stagec.flatten_util stagec.test_util stagec.experimental
    stagec.custom_batching stagec.custom_derivatives passes passes.match passes.build
""".split()
# An example in a docstring: lines with prompts, and what follows them up to an empty line.
_SESSION = re.compile(r"^( *)>>> .*(?:\n(?! *$).+)*", re.MULTILINE)
# The start of a block of code: options for the tests follow the language, and a prompt begins a session.
_FENCE = re.compile(r"^( *)```(python|c|cpp|js|rust|toml)\b([^\n]*)\n(?= *(>>> )?)", re.MULTILINE)
# What stands between the comments is in columns. Other comments end with the same word.
_COLUMNS = re.compile(r"<!-- begin (\w+) -->(.*?)<!-- end -->", re.DOTALL)
_FILE = re.compile(r"file=(\S+)")
# A statement of several lines that another one follows at once: a terminal needs an empty line between them.
_JOINED = re.compile(r"^( *)(\.\.\. .*\n)(?=\1>>> )", re.MULTILINE)
_DIGITS = 'Draw in the black square:\n\n<iframe class="digits" src="digits.html" title="Draw a digit"></iframe>'
_LINK = re.compile(r"(!?)\[([^\]]+)\]\(([^)#\s:]+)(#[^)\s]*)?\)")


class Fenced(griffe.Extension):
    """Examples in docstrings as blocks of code."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = _SESSION.sub(_fence, obj.docstring.value)


def _fence(session: re.Match[str]) -> str:
    indent = session[1]
    return f"\n{indent}```pycon\n{_pasted(session[0])}\n{indent}```\n"


def _pasted(text: str) -> str:
    """Sessions as they can be pasted into a terminal."""
    return _JOINED.sub(r"\1\2\n", text)


# Entries that open onto pages which are generated.
_UNDER: dict[str, Any] = {
    "reference/numpy.md": [
        {"By name": "reference/numpy.md"},
        {"By module": "reference/api/index.md"},
        *[{m: f"reference/api/{m}.md"} for m in MODULES],
    ],
}
_HEADING = re.compile(r"(##+) (.+)")
_ENTRY = re.compile(r"- \[([^\]]+)\]\(([^)#]+)\)")


def on_config(config: Any) -> Any:
    """The order of the pages: that of the list of all pages, whose headings are the site's sections."""
    config.nav = nav = [{"stagec": "index.md"}]
    inside: list[list[Any]] = []
    for line in (ROOT / "docs/pages.md").read_text("utf-8").splitlines():
        if heading := _HEADING.fullmatch(line):
            del inside[len(heading[1]) - 2 :]
            inside.append([])
            (inside[-2] if len(inside) > 1 else nav).append({heading[2]: inside[-1]})
        elif inside and (entry := _ENTRY.match(line)):
            place = _place(entry[2], Path("docs"))
            inside[-1].append({entry[1].replace("`", ""): _UNDER.get(place, place)})
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are not in this folder."""
    pages = {target: (ROOT / source).read_text("utf-8") for source, target in TOP.items()}
    pages["examples/index.md"] = (ROOT / "examples/README.md").read_text("utf-8")
    pages["reference/api/index.md"] = "# Modules\n\n" + "".join(f"- [`{m}`]({m}.md)\n" for m in MODULES)
    pages.update({f"reference/api/{module}.md": _module(module) for module in MODULES})
    made, gallery = Path(tempfile.mkdtemp()), ""
    for path in sorted((ROOT / "examples").glob("*.py")):
        text, plot = path.read_text("utf-8"), made / f"{path.stem}.png"
        shown = ""
        if "plot=" in text and os.environ.get("STAGEC_SITE_PLOTS") != "0" and _made(path, plot, "--plot"):
            files.append(File.generated(config, f"examples/{plot.name}", abs_src_path=str(plot)))
            shown = f"![What {path.name} draws]({plot.name})\n\n"
            about = (ast.get_docstring(ast.parse(text)) or "").partition("\n\n")[0].replace("\n", " ")
            gallery += f"- [{path.name}]({path.name}): {about}\n\n    {shown}"
        pages[f"examples/{path.stem}.md"] = f"# {path.name}\n\n{shown}```python\n{text}```\n"
    if _made(ROOT / "examples/digits_page.py", digits := made / "digits.html"):
        files.append(File.generated(config, digits.name, abs_src_path=str(digits)))
        gallery += '- [digits_page.py](digits_page.py): <a href="../digits.html">draw a digit</a>\n\n'
    if gallery:
        head, first, rest = pages["examples/index.md"].partition("\n## ")
        gallery = f"\n<!-- begin doors -->\n\n{gallery}<!-- end -->\n"
        pages["examples/index.md"] = head + gallery + first + rest
    for notebook in notebooks.write(made):
        files.append(File.generated(config, f"tutorial/{notebook.name}", abs_src_path=str(notebook)))
    for target, text in pages.items():
        files.append(File.generated(config, target, content=text))
    return files


def _module(name: str) -> str:
    module = importlib.import_module(name)
    # A function is hidden by a module of its name: it is shown where it is written.
    folders = [Path(folder) for folder in getattr(module, "__path__", ())]
    hidden = [n for n in dir(module) if not n.startswith("_") and any((f / f"{n}.py").exists() for f in folders)]
    places = [f"{_home(getattr(module, n))}.{n}" for n in hidden if inspect.isfunction(getattr(module, n))]
    options = "\n    options: {show_root_heading: true, show_root_full_path: false, heading_level: 2}\n"
    return f"# `{name}`\n\n::: {name}\n" + "".join(f"\n::: {place}{options}" for place in places)


def _home(function: Any) -> str:
    """The module that has a function's source; `__module__` is the one that publishes it."""
    return str(inspect.unwrap(function).__globals__["__name__"])


def _made(path: Path, output: Path, *options: str) -> bool:
    """Whether an example has run and written a file; the build says why it has not, and goes on."""
    done = subprocess.run([sys.executable, path, *options, output], capture_output=True, text=True)
    if done.returncode:
        print(f"{path.name} is left out:", *done.stderr.strip().splitlines()[-1:], file=sys.stderr)
    return output.exists()


def on_page_markdown(markdown: str, page: Any, files: Files, **_: Any) -> str:
    """Let links that leave this folder lead to the pages that stand for their targets, and name the languages.

    Comments mark what looks different on the site: the columns of a page, and the place of the network.
    """
    if page.file.src_uri == "index.md":
        page.meta["hide"] = ["navigation", "toc"]
        markdown = markdown.replace("<!-- digits -->", _DIGITS if files.get_file_from_path("digits.html") else "")
    # The search puts pages for users before those that have the same words for other reasons.
    page.meta["search"] = {"boost": 4 if page.file.src_uri.startswith(("coming-from", "how-to", "tutorial")) else 1}
    notebook = f"{page.file.src_uri.removesuffix('.md')}.ipynb"
    if files.get_file_from_path(notebook):
        markdown += f"\n\n[This page as a notebook]({Path(notebook).name})\n"
    if "<!-- begin code -->" in markdown:
        page.meta["hide"] = ["toc"]  # room for two columns
    markdown = _COLUMNS.sub(r'<div class="grid \1" markdown>\2</div>', markdown)
    markdown = _FENCE.sub(_opened, _pasted(markdown))
    depth = page.file.src_uri.count("/")
    sources = {**{target: Path() for target in TOP.values()}, "examples/index.md": Path("examples")}
    folder = sources.get(page.file.src_uri)

    def link(found: re.Match[str]) -> str:
        if folder is None and not found[3].startswith("../"):
            return found[0]
        place = _place(found[3], folder or Path("docs") / Path(page.file.src_uri).parent)
        if not place:
            return found[0] if found[1] else found[2]
        return f"{found[1]}[{found[2]}]({'../' * depth}{place}{found[4] or ''})"

    return _LINK.sub(link, markdown)


def _opened(fence: re.Match[str]) -> str:
    """The start of a block, with the name of the file that its code is for."""
    file = _FILE.search(fence[3])
    title = f' title="{file[1]}"' if file else ""
    return f"{fence[1]}```{'pycon' if fence[4] else fence[2]}{title}\n"


def _place(written: str, folder: Path) -> str:
    """The page that stands for a file of the repository, which a page in a folder links; empty if there is none."""
    target = (ROOT / folder / written).resolve()
    name = target.relative_to(ROOT).as_posix() if target.is_relative_to(ROOT) else ""
    if name.startswith("docs"):
        place = name.removeprefix("docs").strip("/") or "index.md"
        return f"{place}/index.md" if target.is_dir() else place
    if name in ("examples", "examples/README.md"):
        return "examples/index.md"
    if name.startswith("examples/") and name.endswith(".py"):
        return name.removesuffix(".py") + ".md"
    return TOP.get(name, "")
