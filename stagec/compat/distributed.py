"""`jax._src.distributed`: what libraries read of the state of several processes."""

from stagec.api.environment import process_count, process_index
from stagec.distributed import initialize, is_initialized, shutdown

__all__ = ["global_state", "initialize", "is_initialized", "shutdown"]


class State:
    """The processes that run this program; `client` is None, as they do not communicate through a coordinator."""

    client = None

    @property
    def process_id(self) -> int:
        return process_index()

    @property
    def num_processes(self) -> int:
        return process_count()


global_state = State()
