"""Write docs/reference/laws.md: every law of the passes, with an example before and after.

python -m tests.laws
"""

import re
import sys
from pathlib import Path

import passes
from passes.fast_math import FLAGS
from passes.verdicts import described

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests/passes"))  # the modules of tests are not a package

from law_examples import ALL, examples  # noqa: E402

HEADINGS = {
    "algebra": "Identities",
    "ranges": "What ranges decide",
    "integers": "Sums, products, quotients, shifts",
    "logic": "Logic, comparisons, selections",
    "extremes": "Maxima, minima, clamps",
    "complexes": "Complex numbers",
    "constants": "Constants",
    "casts": "Conversions",
    "shapes": "Operations that only move elements",
    "slices": "Slices",
    "layouts": "Broadcasts, transposes, reshapes, reversals",
    "joins": "Concatenations, pads, batches",
    "stacks": "Stacks",
    "updates": "Updates",
    "gathers": "Gathers",
    "scatters": "Scatters",
    "iotas": "Counted numbers",
    "reductions": "Reductions",
    "products": "Products",
    "convolutions": "Convolutions",
    "windows": "Windows",
    "control_flow": "Control flow",
    "fast_math": "Laws of `fast_math`",
}
TOP = """# Laws

Every law that [the passes](../explanation/passes.md) apply, with an example: what a program was, and what the law alone
makes of it. `python -m tests.laws` writes this page from the laws and from `tests/passes/laws`, and the tests check
that each example keeps its results.

What is said to be *proven* [holds for all values](../explanation/proofs.md): `python -m tests.proving` has a solver
show it, for arrays of the shapes of the examples, in each width of numbers in which the law fires; what is *proven for
all sizes*, for all shapes of up to so many axes. What is *proven in part* has examples or widths of which the solver
knows no answer. The others are tested.

Laws are exact unless their heading says what they assume: the bits of every result stay, for every input, except where
StableHLO itself leaves the order of a sum open. A few run only for some targets, by the names of `python -m passes
--laws`, or for `reproducible` programs, which have the [same bits on all processors](../how-to/same-bits.md). Those
that are not exact run where `fast_math` grants all their assumptions:

| Assumption | |
|---|---|
"""


def page():
    """The text of the page."""
    shown = {}
    for example in examples():
        if example.leaves is not None:
            shown.setdefault(example.law, example)
    parts = [TOP + "".join(f"| `{name}` | {meaning} |\n" for name, meaning in FLAGS.items())]
    for family, heading in HEADINGS.items():
        parts.append(f"## {heading}\n")
        parts += [_section(law, shown[law]) for law in ALL if shown[law].family == family]
    return "\n".join(parts)


def _section(law, example):
    before, module = example.module(), example.module()
    passes.apply(module, [law])
    assumed = ", ".join(f"`{name}`" for name in FLAGS if name in law.assumes)
    assumes = f" (assumes {'all' if len(law.assumes) == len(FLAGS) else assumed})" if assumed else ""
    if law.targets:
        assumes += f" (for {', '.join(f'`{name}`' for name in sorted(law.targets))})"
    word = described(law)
    known = "" if word in ("", "tested") else f" *{word.capitalize()}.*"
    return (
        f"### `{law.name}`{assumes}\n\n{law.doc}{known}\n\n```mlir\n{_body(before)}```\n\n```mlir\n{_body(module)}```\n"
    )


def _body(module):
    """The operations of a module's only function, without its frame."""
    lines = module.operation.get_asm().splitlines()[2:-2]
    return re.sub(r"^    ", "", "\n".join(lines), flags=re.MULTILINE) + "\n"


if __name__ == "__main__":
    (ROOT / "docs/reference/laws.md").write_text(page())
