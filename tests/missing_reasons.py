"""Why stagec does not have names and arguments of JAX, for docs/reference/missing.md."""

# reason -> module of JAX -> its names, or None for all that the module has
NAMES = {
    "**Several devices or processes in one program**, and what describes how arrays lie on them: a program runs on one "
    "device.": {
        "jax": "NamedSharding P Shard auto_pcast host_count host_id host_ids make_array_from_callback "
        "make_array_from_process_local_data make_array_from_single_device_arrays make_mesh pmap "
        "remove_size_one_mesh_axis_from_type reshard set_mesh shard_map smap thread_guard",
        "jax.Array": "addressable_shards global_shards sharding",
        "jax.debug": "inspect_array_sharding visualize_array_sharding visualize_sharding",
        "jax.distributed": None,
        "jax.experimental": "array_serialization colocated_python compute_on custom_partitioning layout mesh_utils "
        "multihost_utils pjit shard_alike shard_map topologies transfer",
        "jax.lax": "precv psend ragged_all_to_all",
        "jax.sharding": None,
    },
    "**Options of JAX's own machinery**, for which stagec has [options of its own](config.md), or no use: its "
    "checks of itself, its caches and guards, changes of its own that it makes step by step. `stagec.explain` says "
    "why a call compiled.": {
        "jax": "allow_f16_reductions array_garbage_collection_guard enable_checks explain_cache_misses "
        "jax2tf_associative_scan_reductions make_user_context no_execution no_tracing softmax_custom_jvp",
        "jax.experimental": "compilation_cache",
    },
    "**Guards of transfers, and spaces of memory**: arrays on the CPU are shared with NumPy, and on a GPU a transfer "
    "is made where a value is looked at.": {
        "jax": "memory transfer_guard transfer_guard_device_to_device transfer_guard_device_to_host "
        "transfer_guard_host_to_device",
    },
    "**Other generators of random numbers**: there is one, threefry2x32, partitionable, with typed and raw keys.": {
        "jax": "default_prng_impl enable_custom_prng legacy_prng_key threefry_partitionable",
        "jax.experimental": "random",
    },
    "**Internals of JAX**, with which its interpreters are extended, and classes that it returns. Functions of stagec "
    "return [classes of its own](index.md).": {
        "jax": "ad",
        "jax.debug": "DebugEffect OrderedDebugEffect",
        "jax.errors": "JaxprTypeError",
        "jax.experimental": "hijax profiler source_mapper",
        "jax.ref": "AbstractRef",
        "jax.stages": None,
    },
    "**XLA, Pallas and TPUs**: programs are compiled by IREE, and host functions are called with `pure_callback`.": {
        "jax.experimental": "buffer_callback control_deps fused jax2tf mosaic pallas roofline scheduling_groups "
        "serialize_executable xla_metadata",
        "jax.ffi": None,
        "jax.profiler": None,
    },
    "**JAX's exchange format**, whose place [stagec's files](../how-to/ship-a-model.md) take. Their shapes are known: "
    "there are no symbolic dimensions, and no errors about them.": {
        "jax.errors": "InconclusiveDimensionOperation",
        "jax.export": None,
    },
    "**Policies of `checkpoint` with three answers**: policies here return a bool, and nothing is offloaded.": {
        "jax.ad_checkpoint": "Offloadable Recompute Saveable",
    },
    "**One-bit integers**: JAX has the names, and does not compute with them on the CPU.": {
        "jax.numpy": "int1 uint1",
    },
    "**Not written.** For quantized products there is `nn.scaled_matmul`; for reuse of keys `stagec.debug_key_reuse`; "
    "for checks of values `stagec.debug_nans`; for higher derivatives `stagec.jvp` of `stagec.jvp`; for rotations "
    "SciPy, outside of programs.": {
        "jax.experimental": "checkify jet key_reuse ode rnn sparse",
        "jax.nn": "get_scaled_dot_general_config scaled_dot_general",
        "jax.scipy.spatial.transform": None,
    },
}

# reason -> names of arguments
ARGUMENTS = {
    "JAX takes nothing but None for them; for `where`, use `numpy.where`": "out where",
    "these are options of XLA": "compiler_options",
    "they name processes, and how values vary between devices": "host_id to",
}
