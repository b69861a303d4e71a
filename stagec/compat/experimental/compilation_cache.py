"""`jax.experimental.compilation_cache`: where compiled programs are kept; `stagec.compat` alone has it."""

from __future__ import annotations

import os

from stagec.core.config import config

__all__ = ["reset_cache", "set_cache_dir"]


def set_cache_dir(path: str | os.PathLike[str]) -> None:
    """Keep compiled programs in a folder: the option `cache_dir`."""
    config.update("cache_dir", os.fspath(path))


def reset_cache() -> None:
    """Nothing: each program that is looked for asks where it would be, so a new folder counts at once."""
