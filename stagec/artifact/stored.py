"""Makes functions of an opened file runnable: chooses a variant, supplies weights, or compiles the StableHLO."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from stagec.artifact import manifest, trees
from stagec.artifact.container import Container, refuse
from stagec.artifact.manifest import Signature, Variant, Weight
from stagec.artifact.variants import choose, compiled, describe_device, describe_variant, platform
from stagec.core import dtypes, errors
from stagec.core.aval import ShapedArray
from stagec.core.dims import is_open
from stagec.core.dims_terms import Symbol
from stagec.core.duration import Duration
from stagec.runtime.array import Array
from stagec.runtime.devices import Device, devices, platforms
from stagec.runtime.executable import Executable
from stagec.runtime.packing import packable
from stagec.runtime.placement import target_for
from stagec.runtime.runnable import Runnable


class File:
    """An opened file: what it holds, and the arrays that its functions share.

    Args:
      weights: arrays to use instead of all weights of the file.
    """

    def __init__(self, container: Container, weights: Sequence[Array] | None = None) -> None:
        self.container = container
        self.manifest = manifest.read(container)
        self._given = weights
        self._weights: dict[int, Array] = {}

    def given_weights(self) -> Sequence[Array] | None:
        """The arrays to use instead of the file's weights; None if there are none."""
        return self._given

    def rows(self) -> tuple[Weight, ...]:
        """The manifest's rows of the weights."""
        return self.manifest.weights

    def weight(self, index: int) -> Array:
        """A weight, checked; a large one of a large file in the memory of the file itself."""
        if self._given is not None:
            return self._given[index]
        found = self._weights.get(index)
        if found is None:
            row = self.manifest.weights[index]
            content = self.container.section(cast(int, row.section), f"weight {index}", weight=True)
            made = Array.of(np.frombuffer(content, row.aval.dtype).reshape(row.aval.shape), row.aval)
            found = self._weights.setdefault(index, made)
        return found

    def weights_of(self, signature: Signature) -> list[Array]:
        """The weights that a signature's program takes first."""
        return [self.weight(i) for i in signature.weights]

    def stablehlo(self, name: str, signature: Signature) -> str:
        """A signature's StableHLO, or an empty string where it has no program.

        Raises:
          ArtifactError: it cannot be unpacked.
        """
        text = signature.stablehlo
        if text is None:
            return ""
        packed = self.container.section(text.section, f"the StableHLO of {name}")
        unpacker = zlib.decompressobj()
        try:
            # Limited to one byte more than expected: a small section may expand to gigabytes.
            data = unpacker.decompress(packed, text.length + 1)
            if len(data) == text.length and unpacker.eof and not unpacker.unused_data:
                return data.decode()
        except (zlib.error, UnicodeDecodeError):
            pass
        raise refuse(self.container.path, f"the StableHLO of {name} cannot be unpacked")


def runnable_signature(file: File, name: str, signature: Signature, device: Device) -> StoredProgram:
    """What runs one signature of a file's function on a device.

    Raises:
      ClassMissing: its structure holds a class that is not registered here.
    """
    hidden = len(signature.weights)
    code = StoredCode(file, name, signature, device)
    return Runnable(
        code,
        name=name,
        captured=code.captured,
        donated=tuple(i + hidden for i in signature.donated),
        used=list(signature.used),
        plan=[
            (kind, Array.of(value, ShapedArray.of(value.shape, value.dtype)) if kind == "constant" else value)
            for kind, value in signature.plan
        ],
        in_avals=signature.in_avals,
        out_avals=signature.out_avals,
        trivial=not signature.results,
    )


# Elements from which worker threads compute a program for open dimensions.
_MUCH = 1 << 18


class StoredCode:
    """The program of one signature of a file's function, on one device."""

    # A file holds no graph.
    evaluates = False

    def __init__(self, file: File, name: str, signature: Signature, device: Device) -> None:
        self.device = device
        self.file = file
        self.name = name
        self.signature = signature
        self.in_tree = trees.decode(signature.in_tree)
        self.out_tree = trees.decode(signature.out_tree)
        self.captured = file.weights_of(signature)
        # Which variant runs, and where its module came from: "file", "disk" or "compiled".
        self.variant: Variant | None = None
        self.source = ""

    def evaluate(self, inputs: list[Any]) -> list[Array]:
        """An empty list: only a signature without results has no program."""
        assert not self.signature.results, "a file holds no graph"
        return []

    def effort(self, values: Mapping[Symbol, int]) -> tuple[bool, Duration]:
        """For sizes of open dimensions: whether threads should share the work, and how long a call may take.

        A file does not say what its program does: what it reads and writes decides for threads, and the first call
        of these sizes how long others take.
        """
        assert self.variant is not None, "sizes are known of programs that were loaded"
        is_open = self.variant.traits.duration is Duration.OPEN
        avals = [a.at(values) for a in (*self.signature.in_avals, *self.signature.results)]
        count = sum(a.size for a in avals)
        return count >= _MUCH, Duration.OPEN if is_open else Duration.BOUNDED

    def preferred_device(self, device: Device) -> Device:
        """`device`, if the file has a variant for it; else a GPU that there is a variant for; else `device`."""
        variants = self.signature.variants
        if choose(variants, device) is not None or not variants:
            return device
        for name in dict.fromkeys(map(platform, variants)):
            if name and name in platforms() and name != device.platform:
                with contextlib.suppress(errors.DeviceError):
                    # A software device is used where it is named, and not otherwise.
                    real = [d for d in devices(name) if not d._is_software()]
                    found = next((d for d in real if choose(variants, d) is not None), None)
                    if found is not None:
                        return found
        return device

    def at_hand(self) -> Executable | None:
        return None  # `load` keeps what it has loaded

    def load(self) -> Executable:
        """Load the variant for the device, or compile the file's StableHLO."""
        file, signature = self.file, self.signature
        variant = choose(signature.variants, self.device)
        if variant is None:
            payload, variant, self.source = self._compiled()
        else:
            payload = file.container.section(variant.section, f"the module of {self.name} for {variant.target}")
            self.source = "file"
        self.variant = variant
        inputs = [*[a.aval for a in self.captured], *signature.in_avals]
        try:
            made = Executable(
                payload,
                [inputs[i].strip_weak_type() for i in signature.used],
                list(signature.results),
                device=self.device,
                traits=variant.traits,
                in_place=[i for i, _ in signature.reuse],
                waits=self.device.is_cpu and any(a.is_open for a in signature.in_avals),
                name=self.name,
            )
        except (RuntimeError, ValueError, KeyError) as error:
            text = (str(error).splitlines() or [type(error).__name__])[0][:300]
            raise refuse(
                file.container.path,
                f"the runtime does not load the module of {self.name} for {variant.target}: {text}",
                "load it with the version of iree-base-runtime that `python -m stagec inspect` shows",
            ) from None
        if self.source == "file" and not _declares(made):
            raise refuse(
                file.container.path,
                f"the module of {self.name} for {variant.target} has another signature than the manifest says",
                "export the function again",
            )
        return made

    def _compiled(self) -> tuple[Any, Variant, str]:
        """Compile the file's StableHLO, where no variant fits."""
        signature, text = self.signature, self.signature.stablehlo
        # `stagec-runtime` has no part that compiles, even where somebody installed the compiler.
        parts = ("iree.compiler", "stagec.compiler.build")
        if text is None or any(importlib.util.find_spec(part) is None for part in parts):
            raise self._nothing_fits()
        from stagec.compiler import build  # only where the file has no module for this machine

        device = self.device
        target = target_for(device)
        if target.missing_here():
            raise self._nothing_fits()
        hidden = len(self.captured)
        weights = {n: self.captured[i].aval for n, i in enumerate(signature.used) if i < hidden}
        options = build.ProgramOptions(target, signature.fast_math, (), signature.reuse)
        if any(a.is_open for a in signature.in_avals):
            options = options.for_open()
        if device.is_cpu and options.kernels:
            options = dataclasses.replace(options, weights=packable(weights))
        program = build.obtain_text(
            self.file.stablehlo(self.name, signature),
            options,
            self.name,
            driver=text.driver if device.is_cpu else device.driver,
            branches=text.branches,
            duration=text.duration,
        )
        return program.payload, compiled(target, program.traits, program.meta["flags"], -1), program.source

    def _nothing_fits(self) -> errors.ArtifactError:
        rows = [(v.target, describe_variant(v), "") for v in self.signature.variants]
        return errors.ArtifactError(
            errors.message(
                f"{self.file.container.path} holds no variant of {self.name} that {self.device} can run, "
                "and there is no compiler to make one",
                values=[*rows, (f"{self.device}", describe_device(self.device), "this machine")],
                fix="install stagec with its compiler here, or export the function for this target too",
            )
        )


StoredProgram: TypeAlias = Runnable[StoredCode]


_TENSOR = re.compile(r"%(?:in|out)put\d+: tensor<((?:(?:\d+|\?)x)*)([a-z][a-z0-9]*(?:<[a-z0-9]+>)?)>")


def _element(dtype: np.dtype[Any]) -> str:
    """A dtype's name in a module's declaration, where integers have no sign."""
    if dtype == dtypes.bool_:
        return "i1"
    if dtype == dtypes.bfloat16:
        return "bf16"
    dtype = dtypes.carried(dtype)
    bits = 8 * dtype.itemsize
    return {"i": f"i{bits}", "u": f"i{bits}", "f": f"f{bits}", "c": f"complex<f{bits // 2}>"}[dtype.kind]


def _declares(made: Executable) -> bool:
    """Whether a module's `main` says that it takes and returns such arrays, on such a queue."""
    reflection = made._function.reflection
    given, arrow, returned = reflection.get("iree.abi.declaration", "").partition("->")
    queued = reflection.get("iree.abi.model", "") == "coarse-fences"
    if not arrow or queued != (made.driver != "local-sync"):
        return False
    given_avals = [*made.in_avals, *(packing.aval for packing in made.packed)]
    for part, avals in ((given, given_avals), (returned, made.out_avals)):
        wanted = [("".join("?x" if is_open(n) else f"{n}x" for n in a.shape), _element(a.dtype)) for a in avals]
        found = [(shape, re.sub(r"^[su]i", "i", element)) for shape, element in _TENSOR.findall(part)]
        if found != wanted:
            return False
    return True
