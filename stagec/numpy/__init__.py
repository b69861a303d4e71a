"""NumPy's functions, on arrays that may be traced.

Names, signatures and results are NumPy's; dtypes follow JAX: 32 bits unless
`enable_x64` is set, and Python scalars adopt the dtype of the arrays beside them.
"""

# creation

# manipulation and indexing

# products

# ufuncs, logic, constants

# reductions, sorting, statistics

from stagec.numpy import methods

methods.install(globals())
