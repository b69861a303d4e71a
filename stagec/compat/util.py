"""`jax._src.util`: helpers for sequences that libraries use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from stagec.core.wrapping import wraps

__all__ = ["merge_lists", "partition_list", "safe_map", "safe_zip", "split_list", "unzip2", "unzip3", "wraps"]


def safe_map(f: Callable[..., Any], *args: Iterable[Any]) -> list[Any]:
    """`map` of iterables that have one length, as a list."""
    return [f(*each) for each in safe_zip(*args)]


def safe_zip(*args: Iterable[Any]) -> list[tuple[Any, ...]]:
    """`zip` of iterables that have one length, as a list."""
    return list(zip(*args, strict=True))


def unzip2(xys: Iterable[tuple[Any, Any]]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The first and the second parts of pairs."""
    pairs = list(xys)
    return tuple([x for x, _ in pairs]), tuple([y for _, y in pairs])


def unzip3(xyzs: Iterable[tuple[Any, Any, Any]]) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
    """The first, second and third parts of triples."""
    rows = list(xyzs)
    return tuple([x for x, _, _ in rows]), tuple([y for _, y, _ in rows]), tuple([z for _, _, z in rows])


def split_list(args: Sequence[Any], ns: Sequence[int]) -> list[list[Any]]:
    """Stretches of given lengths, and what remains."""
    ends = [sum(ns[: i + 1]) for i in range(len(ns))]
    return [list(args[start:end]) for start, end in zip([0, *ends], [*ends, None])]


def partition_list(bs: Sequence[bool], l: Sequence[Any]) -> tuple[list[Any], list[Any]]:  # noqa: E741
    """The elements for which the answer is no, and those for which it is yes."""
    pairs = safe_zip(bs, l)
    return [x for b, x in pairs if not b], [x for b, x in pairs if b]


def merge_lists(bs: Sequence[bool], l0: Iterable[Any], l1: Iterable[Any]) -> list[Any]:
    """Undo `partition_list`."""
    no, yes = iter(l0), iter(l1)
    return [next(yes if b else no) for b in bs]
