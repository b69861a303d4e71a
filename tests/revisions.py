"""Copies of the repository at some revision."""

from __future__ import annotations

import contextlib
import pathlib
import subprocess
import tempfile
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[1]


@contextlib.contextmanager
def checked_out(revision: str = "HEAD") -> Iterator[pathlib.Path]:
    """A folder with the repository as it is at a revision, until the block ends."""
    with tempfile.TemporaryDirectory(prefix="stagec-") as parent:
        folder = pathlib.Path(parent, "stagec")
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(folder), revision], cwd=ROOT, check=True)
        try:
            yield folder
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(folder)], cwd=ROOT, check=True)
