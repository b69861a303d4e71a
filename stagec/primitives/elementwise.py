"""Thin."""
import numpy as np
from stagec.core import dtypes
from stagec.primitives.table import elementwise, computed_in_float32
N=dtypes.NUMERIC
add_p=elementwise("add",accepts=N,eval=np.add,lower="stablehlo.add")
sub_p=elementwise("sub",accepts=N,eval=np.subtract,lower="stablehlo.subtract")
mul_p=elementwise("mul",accepts=N,eval=np.multiply,lower="stablehlo.multiply")
exp_p=elementwise("exp",accepts=dtypes.INEXACT,eval=computed_in_float32(np.exp),lower="stablehlo.exponential")
