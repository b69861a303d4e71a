"""Whether two programs have the same results for all arguments: a solver looks for arguments that tell them apart."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from bitwuzla import Bitwuzla, Kind, Option, Options, Result

from passes.match import dtype_of, functions
from passes.proving.programs import Program
from passes.proving.terms import Terms, UnsupportedError


class Verdict(NamedTuple):
    """What is known of two programs.

    Attributes:
      word: `proven`, `refuted`, or why neither is known.
      arrays: arguments that tell two programs apart.
    """

    word: str
    arrays: list[np.ndarray[Any, Any]] | None = None


def verdict(before: Any, after: Any, seconds: float) -> Verdict:
    """Whether the functions `main` of two modules have the same results for all arguments, bit for bit.

    Args:
      before, after: modules of StableHLO, whose arguments have few elements.
      seconds: how long the solver may take.
    """
    terms = Terms()
    try:
        program = Program(terms)
        arguments = program.arguments(before)
        old, new = program.results(before, arguments), program.results(after, arguments)
    except UnsupportedError as error:
        return Verdict(f"not described: {error}")
    pairs = {(a, b) for x, y in zip(old, new) for a, b in zip(x.ravel(), y.ravel()) if a is not b}
    different = {terms.do(Kind.NOT, e) for a, b in pairs if not (e := terms.equal(a, b)).is_true()}
    deadline = time.monotonic() + seconds
    for formula in different:
        options = Options()
        options.set(Option.PRODUCE_MODELS, True)
        options.set(Option.TIME_LIMIT_PER, max(1, int(1000 * (deadline - time.monotonic()))))
        solver = Bitwuzla(terms.manager, options)
        for fact in (formula, *terms.facts):
            solver.assert_formula(fact)
        found = solver.check_sat()
        if found == Result.SAT and terms.unknown:
            return Verdict("not known of a function")
        if found == Result.SAT:
            dtypes = [dtype_of(v) for v in functions(before)["main"].regions[0].blocks[0].arguments]
            return Verdict("refuted", [terms.array(solver, x, dtype) for x, dtype in zip(arguments, dtypes)])
        if found != Result.UNSAT or time.monotonic() > deadline:
            return Verdict("no answer in time")
    return Verdict("proven")
