"""Arguments of the calls."""

import numpy as np

F = np.arange(6, dtype=np.float32).reshape(2, 3)
V, N = F[0], np.arange(3, dtype=np.int32)
B = N > 0
IMAGE, KERNEL = np.ones((1, 2, 5, 5), np.float32), np.ones((4, 2, 3, 3), np.float32)
