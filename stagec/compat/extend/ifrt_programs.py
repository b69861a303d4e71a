"""Stand-ins for `jax.extend.ifrt_programs`: calling one of the functions raises `UnsupportedError`."""

from stagec.compat.refusals import refused

_WHY, _FIX = "stagec runs no programs of JAX's runtime", "compile a function with jax.jit"


class ifrt_programs:
    """Programs of JAX's runtime."""

    make_plugin_program = staticmethod(refused("jax.extend.ifrt_programs.make_plugin_program", _WHY, _FIX))
    make_plugin_compile_options = staticmethod(
        refused("jax.extend.ifrt_programs.make_plugin_compile_options", _WHY, _FIX)
    )
