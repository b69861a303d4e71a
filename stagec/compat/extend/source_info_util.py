"""`jax.extend.source_info_util`: what libraries call so that errors name the lines of those who use them."""

from stagec.core.location import hide as register_exclusion

__all__ = ["register_exclusion"]
