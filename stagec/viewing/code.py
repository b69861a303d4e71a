"""The user's lines that the lines of LLVM's IR and of assembly come from."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

Row = tuple[str, tuple[str, ...]]

_DEBUG = re.compile(r",? !dbg !(\d+)")
_NODE = re.compile(r"!(\d+) = (?:distinct )?!(\w+)\((.*)\)")
_FIELD = re.compile(r'(\w+): ("[^"]*"|[^,]+)')
_DEFINED = re.compile(r'define .*?@"?([^"( ]+)"?\(')
_LABEL = re.compile(r'"?([A-Za-z_][\w.$]*)"?:(?:\s|$)')
# Of kernels in PTX, and in SPIR-V as MLIR prints it.
_ENTRY = re.compile(r'\s*(?:(?:\.visible\s+)?\.entry|spirv\.func)\s+@?"?([\w$.]+)')
_FILE = re.compile(r'\s*\.file\s+(\d+)\s+(?:"([^"]*)"\s+)?"([^"]*)"')
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)")
# Directives that say nothing of the code.
_NOISE = re.compile(r"\s*\.(?:cfi_|file|loc|ident|addrsig)")


def of_llvm(text: str, kernels: Mapping[str, Sequence[str]]) -> list[Row]:
    """The rows of LLVM's IR without its metadata, each with the lines (`file:line`) that it comes from.

    Kernels that stagec writes have no lines inside: their rows have those of the kernel's dispatches.

    Args:
      kernels: by the name of each, the lines of its dispatches.
    """
    nodes = {found[1]: (found[2], dict(_FIELD.findall(found[3]))) for found in _NODE.finditer(text)}

    def file_of(reference: str) -> str:
        while reference:
            kind, fields = nodes.get(reference.lstrip("!"), ("", {}))
            if kind == "DIFile":
                return _joined(fields.get("directory", "").strip('"'), fields.get("filename", "").strip('"'))
            reference = fields.get("file") or fields.get("scope", "")
        return ""

    def line_of(number: str) -> str:
        kind, fields = nodes.get(number, ("", {}))
        return f"{file_of(fields.get('scope', ''))}:{fields.get('line', '0')}" if kind == "DILocation" else ""

    rows: list[Row] = []
    whole: tuple[str, ...] = ()
    for row in text.splitlines():
        if row.startswith("!"):
            continue
        defined = _DEFINED.match(row)
        if defined:
            whole = tuple(kernels.get(defined[1], ()))
        found = _DEBUG.search(row)
        rows.append((_DEBUG.sub("", row), _own(line_of(found[1]) if found else "", whole)))
        if row == "}":
            whole = ()
    return rows


def of_assembly(text: str, kernels: Mapping[str, Sequence[str]]) -> list[Row]:
    """The same for assembly, without its directives for debuggers."""
    files: dict[str, str] = {}
    rows: list[Row] = []
    whole: tuple[str, ...] = ()
    line = ""
    for row in text.splitlines():
        if found := _FILE.match(row):
            files[found[1]] = _joined(found[2] or "", found[3])
        elif found := _LOC.match(row):
            line = f"{files.get(found[1], '')}:{found[2]}"
        if _NOISE.match(row):
            continue
        begun = _ENTRY.match(row) or _LABEL.match(row)
        if begun:
            whole, line = tuple(kernels.get(begun[1], ())), ""
        rows.append((row.expandtabs(8), _own(line, whole)))
        if row.lstrip().startswith(".size"):
            whole, line = (), ""
    return rows


def _own(line: str, whole: tuple[str, ...]) -> tuple[str, ...]:
    """The line of a row if it is one of a file, else those of the kernel."""
    file, _, number = line.rpartition(":")
    return (line,) if file.endswith(".py") and number != "0" else whole


def _joined(directory: str, name: str) -> str:
    return name if not directory or os.path.isabs(name) else os.path.join(directory, name)
