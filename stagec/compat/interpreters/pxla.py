"""`jax.interpreters.pxla`: a stand-in, as stagec runs its programs in another way."""

from stagec.compat.refusals import refused

global_avals_to_results_handler = refused(
    "jax.interpreters.pxla.global_avals_to_results_handler", "stagec has no such handlers", "call a jitted function"
)
