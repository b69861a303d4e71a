"""`jax._src.traceback_util`: what libraries call to leave their own frames out of tracebacks."""

from types import FrameType

from stagec.core.boundary import short_tracebacks as api_boundary
from stagec.core.location import hide as register_exclusion, is_internal

__all__ = ["api_boundary", "include_frame", "register_exclusion"]


def include_frame(f: FrameType) -> bool:
    """Whether a frame is shown: it is of no file that was left out."""
    return not is_internal(f.f_code.co_filename)
