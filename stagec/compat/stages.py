"""`jax.stages`: the classes of a jitted function's stages."""

from stagec.api.jit import JitFunction as Wrapped
from stagec.api.stage import ArgInfo
from stagec.api.stages import Compiled, Lowered, Traced

CompilerOptions = dict[str, str | bool]

__all__ = ["ArgInfo", "Compiled", "CompilerOptions", "Lowered", "Traced", "Wrapped"]
