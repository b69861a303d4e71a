"""Makes the compiled variants of a signature, and chooses one for a device."""

from __future__ import annotations

from collections.abc import Sequence

from stagec.artifact.manifest import Variant
from stagec.backends import Target, cpu as targets
from stagec.core.errors import TargetError
from stagec.runtime.devices import Device
from stagec.runtime.traits import Traits


def _target(variant: Variant) -> Target | None:
    """The target of a variant, if this version knows it and the rest of the variant agrees with it."""
    try:
        target = Target.parse(variant.target)
    except TargetError:
        return None
    if target.arch not in ("host", "generic") and target.machine != variant.machine:
        return None
    return target if variant.traits.driver in target.on.queues else None


def platform(variant: Variant) -> str:
    """The name of its backend; empty for a target that this version does not know."""
    target = _target(variant)
    return "" if target is None else target.backend


def _required(variant: Variant, target: Target) -> frozenset[str]:
    """CPU features that a variant may use: those that it names, and those that its target stands for."""
    named = frozenset() if target.arch in ("host", "generic") else target.required_features()
    return variant.features | named


def lacking(variant: Variant) -> frozenset[str] | None:
    """What this machine's CPU lacks to run a variant; None where the target is not known, or not for a CPU."""
    target = _target(variant)
    if target is None or not target.on.is_host:
        return None
    return targets.lacking_here(variant.machine, _required(variant, target))


def _rank(variant: Variant, device: Device) -> int:
    """How well a variant uses a device, for a choice between variants; -1 if it does not run there."""
    target = _target(variant)
    if target is None or target.backend != device.platform:
        return -1
    if target.on.is_host:  # the variant may need more than its target says
        return -1 if lacking(variant) else len(_required(variant, target))
    return target.on.rank(target, device)


def choose(variants: Sequence[Variant], device: Device) -> Variant | None:
    """The variant that uses the most of a device, or None where none runs there."""
    ranked = [(_rank(v, device), v) for v in variants]
    return max((row for row in ranked if row[0] >= 0), key=lambda row: row[0], default=(0, None))[1]


def describe_variant(variant: Variant) -> str:
    """Whether a variant runs on this machine, or what it needs."""
    missing = lacking(variant)
    if missing is None:
        name = platform(variant)
        return f"for {name} devices" if name else "not known to this version of stagec"
    return f"needs {' '.join(sorted(missing))}" if missing else "runs here"


def describe_device(device: Device) -> str:
    """A device, in the terms of targets."""
    if device.is_cpu:
        return targets.portable_host()
    return f"{device.platform}:{device.architecture}"


def compiled(target: Target, traits: Traits, flags: str, section: int) -> Variant:
    """A program that was compiled for a target."""
    return Variant(str(target), target.machine, target.required_features(), flags, traits, section)
