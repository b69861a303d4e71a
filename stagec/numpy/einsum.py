"""Einstein sums, as a sequence of general products."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.dims_values import typical
from stagec.core.trace import operand_rows
from stagec.numpy.arguments import array_argument, refuse_out, requested_dtype
from stagec.numpy.diagonals import diagonal
from stagec.numpy.manipulation import moveaxis
from stagec.numpy.promotion import promote_dtypes
from stagec.primitives.convert import convert_element_type
from stagec.primitives.dot import dot_general, matched_dtypes
from stagec.primitives.precision import PrecisionLike
from stagec.primitives.shape import squeeze, transpose
from stagec.typing import ArrayLike, DTypeLike

__all__ = ["einsum", "einsum_path"]

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _error(text: str, fix: str, operands: Sequence[Any] = ()) -> errors.ShapeError:
    return location.error(errors.ShapeError, f"einsum: {text}", operand_rows(operands), fix)


def _from_lists(operands: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """Convert the arguments of `einsum(x, [0, 1], y, [1, 2], [0, 2])` to subscripts and operands."""
    pairs = list(zip(operands[::2], operands[1::2]))
    lists = [labels for _, labels in pairs] + [operands[-1]] * (len(operands) % 2)
    texts = [labels for labels in operands if isinstance(labels, str)]
    if texts:
        fix = "write the subscripts first, as in einsum('ij,jk->ik', a, b)"
        raise _error(f"the subscripts {texts[0]!r} follow an operand", fix)
    try:
        known = sorted({label for labels in lists for label in labels if label is not Ellipsis})
    except TypeError:
        fix = "label axes with numbers, or with names"
        raise _error(
            f"the labels {errors.brief(lists)} cannot be sorted, which gives the result its order", fix
        ) from None
    letters = {**dict(zip(known, sorted(_LETTERS))), Ellipsis: "..."}
    terms = ["".join([letters[label] for label in labels]) for labels in lists]
    return ",".join(terms[: len(pairs)]) + "->".join(["", *terms[len(pairs) :]]), [x for x, _ in pairs]


def _parse(subscripts: str, operands: Sequence[Any]) -> tuple[list[str], str]:
    """Return the labels of each operand and of the result; labels replace ellipses."""
    spec = subscripts.replace(" ", "")
    ranks = [x.ndim for x in operands]
    inputs_text, arrow, output = spec.partition("->")
    inputs = inputs_text.split(",")
    if len(inputs) != len(ranks):
        raise _error(
            f"{subscripts!r} names {len(inputs)} operands, got {len(ranks)}",
            "write one term for each operand, with commas between",
            operands,
        )
    if set(inputs_text + output) & set("->"):
        raise _error(f"{subscripts!r} has no single arrow", "write it once, before the labels of the result", operands)
    unused = [c for c in _LETTERS if c not in spec]
    widths = [rank - len(term.replace("...", "")) if "..." in term else 0 for term, rank in zip(inputs, ranks)]
    ellipsis = "".join(unused[: max([0, *widths])])
    terms = []
    for term, rank, width in zip(inputs, ranks, widths):
        if width < 0:
            raise _error(
                f"{term!r} has more labels than an operand of rank {rank}", "use one label for each axis", operands
            )
        term = term.replace("...", ellipsis[len(ellipsis) - width :])
        if len(term) != rank or "." in term:
            raise _error(f"{term!r} does not fit an operand of rank {rank}", "use one label for each axis", operands)
        terms.append(term)
    if arrow:
        result = output.replace("...", ellipsis)
    else:
        joined = "".join(terms)
        result = ellipsis + "".join(sorted(c for c in set(joined) - set(ellipsis) if joined.count(c) == 1))
    for c in result:
        if result.count(c) > 1 or not any(c in t for t in terms):
            raise _error(
                f"label {c!r} of the result {result!r} is repeated or not in any operand",
                "name each label of the result once, and only labels of operands",
                operands,
            )
    return terms, result


def _sum_out(x: Array, term: str, drop: str) -> tuple[Any, str]:
    axes = tuple(i for i, c in enumerate(term) if c in drop)
    if axes:
        x = x.any(axes) if x.dtype == dtypes.bool_ else x.sum(axes, dtype=x.dtype)
    return x, "".join(c for c in term if c not in drop)


def _prepared(x: Array, term: str, needed: set[str], sizes: dict[str, int]) -> tuple[Any, str]:
    """Take diagonals of repeated labels, drop axes that broadcast, and sum axes whose labels are not `needed`."""
    for c in dict.fromkeys(term):
        while term.count(c) > 1:
            first = term.index(c)
            second = term.index(c, first + 1)
            x = moveaxis(diagonal(x, 0, first, second), -1, 0)
            term = c + "".join(d for i, d in enumerate(term) if i not in (first, second))
    broadcast = tuple(i for i, c in enumerate(term) if x.shape[i] == 1 and sizes[c] != 1)
    if broadcast:
        x = squeeze(x, broadcast)
        term = "".join(c for i, c in enumerate(term) if i not in broadcast)
    return _sum_out(x, term, "".join(c for c in term if c not in needed))


def _product(
    x: Any, x_term: str, y: Any, y_term: str, keep: set[str], dot: Callable[[Any, Any, Any], Any]
) -> tuple[Any, str]:
    x, x_term = _sum_out(x, x_term, "".join(c for c in x_term if c not in keep and c not in y_term))
    y, y_term = _sum_out(y, y_term, "".join(c for c in y_term if c not in keep and c not in x_term))
    batch = [c for c in x_term if c in y_term and c in keep]
    contracted = [c for c in x_term if c in y_term and c not in keep]
    numbers = tuple(
        (tuple(x_term.index(c) for c in group), tuple(y_term.index(c) for c in group)) for group in (contracted, batch)
    )
    out = dot(x, y, numbers)
    free = [c for c in x_term if c not in batch and c not in contracted]
    free += [c for c in y_term if c not in batch and c not in contracted]
    return out, "".join(batch + free)


def _path(terms: list[str], result: str, sizes: dict[str, int], optimize: Any) -> list[tuple[int, ...]]:
    if len(terms) <= 2:
        return [tuple(range(len(terms)))]
    if isinstance(optimize, (list, tuple)):
        return [tuple(step) for step in optimize if not isinstance(step, str)]
    if optimize is False:
        return [(0, 1)] * (len(terms) - 1)
    from opt_einsum import contract_path  # only three operands and more need it

    shapes = [tuple(typical(sizes[c]) for c in term) for term in terms]
    strategy = "optimal" if optimize is True else optimize
    path, _ = contract_path(f"{','.join(terms)}->{result}", *shapes, shapes=True, optimize=strategy)
    return [tuple(step) for step in path]


def einsum(
    subscripts: str | ArrayLike | Sequence[ArrayLike],
    /,
    *operands: ArrayLike | Sequence[Any],
    out: None = None,
    optimize: str | bool | Sequence[Any] = "auto",
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike = None,
    _dot_general: Callable[..., Any] = dot_general,
) -> Array:
    """Sum products of elements whose axes carry the same labels.

    Args:
      subscripts: such as `"ij,jk->ik"`; an ellipsis stands for further axes.
        NumPy's form with lists of numbers, or names, after each operand works too.
      operands: arrays.
      out: must be `None`.
      optimize: the order of contractions for three operands and more: a
        strategy of `opt_einsum`, a path, or `False` for left to right.
      precision: `"default"`, `"high"` or `"highest"`.
      preferred_element_type: dtype of the result.

    Raises:
      ShapeError: labels and axes do not match.

    >>> import stagec.numpy as snp
    >>> einsum("ij,jk->ik", snp.ones((2, 3)), snp.ones((3, 4))).shape
    (2, 4)
    """
    refuse_out(out, "einsum")
    if not isinstance(subscripts, str):
        subscripts, listed = _from_lists((subscripts, *operands))
        operands = tuple(listed)
    if not operands:
        raise _error("there are no operands", "pass an array for each term")
    preferred = None if preferred_element_type is None else requested_dtype(preferred_element_type, "einsum")
    arrays = list(promote_dtypes(*matched_dtypes([array_argument(x, "*operands") for x in operands], preferred)))
    if preferred is None and _dot_general is not dot_general:
        preferred = arrays[0].dtype  # as JAX tells such a function
    terms, result = _parse(subscripts, arrays)
    sizes: dict[str, int] = {}
    for x, term in zip(arrays, terms):
        for c, n in zip(term, x.shape):
            if sizes.setdefault(c, n) == 1:
                sizes[c] = n
            elif n not in (1, sizes[c]):
                raise _error(
                    f"label {c!r} of {subscripts!r} has sizes {sizes[c]} and {n}",
                    "use different labels, or slice one operand; axes of one label agree in size or have size 1",
                    arrays,
                )
    for i, (x, term) in enumerate(zip(arrays, terms)):
        others = set(result).union(*[set(t) for j, t in enumerate(terms) if j != i])
        arrays[i], terms[i] = _prepared(x, term, others, sizes)

    def dot(x: Any, y: Any, numbers: Any) -> Any:
        return _dot_general(x, y, numbers, precision, preferred_element_type=preferred)

    for step in _path(terms, result, sizes, optimize):
        chosen = sorted(step, reverse=True)
        taken = [(arrays.pop(i), terms.pop(i)) for i in chosen][::-1]
        x, term = taken[0]
        for k, (y, y_term) in enumerate(taken[1:], 1):
            later = itertools.chain(terms, [t for _, t in taken[k + 1 :]])
            keep = set(result).union(*[set(t) for t in later])
            x, term = _product(x, term, y, y_term, keep, dot)
        arrays.append(x)
        terms.append(term)
    x, term = _sum_out(arrays[0], terms[0], "".join(c for c in terms[0] if c not in result))
    missing = [c for c in result if c not in term]
    assert not missing or all(sizes[c] == 1 for c in missing), "labels of the result survive"
    x = transpose(x, [term.index(c) for c in result])
    return x if preferred is None else convert_element_type(x, preferred)


def einsum_path(
    subscripts: str, /, *operands: ArrayLike, optimize: str | bool | Sequence[Any] = "auto"
) -> tuple[list[Any], Any]:
    """The order of contractions that `einsum` takes, and a report on it, as `opt_einsum` gives them.

    >>> import stagec.numpy as snp
    >>> einsum_path("ij,jk,kl->il", snp.ones((2, 3)), snp.ones((3, 4)), snp.ones((4, 5)))[0]
    [(0, 1), (0, 1)]
    """
    from opt_einsum import contract_path  # einsum itself does without for two operands

    shapes = [tuple(map(typical, np.shape(x))) for x in operands]
    strategy = "optimal" if optimize is True else optimize
    path, report = contract_path(subscripts, *shapes, shapes=True, optimize=strategy)
    return path, report
