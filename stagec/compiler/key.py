"""The key of a compiled program: what it depends on besides the program itself, and a digest."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping

import numpy as np


def digest(contributors: Mapping[str, str]) -> str:
    """The cache key of a set of named contributors.

    Args:
      contributors: what the compiled program depends on, by name. The order does not matter.

    Returns:
      A SHA-256 in lower-case hexadecimal.

    Raises:
      TypeError: a name or a value is not a string.

    >>> from stagec.compiler.key import digest
    >>> digest({"a": "1", "b": "2"}) == digest({"b": "2", "a": "1"})
    True
    >>> digest({"a": "12"}) == digest({"a": "1", "2": ""})
    False
    """
    for name, value in contributors.items():
        if type(name) is not str or type(value) is not str:
            raise TypeError(f"a contributor to a cache key is a pair of strings, not {name!r}: {value!r}")
    return hashlib.sha256(json.dumps(dict(contributors), sort_keys=True).encode("ascii")).hexdigest()


@functools.cache
def source_fingerprint() -> str:
    """A digest of the sources of `stagec` and `passes`, computed once per process.

    A program that another version of these sources compiled must not be found.
    Only the command line is left out: every other module can affect the
    generated code or the metadata stored with it. If the sources cannot be read,
    the value is random, so that nothing stale is found.

    >>> from stagec.compiler.key import source_fingerprint
    >>> len(source_fingerprint())
    64
    """
    stagec = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    spec = importlib.util.find_spec("passes")
    passes = list(spec.submodule_search_locations or ()) if spec is not None else []
    return _fingerprint([stagec, *passes])


def _fingerprint(folders: list[str]) -> str:
    total = hashlib.sha256()
    try:
        for folder in folders:
            files = sorted(_sources(folder, ""))
            if not files:
                raise FileNotFoundError(folder)
            for name, path in files:
                fd = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
                try:
                    text = os.read(fd, os.fstat(fd).st_size)
                finally:
                    os.close(fd)
                total.update(f"{name}\0{len(text)}\0".encode("utf-8", "surrogateescape"))
                total.update(text)
    except OSError:
        return os.urandom(32).hex()
    return total.hexdigest()


_LEFT_OUT = ("__pycache__", "commands")


def _sources(folder: str, prefix: str) -> Iterator[tuple[str, str]]:
    with os.scandir(folder) as items:
        for item in items:
            name = prefix + item.name
            if item.name.endswith((".py", ".pyc")):  # a .pyc outside __pycache__ is a module without its source
                if name not in ("cli.py", "__main__.py"):
                    yield name, item.path
            elif item.name.isidentifier() and item.name not in _LEFT_OUT and item.is_dir():
                yield from _sources(item.path, name + "/")


def environment_contributors() -> dict[str, str]:
    """What every compiled program depends on: the versions of stagec, of the compiler, of llvmlite, which generates
    code, and of NumPy, which folds constants.

    The compiler is not imported. The target and the options are not here,
    because they differ between the programs of one process.

    >>> from stagec.compiler.key import environment_contributors
    >>> sorted(environment_contributors())
    ['iree-base-compiler', 'iree-base-runtime', 'llvmlite', 'numpy', 'stagec', 'stagec source']
    """
    return dict(_environment())


@functools.cache
def _environment() -> dict[str, str]:
    return {
        "stagec": str(getattr(sys.modules.get("stagec"), "__version__", "unknown")),
        "stagec source": source_fingerprint(),
        "iree-base-compiler": _iree_version("compiler", "iree-base-compiler"),
        "iree-base-runtime": _iree_version("_runtime_libs", "iree-base-runtime"),
        "llvmlite": _version_in("llvmlite", "_version.py", r"^version_version\s*=\s*'(.+?)'"),
        "numpy": np.__version__,
    }


def installed_versions() -> dict[str, str]:
    """The versions of stagec, of the compiler, of its runtime and of NumPy, as pip and `stagec --version` name them.

    A commit may follow the version: the packages of IREE have more than one of the same version.

    >>> from stagec.compiler.key import installed_versions
    >>> sorted(installed_versions())
    ['iree-base-compiler', 'iree-base-runtime', 'numpy', 'stagec']
    """
    from importlib import metadata

    found = {name: version for name, version in _environment().items() if name not in ("stagec source", "llvmlite")}
    for name in ("iree-base-compiler", "iree-base-runtime"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = " ".join([metadata.version(name), *found[name].split()[1:]])
    return found


def _iree_version(package: str, distribution: str) -> str:
    """Version and commit from the package's own `version.py`, which is read, not imported.

    `importlib.metadata` takes 13 ms to import, more than the rest of a key.
    """
    # find_spec("iree.compiler") imports `iree` only, a namespace package with no code.
    if importlib.util.find_spec("iree") is not None:
        version = _version_in(f"iree.{package}", "version.py", r"^VERSION\s*=\s*[\"'](.+?)[\"']")
        commit = _version_in(f"iree.{package}", "version.py", r"[\"']IREE[\"']\s*:\s*[\"']([0-9a-f]+)[\"']")
        if version:
            return " ".join(filter(None, (version, commit)))
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"


def _version_in(package: str, name: str, pattern: str) -> str:
    """The first group of a pattern in a file of a package, which is not imported; empty if it is not found."""
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        try:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                found = re.search(pattern, file.read(), re.MULTILINE)
        except (OSError, UnicodeDecodeError):
            continue
        if found:
            return found[1]
    return ""
