"""The records of faults and their workarounds."""

from __future__ import annotations

import enum
import importlib
from dataclasses import dataclass
from typing import Any


class Symptom(enum.Enum):
    """What users would see without the workaround."""

    WRONG = "wrong result"
    CRASH = "crash"
    HANG = "hang"
    REFUSED = "refused"
    SLOW = "slow"


@dataclass(frozen=True)
class Program:
    """A module with a function `main` that shows a fault.

    Attributes:
      text: MLIR.
      inputs: NumPy arrays, the arguments of `main`.
      shows: a part of the message with which the compiler or the runtime refuses the program.
      target: what it is compiled for.
      calls: how often it is called; the last results count.
      flag: the compiler's flag that is the workaround; the fault shows without it.
      flags: flags of the compiler with which the fault shows.
      placed: whether the module has the attribute that places all values on one device, as stagec's modules have.
    """

    text: str
    inputs: tuple[Any, ...] = ()
    shows: str = ""
    target: str = "cpu"
    calls: int = 1
    flag: str = ""
    flags: tuple[str, ...] = ()
    placed: bool = False


@dataclass(frozen=True)
class Script:
    """Python code that shows a fault, run in a new process.

    Attributes:
      text: the program; `GUARDED` in it says whether the workaround is to be applied, and `python -c` runs it in the
        root of the sources. It succeeds with the workaround, and shows the symptom without.
      shows: a part of what it prints without the workaround, where that ends by itself.
    """

    text: str
    shows: str = ""


@dataclass(frozen=True)
class Workaround:
    """A guard against a fault of the compiler, the runtime or a driver.

    Attributes:
      id: its name, in words joined by hyphens.
      backends: where the fault was seen, by the names of `stagec.backends`.
      versions: releases of `iree-base-compiler` and `iree-base-runtime` in which it was seen.
      symptom: what users would see.
      fault: what the compiler, the runtime or a driver does; one sentence.
      guard: what stagec does about it; a sentence whose subject is stagec, left out.
      hooks: the objects that apply the workaround, each as `module:name`.
      upstream: the issue or pull request, or `none found`, with the words that were searched for in issues on GitHub,
        together with `iree-org/iree`.
      shown_by: what shows the fault, or why nothing here can.
    """

    id: str
    backends: tuple[str, ...]
    versions: tuple[str, ...]
    symptom: Symptom
    fault: str
    guard: str
    hooks: tuple[str, ...]
    upstream: str
    shown_by: Program | Script | str

    def hook_objects(self) -> list[Any]:
        """The objects that apply the workaround; `ImportError` or `AttributeError` if one does not exist."""
        return [_found(hook) for hook in self.hooks]


def _found(path: str) -> Any:
    module, _, names = path.partition(":")
    found: Any = importlib.import_module(module)
    for name in names.split("."):
        found = getattr(found, name)
    return found
