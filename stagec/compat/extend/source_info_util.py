"""`jax.extend.source_info_util`: lets errors name lines of a library's callers instead of its own."""

from stagec.core.location import hide as register_exclusion

__all__ = ["register_exclusion"]
