"""Operations on arrays that differ in their ranks or dtypes, where an option refuses that."""

from data import B, F, N, V


def one_rank(call):
    def run(j):
        with j.numpy_rank_promotion("raise"):
            return call(j)

    return run


def one_dtype(call):
    def run(j):
        with j.numpy_dtype_promotion("strict"):
            return call(j)

    return run


RANKS = {
    "an operator": (lambda j: j.numpy.asarray(F) + j.numpy.asarray(V), "add"),
    "a function": (lambda j: j.numpy.multiply(V, F), "multiply"),
    "a traced operator": (lambda j: j.jit(lambda x, y: x * y)(F, V), "multiply"),
    "a traced function": (lambda j: j.jit(j.numpy.subtract)(F, V), "subtract"),
    "a batched function": (lambda j: j.vmap(j.numpy.subtract)(F, F[:, :, None] + V), "subtract"),
    "a derivative": (lambda j: j.grad(lambda x: (x * F).sum())(V), "multiply"),
    "a method": (lambda j: j.numpy.asarray(F).clip(V, 2), "clip"),
    "allclose": (lambda j: j.numpy.allclose(F, V), "allclose"),
    "linspace": (lambda j: j.numpy.linspace(V, F, 3), "linspace"),
    "cross": (lambda j: j.numpy.cross(F, F[None]), "cross"),
    "vecdot": (lambda j: j.numpy.vecdot(F, V), "vecdot"),
    "matvec": (lambda j: j.numpy.matvec(F, F), "matvec"),
    "vecmat": (lambda j: j.numpy.vecmat(F.T, F.T), "vecmat"),
    "vectorize": (lambda j: j.numpy.vectorize(lambda x, y: x + y)(F, V), "vectorize"),
    "a function of SciPy": (lambda j: j.scipy.special.gammainc(F, V), "gammainc"),
    "a distribution": (lambda j: j.scipy.stats.norm.logpdf(F, V), "norm.logpdf"),
}
DTYPES = {
    "an operator": lambda j: j.numpy.asarray(V) + j.numpy.asarray(N),
    "a function": lambda j: j.numpy.multiply(V, N),
    "a traced operator": lambda j: j.jit(lambda x, y: x * y)(V, N),
    "a traced function": lambda j: j.jit(j.numpy.subtract)(V, N),
    "a method": lambda j: j.numpy.asarray(V).dot(j.numpy.asarray(N)),
    "where": lambda j: j.numpy.where(B, V, N),
    "matmul": lambda j: j.numpy.asarray(F) @ j.numpy.asarray(N),
    "concatenate": lambda j: j.numpy.concatenate([V, N]),
    "array": lambda j: j.numpy.array([j.numpy.asarray(V)[0], j.numpy.asarray(N)[0]]),
    "result_type": lambda j: j.numpy.result_type(V, N),
    "promote_types": lambda j: j.numpy.promote_types("float32", "int32"),
    "average": lambda j: j.numpy.average(V, weights=N),
    "solve": lambda j: j.numpy.linalg.solve(F[:, :2], N[:2]),
    "an update": lambda j: j.numpy.asarray(V).at[0].set(N[0]),
    "an update by a float": lambda j: j.numpy.asarray(N).at[0].add(1.5),
    "a ufunc's update": lambda j: j.numpy.add.at(j.numpy.asarray(V), 0, N[0], inplace=False),
    "a ufunc's table": lambda j: j.numpy.add.outer(V, N),
    "a function of SciPy": lambda j: j.scipy.special.xlogy(N, V),
    "a distribution": lambda j: j.scipy.stats.norm.logpdf(V, N),
}
CALLS = {
    **{
        f"ranks of {name}": (one_rank(call), f"{function}: ...differ in their number of axes")
        for name, (call, function) in RANKS.items()
    },
    **{
        f"dtypes of {name}": (one_dtype(call), "...are not promoted with numpy_dtype_promotion='strict'")
        for name, call in DTYPES.items()
    },
}
