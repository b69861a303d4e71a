"""More libraries: reinforcement learning, graphs, evolution, optimization, checkpoints, Keras, physics, array API."""

from tests.ecosystem.library import Library

_ROUNDING = "results inside and outside of jit differ by rounding, and the test wants the same bits"
_THREEFRY = "the test sets jax_threefry_partitionable=False, for other numbers"
_TEXTS = "the test wants the text of JAX's error"

OTHERS = (
    Library(
        "rlax==0.1.9",
        "rlax",
        """
values, actions = jnp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), jnp.array([0, 1])
rewards, discounts = jnp.array([1.0, -1.0]), jnp.array([0.9, 0.9])

def loss(values):
    return jnp.mean(jax.vmap(rlax.q_learning)(values, actions, rewards, discounts, 2 * values) ** 2)

print(jax.grad(loss)(values))
print(rlax.lambda_returns(jnp.arange(4.0), jnp.full(4, 0.9), jnp.ones(4), 0.8))
print(jax.jit(rlax.categorical_l2_project)(jnp.linspace(-1, 1, 3), jnp.array([0.2, 0.3, 0.5]), jnp.linspace(-1, 1, 5)))
""",
        ("rlax",),
        reasons={"test_categorical_sample": _THREEFRY},
    ),
    Library(
        "jraph==0.0.6.dev0",
        "jraph",
        """
graph = jraph.GraphsTuple(
    n_node=jnp.array([3]), n_edge=jnp.array([2]), nodes=jnp.ones((3, 4)), edges=jnp.ones((2, 5)),
    globals=jnp.ones((1, 2)), senders=jnp.array([0, 1]), receivers=jnp.array([2, 2]),
)
network = jraph.GraphNetwork(
    update_edge_fn=lambda e, s, r, g: jnp.concatenate([e, s, r, g], -1).sum(-1, keepdims=True),
    update_node_fn=lambda n, s, r, g: n + r,
    update_global_fn=lambda n, e, g: n.sum() + g,
)
print(jax.jit(network)(jraph.pad_with_graphs(jraph.batch([graph, graph]), 10, 8, 4)).nodes)
print(jraph.segment_softmax(jnp.arange(4.0), jnp.array([0, 0, 1, 1]), 2))
""",
        ("jraph/_src",),
    ),
    Library(
        "evosax==0.3.2",
        "evosax.algorithms",
        """
search = evosax.algorithms.CMA_ES(population_size=8, solution=jnp.zeros(3))
params = search.default_params

@jax.jit
def step(state, key):
    population, state = search.ask(key, state, params)
    fitness = jnp.sum(population**2, -1)
    state, _ = search.tell(key, population, fitness, state, params)
    return state, fitness.min()

state = search.init(jax.random.key(0), jnp.ones(3), params)
_, best = jax.lax.scan(step, state, jax.random.split(jax.random.key(0), 30))
assert best[-1] < 0.1, best
""",
    ),
    Library(
        "gymnax==1.0.1",
        "gymnax",
        """
for name in "CartPole-v1", "Pendulum-v1", "Acrobot-v1", "Breakout-MinAtar":
    env, params = gymnax.make(name)
    key = jax.random.key(0)
    action = env.action_space(params).sample(key)

    def step(state, key):
        observation, state, reward, *_ = env.step(key, state, action, params)
        return state, reward

    print(name, jax.lax.scan(step, env.reset(key, params)[1], jax.random.split(key, 10))[1].sum())
""",
        ("tests",),
    ),
    Library(
        "jaxopt==0.8.5",
        "jaxopt",
        """
x = jax.random.normal(jax.random.key(0), (20, 3))
y = x @ jnp.array([1.0, 2.0, 3.0])
loss = lambda w, scale: jnp.mean((x @ w - y) ** 2) + scale * jnp.sum(w**2)
for solver in jaxopt.GradientDescent, jaxopt.LBFGS, jaxopt.BFGS, jaxopt.NonlinearCG:
    print(solver(fun=loss, maxiter=100).run(jnp.zeros(3), scale=0.1).params)
solver = jaxopt.LBFGS(fun=loss, maxiter=100, implicit_diff=True)
print(jax.jacobian(lambda scale: solver.run(jnp.zeros(3), scale=scale).params)(0.1))
simplex = jaxopt.projection.projection_simplex
print(jaxopt.ProjectedGradient(fun=loss, projection=simplex).run(jnp.ones(3) / 3, scale=0.1).params)
print(jaxopt.LevenbergMarquardt(residual_fun=lambda w: x @ w - y).run(jnp.zeros(3)).params)
""",
    ),
    Library(
        "penzai==0.2.5",
        "penzai",
        """
from penzai import pz
from penzai.models.simple_mlp import MLP

model = MLP.from_config(name="model", init_base_rng=jax.random.key(0), feature_sizes=[4, 8, 2])
x = pz.nx.wrap(jnp.ones((3, 4)), "batch", "features")
print(model(x).unwrap("batch", "features"), pz.select(model).at_instances_of(pz.nn.Linear).count())
print(pz.nx.nmap(jnp.sum)(x.untag("features")))
""",
        ("tests",),
        reasons={
            "test_gradient_checkpointing": _ROUNDING,
            "test_jit_wrapper": _ROUNDING,
        },
    ),
    Library(
        "orbax-checkpoint==0.12.8",
        "orbax.checkpoint",
        """
import pathlib
import tempfile

folder = pathlib.Path(tempfile.mkdtemp())
tree = {"w": jnp.arange(6.0).reshape(2, 3), "n": 3, "b": jnp.ones(3, jnp.bfloat16)}
with orbax.checkpoint.StandardCheckpointer() as writer:
    writer.save(folder / "one", tree)
    writer.wait_until_finished()
    found = writer.restore(folder / "one", jax.tree.map(orbax.checkpoint.utils.to_shape_dtype_struct, tree))
assert (found["w"] == tree["w"]).all() and found["n"] == 3 and found["b"].dtype == jnp.bfloat16
keep = orbax.checkpoint.CheckpointManagerOptions(max_to_keep=2)
with orbax.checkpoint.CheckpointManager(folder / "many", options=keep) as manager:
    for step in range(3):
        manager.save(step, args=orbax.checkpoint.args.StandardSave(tree))
    manager.wait_until_finished()
    assert manager.all_steps() == [1, 2] and (manager.restore(2)["w"] == tree["w"]).all()
""",
    ),
    Library(
        "keras==3.15.1",
        "keras",
        """
import numpy as np

keras.utils.set_random_seed(0)
layers = [keras.Input((8, 8, 1)), keras.layers.Conv2D(4, 3, activation="relu"), keras.layers.BatchNormalization()]
layers += [keras.layers.Flatten(), keras.layers.Dropout(0.1), keras.layers.Dense(2, activation="softmax")]
model = keras.Sequential(layers)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
x = np.random.default_rng(0).normal(size=(32, 8, 8, 1)).astype("float32")
y = (x.mean((1, 2, 3)) > 0).astype("int32")
print(model.fit(x, y, epochs=3, verbose=0, batch_size=8).history["loss"], model.evaluate(x, y, verbose=0))
sequence = keras.Sequential([keras.layers.Embedding(10, 4), keras.layers.LSTM(5), keras.layers.Dense(1)])
print(sequence(np.array([[1, 2, 3]])).shape)
""",
        ("keras/src/layers", "keras/src/ops"),
        variables={"KERAS_BACKEND": "jax"},
    ),
    Library(
        "tfp-nightly==0.26.0.dev20261027",
        "tensorflow_probability.substrates.jax",
        """
tfp = tensorflow_probability.substrates.jax
tfd, tfb, key = tfp.distributions, tfp.bijectors, jax.random.key(0)
normal = tfd.Normal(0.0, 1.0)
print(jax.grad(lambda m: tfd.kl_divergence(tfd.Normal(m, 1.0), normal))(1.0))
print(tfd.TransformedDistribution(normal, tfb.Chain([tfb.Softplus(), tfb.Scale(2.0)])).log_prob(1.0))
joint = tfd.JointDistributionSequential([tfd.Gamma(2.0, 1.0), lambda s: tfd.Normal(0.0, s)])
print(joint.log_prob(joint.sample(seed=key)))
kernel = tfp.mcmc.HamiltonianMonteCarlo(normal.log_prob, step_size=0.3, num_leapfrog_steps=3)
run = lambda key: tfp.mcmc.sample_chain(100, 1.0, kernel=kernel, num_burnin_steps=10, trace_fn=None, seed=key)
print(jax.jit(run)(key).mean())
""",
    ),
    Library(
        "brax==0.14.2",
        "brax.envs",
        """
env = brax.envs.get_environment("inverted_pendulum", backend="generalized")
state = jax.jit(env.reset)(jax.random.key(0))
step = jax.jit(env.step)
for _ in range(5):
    state = step(state, 0.1 * jnp.ones(env.action_size))
print(state.obs, state.reward)
""",
        ("brax",),
    ),
    Library(
        "mujoco-mjx==3.17.0",
        "mujoco.mjx",
        '''
model = mujoco.MjModel.from_xml_string("""
<mujoco><worldbody>
  <geom type="plane" size="1 1 .1"/>
  <body pos="0 0 .3"><freejoint/><geom type="sphere" size=".1" mass="1"/></body>
  <body pos="1 0 1"><joint type="hinge" axis="0 1 0"/><geom type="capsule" size=".05" fromto="0 0 0 .3 0 0"/></body>
</worldbody></mujoco>""")
data = mujoco.MjData(model)
model_here, here = mujoco.mjx.put_model(model), mujoco.mjx.put_data(model, data)
step = jax.jit(mujoco.mjx.step)
for _ in range(20):
    here = step(model_here, here)
    mujoco.mj_step(model, data)
assert abs(here.qpos - data.qpos).max() < 1e-4, (here.qpos, data.qpos)
''',
        ("mujoco/mjx/_src",),
    ),
    Library(
        "jax-md==0.2.29",
        "jax_md",
        """
from jax_md import energy, minimize, simulate, space

displacement, shift = space.periodic(5.0)
key = jax.random.key(0)
positions = 5 * jax.random.uniform(key, (20, 2))
potential = energy.soft_sphere_pair(displacement)
init, apply = minimize.fire_descent(potential, shift)
found = jax.lax.fori_loop(0, 50, lambda i, s: apply(s), init(positions))
print(potential(found.position))
init, apply = simulate.nve(potential, shift, 1e-3)
state = init(key, positions, kT=0.1)
print(jax.jit(lambda s: jax.lax.fori_loop(0, 20, lambda i, s: apply(s), s))(state).position[:2])
""",
        ("tests",),
    ),
    Library(
        "array-api-compat==1.16.0",
        "array_api_compat",
        """
def normalized(x):
    xp = array_api_compat.array_namespace(x)
    return (x - xp.mean(x)) / xp.std(x)

x = jnp.arange(6.0)
print(array_api_compat.is_jax_array(x), array_api_compat.array_namespace(x).__name__, array_api_compat.size(x))
print(jax.jit(normalized)(x), jax.jacobian(normalized)(x).shape)
""",
        ("tests",),
        select="jax",
    ),
    Library(
        "array-api-extra==0.11.5",
        "array_api_extra",
        """
x = jnp.asarray([3.0, -1.0, 2.0, 0.5])
print(array_api_extra.at(x, 1).add(10.0), array_api_extra.cov(jnp.stack([x, x**2])))
print(jax.jit(lambda x: array_api_extra.apply_where(x > 0, x, jnp.sqrt, fill_value=0.0))(x))
print(array_api_extra.one_hot(jnp.asarray([0, 2]), 3), array_api_extra.nunique(x), array_api_extra.sinc(x))
""",
        ("tests/main",),
        needs=("hypothesis",),
        select="jax",
        reasons={
            "test_lazy_xp_function_classes": _TEXTS,
            "test_class_methods_wrapped": _TEXTS,
        },
    ),
)
