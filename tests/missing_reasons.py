"""Why stagec does not have names and arguments of JAX, for docs/reference/missing.md."""

# reason -> module of JAX -> its names, or None for all that the module has
NAMES = {
    "**Several accelerators in one program**, and types of arrays that say how they are split: the devices of a "
    "process [share one memory](../how-to/several-devices.md).": {
        "jax": "auto_pcast host_count host_id host_ids remove_size_one_mesh_axis_from_type thread_guard",
        "jax.experimental": "array_serialization colocated_python compute_on custom_partitioning layout overlap "
        "topologies transfer",
        "jax.lax": "psum_scatter_start ragged_all_to_all",
        "jax.sharding": "AbstractDevice ManualAxisType UnreducedKind no_collectives",
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
    },
    "**Internals of JAX**, with which its interpreters are extended, and classes that it returns. Functions of stagec "
    "return [classes of its own](index.md).": {
        "jax": "ad",
        "jax.debug": "DebugEffect OrderedDebugEffect",
        "jax.errors": "JaxprTypeError",
        "jax.experimental": "hijax profiler source_mapper",
        "jax.stages": None,
    },
    "**XLA, Pallas and TPUs**: programs are compiled by IREE, and host functions are called with `pure_callback`.": {
        "jax.experimental": "buffer_callback fused jax2tf mosaic pallas roofline scheduling_groups "
        "serialize_executable thunky xla_metadata",
        "jax.ffi": None,
        "jax.profiler": None,
    },
    "**JAX's exchange format**, which is [under `stagec.compat`](../how-to/run-jax-code.md#exported-functions) alone: "
    "[stagec's files](../how-to/ship-a-model.md) take its place.": {
        "jax.errors": "InconclusiveDimensionOperation",
        "jax.export": None,
    },
    "**Policies of `checkpoint` with three answers**: policies here return a bool, and nothing is offloaded. A name "
    "counts for derivatives of all kinds.": {
        "jax.ad_checkpoint": "Offloadable Recompute Saveable checkpoint_name_fwd",
    },
    "**Under `stagec.compat` alone**: levels of XLA's effort, how it inlines calls (`jit(inline=True)` here), and a "
    "name for annotations.": {
        "jax": "CompilerEffortLevel Inline",
        "jax.random": "Key",
    },
    "**One-bit integers**: JAX has the names, and does not compute with them on the CPU.": {
        "jax.numpy": "int1 uint1",
    },
    "**Not written.** For quantized products there is `nn.scaled_matmul`; for reuse of keys `stagec.debug_key_reuse`; "
    "for higher derivatives `stagec.jvp` of `stagec.jvp`.": {
        "jax.experimental": "jet key_reuse rnn",
        "jax.nn": "get_scaled_dot_general_config scaled_dot_general",
    },
}

# reason -> names of arguments
ARGUMENTS = {
    "JAX takes nothing but None for them; for `where`, use `numpy.where`": "out where",
    "they name processes": "host_id",
    "what a function saves, logs and accumulates for its derivative is not for others to read or replace": "remat "
    "saveable_args with_accums with_logs",
}

# reason -> functions and their arguments that are at another position, or have another default
DIFFERENT = {
    "arrays hold no objects": "allow_pickle",
    "the same for all arguments that JAX takes": "random.weibull_min:shape scipy.special.zeta:q",
    "singular values are computed either way": "scipy.linalg.polar:method",
}

# The same of NumPy and SciPy.
NUMPY_NAMES = {
    "**What writes to arrays, or looks at their memory**: arrays cannot be changed; `x.at[...]` "
    "makes changed copies.": {
        "numpy": "broadcast copyto flatiter memmap may_share_memory ndenumerate ndindex nditer nested_iters "
        "putmask require "
        "shares_memory ascontiguousarray asfortranarray isfortran asanyarray asarray_chkfinite",
    },
    "**Text, dates, records and objects**: arrays hold numbers and booleans.": {
        "numpy": "busday_count busday_offset busdaycalendar bytes_ datetime64 datetime_as_string datetime_data "
        "is_busday isnat "
        "recarray record str_ timedelta64 void",
    },
    "**Classes of NumPy's own**, which NumPy advises against, and functions that make them.": {
        "numpy": "asmatrix bmat matrix poly1d row_stack",
    },
    "**Names of C's types**, and of floats that no device has: the dtypes have the names with their bits.": {
        "numpy": "byte clongdouble complex256 float128 half intc intp long longdouble longlong short ubyte uintc "
        "uintp ulong "
        "ulonglong ushort sctypeDict typecodes typename ScalarType False_ True_",
    },
    "**Text files**: `numpy.loadtxt` and the like return NumPy's arrays, which all functions take.": {
        "numpy": "fromregex genfromtxt loadtxt savetxt savez_compressed",
    },
    "**Text of single numbers**: NumPy's functions take elements of arrays.": {
        "numpy": "array2string base_repr binary_repr format_float_positional format_float_scientific",
    },
    "**NumPy's own settings and facts about it**: programs have [options](config.md), and do not warn; `stagec doctor` "
    "and `stagec.print_environment_info` say what is installed.": {
        "numpy": "errstate get_include getbufsize geterr geterrcall info little_endian setbufsize seterr seterrcall "
        "show_config show_runtime test",
    },
    "**What depends on the values of the elements for the type of the result**: dtypes are known "
    "when a function is traced.": {
        "numpy": "common_type min_scalar_type mintypecode real_if_close",
    },
    "**Errors of NumPy's**: results are NaN where NumPy raises it.": {"numpy.linalg": "LinAlgError"},
    "**Not in JAX either.** SciPy's functions take arrays outside of `jit`, and are called from programs by "
    "`stagec.pure_callback`.": {
        "scipy.cluster.vq": None,
        "scipy.fft": None,
        "scipy.integrate": None,
        "scipy.interpolate": None,
        "scipy.linalg": None,
        "scipy.ndimage": None,
        "scipy.optimize": None,
        "scipy.signal": None,
        "scipy.special": None,
        "scipy.stats": None,
    },
}
