"""The tutorial as notebooks: `python docs/notebooks.py FOLDER` writes one for each page of docs/tutorial.

Cells hold the code of the page, without prompts. Their outputs are those that the page shows, which the tests compare
with what the code prints; where nbclient and a kernel are installed, the notebooks are run instead.
"""

from __future__ import annotations

import ast
import doctest
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TUTORIAL = Path(__file__).parent / "tutorial"
_BLOCK = re.compile(r"^```python([^\n]*)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
# Links to other pages: a notebook is read without them.
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]+\)")
_FILE = re.compile(r"file=(\S+)")


def notebook(page: str) -> dict[str, Any]:
    """A page in the format of notebooks (nbformat 4.5), as JSON.

    Args:
      page: Markdown with blocks of Python.
    """
    cells: list[dict[str, Any]] = []
    end = 0
    for block in _BLOCK.finditer(page):
        cells += _text(page[end : block.start()])
        cells += _session(block[2]) if ">>>" in block[2] else [_code(_written(block[1]) + block[2])]
        end = block.end()
    cells += _text(page[end:])
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    python = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": python, "language_info": {"name": "python"}}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}


def _text(text: str) -> list[dict[str, Any]]:
    text = _LINK.sub(r"\1", text).strip()
    return [{"cell_type": "markdown", "metadata": {}, "source": text}] if text else []


def _code(source: str, outputs: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    made = {"cell_type": "code", "metadata": {}, "execution_count": None}
    return {**made, "source": source.strip("\n"), "outputs": outputs or []}


def _written(options: str) -> str:
    """The magic that writes a cell to a file, for a block that is one."""
    found = _FILE.search(options)
    return f"%%writefile {found[1]}\n" if found else ""


def _session(text: str) -> Iterator[dict[str, Any]]:
    """A cell for each output of a session, and one for what follows the last."""
    source = ""
    for example in doctest.DocTestParser().get_examples(text):
        source += example.source
        if example.exc_msg is not None:
            yield {**_code(source, [_error(example.exc_msg)]), "metadata": {"tags": ["raises-exception"]}}
        elif example.want:
            yield _code(source, _outputs(example))
        if example.want:
            source = ""
    if source:
        yield _code(source)


def _error(text: str) -> dict[str, Any]:
    kind, _, message = text.strip("\n").partition(": ")
    return {"output_type": "error", "ename": kind, "evalue": message, "traceback": text.strip("\n").splitlines()}


def _outputs(example: doctest.Example) -> list[dict[str, Any]]:
    """What an example shows: the value of its last expression, or what it prints."""
    last = ast.parse(example.source).body[-1]
    text = example.want.rstrip("\n").replace("<BLANKLINE>", "")
    if isinstance(last, ast.Expr) and not ast.unparse(last).startswith("print("):
        return [
            {"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": {"text/plain": text}}
        ]
    return [{"output_type": "stream", "name": "stdout", "text": text + "\n"}]


def executed(made: dict[str, Any], folder: str) -> dict[str, Any]:
    """A notebook with the outputs of a run in a folder, or as it is where nbclient or its kernel is not installed.

    Raises:
      CellExecutionError: a cell raises, and is not one that shows an error.
    """
    try:
        import ipykernel  # noqa: F401
        import nbclient
        import nbformat
    except ImportError:
        return made
    read = nbformat.from_dict(made)
    nbclient.NotebookClient(read, timeout=600, resources={"metadata": {"path": folder}}).execute()
    return json.loads(nbformat.writes(read))


def write(folder: Path, run_in: str = "") -> list[Path]:
    """Write the notebooks of the tutorial, after a run in the folder `run_in` if one is given; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for page in sorted(TUTORIAL.glob("*.md")):
        made = notebook(page.read_text("utf-8"))
        paths.append(folder / f"{page.stem}.ipynb")
        text = json.dumps(executed(made, run_in) if run_in else made, indent=1, ensure_ascii=False)
        paths[-1].write_text(text + "\n", "utf-8")
    return paths


if __name__ == "__main__":
    write(Path(sys.argv[1]), *sys.argv[2:])
