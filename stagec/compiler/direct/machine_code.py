"""Machine code of kernels by LLVM itself, through llvmlite.

The compiler's own way to LLVM builds its passes anew for each module, and links a library of conversions into it, which
takes most of the time of a small compile. Here, LLVM gets text that needs none of its passes over IR.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

from passes.kernels import llvm
from passes.kernels.dispatch import Kernel
from stagec.compiler.direct.object_file import Code, MixedError, function, functions
from stagec.compiler.direct.program import NotDirectError
from stagec.core import forking

# The releases of llvmlite whose LLVM the tests have compared with the compiler's.
TESTED = ("0.50.",)
# Of code generation. Higher levels take longer for the same speed; at level 0, kernels run half as fast.
_LEVEL = 1
# Of LLVM's options, which are those of the process.
_option_lock = forking.lock()


class NoLlvmError(NotDirectError):
    """There is no LLVM to be called."""


def generated(kernels: Mapping[str, Kernel], target: Mapping[str, str]) -> dict[str, Code]:
    """Code of each kernel, by its symbol. It does not depend on the other kernels.

    Args:
      target: how the compiler describes the processor (`library.target`).

    Raises:
      NotDirectError: a kernel has an instruction that has no form in LLVM IR here, or LLVM is not there.
    """
    try:
        return functions(bytes(_prepared(kernels, target).emitted("object")), list(kernels))
    except MixedError:
        if len(kernels) == 1:
            raise NotDirectError("an object file of another form") from None
        return {symbol: generated({symbol: kernel}, target)[symbol] for symbol, kernel in kernels.items()}


def texts(kernels: Mapping[str, Kernel], target: Mapping[str, str]) -> tuple[str, str]:
    """The code of `generated` as LLVM's IR and as assembly."""
    prepared = _prepared(kernels, target)
    return str(prepared.module), str(prepared.emitted("assembly"))


def of_text(text: str, symbol: str, target: Mapping[str, str]) -> Code:
    """Code of a function of LLVM IR.

    Args:
      target: how the compiler describes the processor.
    """
    return function(bytes(_parsed(text, target).emitted("object")), symbol)


def linkable(kernels: Mapping[str, Kernel], target: Mapping[str, str], more: str = "") -> bytes:
    """An object file with a function for each kernel, for another linker; it may need the C library.

    Args:
      more: further LLVM IR.

    Raises:
      NotDirectError: as for `generated`.
    """
    return bytes(_prepared(kernels, target, more).emitted("object"))


def described(target: Mapping[str, str]) -> tuple[str, ...]:
    """What code depends on of a target: the triple, the processor, its features, and whether it is reproducible."""
    return tuple([target.get(name, "").strip('"') for name in ("target_triple", "cpu", "cpu_features", "reproducible")])


class _Prepared(NamedTuple):
    """A module of LLVM's, and the processor that it is for."""

    machine: Any
    module: Any

    def emitted(self, form: str) -> Any:
        """The machine code, as `"object"` or `"assembly"`."""
        set_option = _binding().set_option
        # Without a reduction of the strength of loops' addresses: it takes a fifth of LLVM's time, of a loop over 4,000
        # instructions in a row 5 of 5.3 s, and kernels run as fast. Others in the process may use LLVM with it.
        with _option_lock:
            set_option("llvm", "-disable-lsr=true")
            try:
                return getattr(self.machine, f"emit_{form}")(self.module)
            finally:
                set_option("llvm", "-disable-lsr=false")


def _prepared(kernels: Mapping[str, Kernel], target: Mapping[str, str], more: str = "") -> _Prepared:
    triple, _, features, reproducible = described(target)
    rounds = not triple.startswith("x86_64") or "+sse4.1" in features.split(",")
    try:
        text = llvm.printed(kernels.items(), triple, bool(reproducible), rounds)
    except llvm.UntranslatedError as error:
        raise NotDirectError(f"no form in LLVM IR: {error}") from None
    return _parsed(text + more, target)


def _parsed(text: str, target: Mapping[str, str]) -> _Prepared:
    binding = _binding()
    if binding is None:
        raise NoLlvmError("llvmlite is not installed, or of a release that was not tested")
    triple, cpu, features, _ = described(target)
    machine = _machine(triple, cpu, features)
    # A context of its own is freed with the module, constants and types included.
    module = binding.parse_assembly(text, binding.create_context())
    module.data_layout = str(machine.target_data)
    return _Prepared(machine, module)


@functools.cache
def _binding() -> Any:
    """The module `llvmlite.binding` with code generation; None without a release that was tested."""
    try:
        import llvmlite
        from llvmlite import binding
    except ImportError:
        return None
    if not llvmlite.__version__.startswith(TESTED):
        return None
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding


@functools.lru_cache(maxsize=16)
def _machine(triple: str, cpu: str, features: str) -> Any:
    # LLVM prints a warning for each feature that this release does not know, and could not use.
    known = _binding().get_host_cpu_features().keys()
    is_known = triple.startswith("x86_64") and "avx" in known
    features = ",".join(name for name in features.split(",") if name[1:] in known or not is_known)
    options = {"cpu": cpu, "features": features, "opt": _LEVEL, "reloc": "pic", "codemodel": "small"}
    if triple.startswith("riscv64"):
        options |= {"abiname": "lp64d", "codemodel": "medium"}  # floats are passed in registers; code may lie anywhere
    return _binding().Target.from_triple(triple).create_target_machine(**options)
