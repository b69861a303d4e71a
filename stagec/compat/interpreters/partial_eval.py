"""Stand-ins for `jax.interpreters.partial_eval`: names that libraries look up when they are imported.

Calling one of the functions raises `UnsupportedError`.
"""

from __future__ import annotations

from stagec.compat.extend.linear_util import FIX, WHY
from stagec.compat.refusals import refused


class PartialVal:
    """A value that may be unknown, for annotations and `isinstance`; it has no instances."""

    known = staticmethod(refused("jax.interpreters.partial_eval.PartialVal.known", WHY, FIX))
    unknown = staticmethod(refused("jax.interpreters.partial_eval.PartialVal.unknown", WHY, FIX))


trace_to_jaxpr_dynamic = refused("jax.interpreters.partial_eval.trace_to_jaxpr_dynamic", WHY, FIX)
trace_to_jaxpr_nounits = refused("jax.interpreters.partial_eval.trace_to_jaxpr_nounits", WHY, FIX)
