"""The examples of laws in `laws/*.mlir`, and arguments for them.

A function is named after the law that it shows; what follows two underscores tells several examples of one law apart.
The comment above it says which ops `simplify` leaves, or `keeps` for a program that looks like one for a law, and of
which every op must stay.
"""

import dataclasses
import functools
import re
from pathlib import Path

import numpy as np
from pass_helpers import parse

from passes import PassOptions
from passes.fusion.dots import TRANSPOSES
from passes.match import dtype_of, shape_of
from passes.simplify import LAWS

FOLDER = Path(__file__).parent / "laws"
ALL = (*LAWS, *TRANSPOSES)
_EXAMPLE = re.compile(r"^// (leaves [^\n]*|keeps)\n(func\.func @(\w+)\(.*?\n\}\n)", re.MULTILINE | re.DOTALL)
SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.5, -2.5, 1e-40, 3e38, 7.0, -1.0, 2.0, 0.5, 123.25, -8.0])


@dataclasses.dataclass(frozen=True)
class Example:
    """One function of MLIR text; `leaves` is None if every op must stay."""

    family: str
    name: str
    text: str
    leaves: tuple[str, ...] | None

    @property
    def law(self):
        """The law that it shows; of several of one name, the first with the assumptions of the family."""
        name = self.name.partition("__")[0]
        return next(law for law in ALL if law.name == name and law.exact == (self.family != "fast_math"))

    @property
    def options(self):
        """`fast_math` and the target for laws that need it."""
        targets = self.law.targets if self.leaves is not None else frozenset()
        reproducible = "reproducible" in targets
        laws = min(targets - {"reproducible"}, default="cpu")
        return PassOptions(fast_math=self.family == "fast_math", laws=laws, reproducible=reproducible)

    @property
    def main(self):
        """The text with the function as `@main`."""
        return self.text.replace(f"@{self.name}(", "@main(")

    def module(self):
        """A new module of it."""
        return parse(self.main)


@functools.cache
def examples():
    """All of them, in the order of the files."""
    found = []
    for path in sorted(FOLDER.glob("*.mlir")):
        for comment, text, name in _EXAMPLE.findall(path.read_text()):
            ops = re.findall(r"\w+", comment.removeprefix("leaves")) if comment != "keeps" else None
            leaves = None if ops is None else tuple(op for op in ops if op != "nothing")
            found.append(Example(path.stem, name, text, leaves))
    return found


def sample_arguments(module, seed=0):
    """Arrays for the arguments of a module's function, of numbers at the edges of their types."""
    block = module.body.operations[0].operation.regions[0].blocks[0]
    rng = np.random.default_rng(seed)
    return [_sample(rng, shape_of(value), dtype_of(value)) for value in block.arguments]


def _sample(rng, shape, dtype):
    if dtype.kind in "fV":
        with np.errstate(all="ignore"):
            return rng.choice(SPECIAL, shape).astype(dtype)
    if dtype.kind == "c":
        z = np.empty(shape, dtype)
        z.real, z.imag = rng.choice(SPECIAL, shape), rng.choice(SPECIAL, shape)
        return z
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    info = np.iinfo(dtype)
    return rng.choice([info.min, info.max, 0, 1, 2, 3], shape).astype(dtype)
