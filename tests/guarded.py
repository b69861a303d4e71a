"""Arrays that end right before memory that nobody may touch."""

import ctypes
import mmap

import numpy as np

# NumPy memory that is aligned to this is passed to compiled code as it is.
_ALIGNMENT = 64


def guarded(array):
    """A copy of an array that ends at a page without access: reading beyond it ends the process.

    For the alignment, up to 63 bytes are left in between; all their bits are set, which is NaN in floats.
    """
    array = np.asarray(array, order="C")
    page = mmap.PAGESIZE
    used = -(-max(array.nbytes, 1) // page) * page
    memory = np.frombuffer(mmap.mmap(-1, used + page), np.uint8)
    if ctypes.CDLL(None, use_errno=True).mprotect(ctypes.c_void_p(memory.ctypes.data + used), page, 0):
        raise OSError(ctypes.get_errno(), "mprotect")
    start = (used - array.nbytes) // _ALIGNMENT * _ALIGNMENT
    memory[:used] = 0xFF
    found = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found
