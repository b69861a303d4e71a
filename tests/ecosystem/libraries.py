"""Which libraries are run, and what of them."""

from tests.ecosystem.library import Library
from tests.ecosystem.other_libraries import OTHERS

_DEVICES = "needs several devices"
_ALLOWED = "what JAX refuses works"
_GENERATOR = "there is one generator of random numbers"
_INTERNALS = "JAX's internals"
_ORDER = "the order within the two parts, which is not specified"
_XLA = "XLA's text or numbers"
_ROUNDING = "rounding"

JAX = "jax==0.10.2"

LIBRARIES = (
    Library(
        JAX,
        "jax",
        """
@jax.jit
def step(w, x, y):
    value, gradient = jax.value_and_grad(lambda w: jnp.mean((jnp.tanh(x @ w) - y) ** 2))(w)
    return w - 0.1 * gradient, value

x = jax.random.normal(jax.random.key(0), (8, 3))
w, values = jax.lax.scan(lambda w, _: step(w, x, jnp.ones(8)), jnp.zeros(3), None, length=5)
print(values, jax.vmap(jax.hessian(lambda v: jnp.sum(v**3)))(x).shape)
""",
        ("jax",),
        {"jax/experimental/jax2tf": "needs TensorFlow", "jax/experimental/pallas": "kernels of XLA's devices"},
        examples=True,
        reasons={
            "NonConcreteBooleanIndexError": _ALLOWED,
            "UnexpectedTracerError": _ALLOWED,
            "argpartition": _ORDER,
            "flatten_one_level": _INTERNALS,
            "partition": _ORDER,
        },
    ),
    Library(
        "optax==0.2.8",
        "optax",
        """
parameters = {"w": jnp.ones(3)}
optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(0.1))
state = optimizer.init(parameters)
for _ in range(20):
    gradient = jax.grad(lambda p: jnp.sum(p["w"] ** 2))(parameters)
    updates, state = jax.jit(optimizer.update)(gradient, state, parameters)
    parameters = optax.apply_updates(parameters, updates)
print(parameters["w"])
""",
        ("optax",),
        needs=("scipy", "scikit-learn"),
        reasons={
            "test_abs_sqr_hlo_equivalence": _XLA,
            "test_against_scipy": _ROUNDING,
            "test_init_unsuccessful_broadcast": "the test wants the text of JAX's error",
        },
    ),
    Library(
        "chex==0.1.92",
        "chex",
        """
@chex.dataclass
class State:
    position: chex.Array
    velocity: chex.Array

step = jax.jit(lambda s: s.replace(position=s.position + s.velocity))
state = step(State(position=jnp.zeros(2), velocity=jnp.ones(2)))
chex.assert_shape(state.position, (2,))
chex.assert_tree_all_finite(state)
print(state.position)
""",
        ("chex",),
        needs=("cloudpickle", "dm-tree"),
        reasons={
            "test_easy_with_stop_gradient": _ROUNDING,
            "test_incorrect_ordering": "the test looks for the name of a class of JAX's in a function",
            "test_not_less_than": "the test wants the text of JAX's error",
        },
    ),
    Library(
        "einops==0.8.2",
        "einops",
        """
x = jnp.arange(24.0).reshape(2, 3, 4)
print(jax.jit(lambda x: einops.rearrange(x, "a (b c) d -> (a d) b c", c=1))(x).shape)
print(einops.reduce(x, "a b c -> c", "mean"), einops.einsum(x, x, "a b c, a d c -> b d"))
""",
        ("einops/tests",),
        {"einops/tests/test_notebooks.py": "runs notebooks of PyTorch"},
        ("parameterized",),
        {"EINOPS_TEST_BACKENDS": "numpy,jax"},
    ),
    Library(
        "jaxtyping==0.3.11",
        "jaxtyping",
        """
@jaxtyping.jaxtyped(typechecker=beartype.beartype)
def product(x: jaxtyping.Float[jax.Array, "n k"], y: jaxtyping.Float[jax.Array, "k m"]):
    return x @ y

print(jax.jit(product)(jnp.ones((2, 3)), jnp.ones((3, 4))))
try:
    product(jnp.ones((2, 3)), jnp.ones((2, 3)))
except jaxtyping.TypeCheckError:
    print("refused")
""",
        needs=("beartype",),
    ),
    Library(
        "equinox==0.13.8",
        "equinox",
        """
model = equinox.nn.MLP(2, 1, 8, 2, key=jax.random.key(0))
x = jax.random.normal(jax.random.key(1), (16, 2))

@equinox.filter_jit
@equinox.filter_value_and_grad
def loss(model, x):
    return jnp.mean((jax.vmap(model)(x)[:, 0] - x.sum(1)) ** 2)

for _ in range(5):
    value, gradient = loss(model, x)
    model = equinox.apply_updates(model, jax.tree.map(lambda g: -0.1 * g, gradient))
print(value)
conv = equinox.nn.Conv2d(3, 4, 3, key=jax.random.key(0))
print(conv(jnp.ones((3, 8, 8))).sum(axis=(1, 2)))
attention = equinox.nn.MultiheadAttention(2, 8, key=jax.random.key(2))
print(attention(jnp.ones((5, 8)), jnp.ones((5, 8)), jnp.ones((5, 8)))[0])
""",
    ),
    Library(
        "lineax==0.1.1",
        "lineax",
        """
a = jax.random.normal(jax.random.key(0), (4, 4)) + 4 * jnp.eye(4)
b = jnp.arange(4.0)

def solve(a, solver):
    return lineax.linear_solve(lineax.MatrixLinearOperator(a), b, solver).value

print(solve(a, lineax.AutoLinearSolver(well_posed=True)))
print(jax.grad(lambda a: solve(a, lineax.LU()).sum())(a))
print(jax.jit(lambda a: solve(a, lineax.GMRES(1e-6, 1e-6)))(a))
print(jax.vmap(lambda s: solve(s * a, lineax.QR()))(jnp.array([1.0, 2.0])))
""",
    ),
    Library(
        "optimistix==0.1.0",
        "optimistix",
        """
rosenbrock = lambda y, args: (1 - y[0], 10 * (y[1] - y[0] ** 2))
found = optimistix.least_squares(rosenbrock, optimistix.LevenbergMarquardt(1e-6, 1e-6), jnp.zeros(2))
print(found.value)

@jax.grad
def derivative(a):
    solver = optimistix.Newton(rtol=1e-6, atol=1e-6)
    return optimistix.root_find(lambda y, a: y**2 - a, solver, jnp.array(1.0), a).value

print(derivative(2.0))
print(optimistix.minimise(lambda y, args: jnp.sum((y - 1) ** 2), optimistix.BFGS(1e-5, 1e-5), jnp.zeros(3)).value)
""",
    ),
    Library(
        "diffrax==0.7.2",
        "diffrax",
        """
term = diffrax.ODETerm(lambda t, y, k: -k * y)

def end(k):
    return diffrax.diffeqsolve(term, diffrax.Tsit5(), 0.0, 1.0, 0.1, jnp.array(1.0), args=k).ys[0]

print(jax.jit(end)(0.5))
print(jax.grad(end)(0.5))
""",
    ),
    Library(
        "tinygp==0.3.1",
        "tinygp",
        """
x = jnp.linspace(0, 5, 20)

def likelihood(scale):
    kernel = tinygp.kernels.Matern32(scale)
    return tinygp.GaussianProcess(kernel, x, diag=0.1).log_probability(jnp.sin(x))

print(jax.jit(jax.value_and_grad(likelihood))(1.0))
process = tinygp.GaussianProcess(tinygp.kernels.ExpSquared(1.0), x, diag=0.1)
print(process.condition(jnp.sin(x), jnp.array([0.5, 1.5])).gp.mean)
""",
        ("tests",),
        reasons={"test_unsorted": "an error that a callback raises is raised as it is"},
    ),
    Library(
        "distrax==0.1.9",
        "distrax",
        """
mixture = distrax.MixtureSameFamily(
    distrax.Categorical(logits=jnp.zeros(2)), distrax.Normal(jnp.array([-1.0, 1.0]), jnp.ones(2))
)
x = mixture.sample(seed=jax.random.key(0), sample_shape=(4,))
print(x, jax.jit(mixture.log_prob)(x))
bijector = distrax.Chain([distrax.ScalarAffine(1.0, 2.0), distrax.Tanh()])
print(distrax.Transformed(distrax.Normal(0.0, 1.0), bijector).log_prob(jnp.array(0.5)))
print(jax.grad(lambda m: distrax.Normal(m, 1.0).kl_divergence(distrax.Normal(0.0, 2.0)))(1.0))
""",
        ("distrax",),
        needs=("mock",),
    ),
    Library(
        "dm-haiku==0.0.17",
        "haiku",
        """
def forward(x):
    x = haiku.Conv2D(4, 3)(x)
    x = haiku.BatchNorm(True, True, 0.9)(jax.nn.relu(x), is_training=True)
    return haiku.Linear(2)(haiku.Flatten()(x))

model = haiku.transform_with_state(forward)
x = jnp.ones((2, 6, 6, 1))
parameters, state = model.init(jax.random.PRNGKey(0), x)
loss = lambda p: model.apply(p, state, None, x)[0].sum()
print(jax.jit(loss)(parameters), jax.tree.map(jnp.shape, jax.grad(loss)(parameters)))
""",
        ("haiku/_src",),
        {"haiku/_src/integration": "builds all modules for each of its cases: hours on JAX"},
        ("dill", "mock", "dm-tree", "cloudpickle"),
        reasons={
            "test_custom_key": _GENERATOR,
            "test_haiku_module": "programs name no transformations",
            "test_precision": _XLA,
            "test_rbg_default_impl": _GENERATOR,
            "test_remat": "a primitive that has no lowering, in a checkpoint",
            "test_tree_transpose": "structures are compared, and not numbers of leaves alone",
        },
    ),
    Library(
        "flax==0.12.8",
        "flax.linen",
        """
class Model(flax.linen.Module):
    @flax.linen.compact
    def __call__(self, x):
        x = flax.linen.Conv(4, (3, 3))(x)
        x = flax.linen.BatchNorm(use_running_average=False)(flax.linen.relu(x))
        x = flax.linen.MultiHeadDotProductAttention(2)(x.reshape(x.shape[0], -1, 4))
        return flax.linen.Dense(2)(x)

model, x = Model(), jnp.ones((2, 6, 6, 1))
variables = model.init(jax.random.key(0), x)
loss = lambda v: model.apply(v, x, mutable=["batch_stats"])[0].sum()
print(jax.jit(loss)(variables), jax.tree.map(jnp.shape, jax.grad(loss)(variables)["params"]))
""",
        ("tests/linen", "tests/core"),
        reasons={
            "test_fp8_meta_dtype": "element types that libraries define",
            "test_partitioned_params": _XLA,
        },
    ),
    Library(
        "flax==0.12.8",
        "flax.nnx",
        """
class Model(flax.nnx.Module):
    def __init__(self, rngs):
        self.first = flax.nnx.Linear(2, 16, rngs=rngs)
        self.norm = flax.nnx.BatchNorm(16, rngs=rngs)
        self.dropout = flax.nnx.Dropout(0.2, rngs=rngs)
        self.second = flax.nnx.Linear(16, 3, rngs=rngs)

    def __call__(self, x):
        return self.second(flax.nnx.relu(self.dropout(self.norm(self.first(x)))))

model = Model(flax.nnx.Rngs(0))
optimizer = flax.nnx.Optimizer(model, optax.adam(1e-3), wrt=flax.nnx.Param)

@flax.nnx.jit
def step(model, optimizer, x, y):
    value, gradient = flax.nnx.value_and_grad(lambda model: ((model(x) - y) ** 2).mean())(model)
    optimizer.update(model, gradient)
    return value

x = jax.random.normal(jax.random.key(0), (5, 2))
for _ in range(3):
    print(step(model, optimizer, x, jnp.ones((5, 3))))
""",
        ("tests/nnx",),
        needs=("optax",),
        part="flax.nnx",
        reasons={
            "test_cache_tracing": "a loop outside of jit is traced at each call",
            "test_out_sharding_embed": "what JAX refuses works",
            "test_separate_opt_sharding": "under a mesh, arrays that are not split are on one device",
            "test_variable_out_sharding_types": "arrays have no layouts",
            "test_vmap_and_cond_passthrough_error": "the test wants the text of JAX's error",
        },
    ),
    Library(
        "numpyro==0.22.0",
        "numpyro",
        """
from numpyro import distributions as dist
from numpyro.infer import MCMC, NUTS

def model(y):
    mean = numpyro.sample("mean", dist.Normal(0.0, 5.0))
    scale = numpyro.sample("scale", dist.HalfNormal(2.0))
    with numpyro.plate("data", y.shape[0]):
        numpyro.sample("y", dist.Normal(mean, scale), obs=y)

y = 3 + jax.random.normal(jax.random.key(0), (50,))
mcmc = MCMC(NUTS(model), num_warmup=100, num_samples=100, progress_bar=False)
mcmc.run(jax.random.key(1), y)
print(mcmc.get_samples()["mean"].mean().round(0))
""",
        ("test",),
    ),
    Library(
        "blackjax==1.7.1",
        "blackjax",
        """
density = lambda x: -0.5 * jnp.sum((x - 1.0) ** 2)
sampler = blackjax.nuts(density, step_size=0.5, inverse_mass_matrix=jnp.ones(2))
state = sampler.init(jnp.zeros(2))

@jax.jit
def run(state, keys):
    return jax.lax.scan(lambda s, key: (sampler.step(key, s)[0], s.position), state, keys)

_, positions = run(state, jax.random.split(jax.random.key(0), 200))
print(positions.mean(0).round(0))
""",
        ("tests",),
        {"tests/test_multidevice": _DEVICES},
    ),
    *OTHERS,
)
