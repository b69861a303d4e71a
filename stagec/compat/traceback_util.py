"""`jax._src.traceback_util`: what libraries call to leave their own frames out of tracebacks."""

from stagec.core.boundary import short_tracebacks as api_boundary
from stagec.core.location import hide as register_exclusion

__all__ = ["api_boundary", "register_exclusion"]
