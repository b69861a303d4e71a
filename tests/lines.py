"""Counts the lines of code of each folder: `python -m tests.lines [folder ...]`, by default of stagec and passes.

A line counts if it has a token of code: docstrings, comments and blank lines do not.
"""

from __future__ import annotations

import argparse
import ast
import pathlib
import tokenize

ROOT = pathlib.Path(__file__).resolve().parents[1]
_NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def code_lines(path: pathlib.Path) -> int:
    """The lines of code of a file."""
    with tokenize.open(path) as file:
        text = file.read()
    with open(path, "rb") as file:
        tokens = [t for t in tokenize.tokenize(file.readline) if t.type not in _NOT_CODE]
    lines = {line for t in tokens for line in range(t.start[0], t.end[0] + 1)}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(
            node, clean=False
        ):
            first = node.body[0]
            lines -= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return len(lines)


def rooms(folder: pathlib.Path) -> dict[str, tuple[int, int]]:
    """The files and the lines of code of each folder in a folder; its own files are those of "."."""
    found: dict[str, tuple[int, int]] = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).parts
        name = parts[0] if len(parts) > 1 else "."
        files, lines = found.get(name, (0, 0))
        found[name] = files + 1, lines + code_lines(path)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.lines", description=__doc__)
    parser.add_argument("folders", nargs="*", default=["stagec", "passes"])
    files = lines = 0
    for folder in parser.parse_args().folders:
        for name, (some, code) in sorted(rooms(ROOT / folder).items(), key=lambda row: -row[1][1]):
            print(f"{folder}/{name:20} {some:4} files {code:6} lines")
            files, lines = files + some, lines + code
    print(f"{'in all':27} {files:4} files {lines:6} lines")


if __name__ == "__main__":
    main()
