"""`jax.config`: all options of JAX. Those that mean something here set stagec's; the others hold their values."""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import os
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from stagec.core import errors, location
from stagec.core.config import config as of_stagec


class Same(NamedTuple):
    """An option of stagec's that stands for one of JAX's, and how the values of one are those of the other."""

    name: str
    set: Callable[[Any], Any] = lambda value: value
    get: Callable[[Any], Any] = lambda value: value


def _text(name: str) -> Same:
    """An option that is None in JAX where it is empty text here."""
    return Same(name, lambda value: value or "", lambda value: value or None)


EFFECTIVE = {
    **{
        f"jax_{name}": Same(name)
        for name in (
            "enable_x64 disable_jit debug_nans debug_infs debug_key_reuse numpy_rank_promotion numpy_dtype_promotion "
            "default_matmul_precision default_device"
        ).split()
    },
    "jax_compilation_cache_dir": _text("cache_dir"),
    "jax_compilation_cache_max_size": Same("cache_max_bytes", lambda value: sys.maxsize if value == -1 else value),
    "jax_dump_ir_to": Same("dump"),
    "jax_enable_compilation_cache": Same("enable_cache"),
    "jax_num_cpu_devices": Same(
        "num_cpu_devices", lambda value: 1 if value == -1 else value, lambda count: count if count > 1 else -1
    ),
    "jax_log_compiles": Same("log", lambda on: "compile" if on else "", lambda log: "compile" in log or "all" in log),
    "jax_platform_name": Same("platforms"),
    "jax_platforms": _text("platforms"),
    "jax_traceback_filtering": Same(
        "full_tracebacks", lambda how: how == "off", lambda full: "off" if full else "auto"
    ),
}

# The options that hold their values, by their defaults.
_HELD: list[tuple[Any, str]] = [
    (
        False,
        """
        check_vma eager_constant_folding jax2tf_associative_scan_reductions jax_bcoo_cusparse_lowering
        jax_check_static_indices jax_check_tracer_leaks jax_compilation_cache_check_contents
        jax_compilation_cache_expect_pgle jax_compilation_cache_include_metadata_in_key jax_custom_vjp3
        jax_debug_leaked_clients_on_clear_backends jax_disable_bwd_checks jax_disable_most_optimizations
        jax_disable_vmap_shmap_error jax_disallow_mesh_context_manager jax_distributed_debug jax_enable_checks
        jax_enable_custom_prng jax_enable_pgle jax_enable_recoverability jax_experimental_unsafe_xla_runtime_errors
        jax_explain_cache_misses jax_export_ignore_forward_compatibility jax_force_dcn_cross_host_transfers
        jax_high_dynamic_range_gumbel jax_log_checkpoint_residuals jax_mosaic_allow_hlo jax_no_execution jax_no_tracing
        jax_pallas_enable_debug_checks jax_pallas_poison_buffers jax_pallas_verbose_errors
        jax_ragged_dot_use_gpu_pallas_triton_lowering jax_raise_persistent_cache_errors jax_refs_to_pins jax_remat3
        jax_remove_custom_partitioning_ptr_from_cache_key jax_remove_size_one_mesh_axis_from_type jax_scan3
        jax_share_binary_between_hosts jax_softmax_custom_jvp jax_thread_guard jax_threefry_gpu_kernel_lowering
        jax_use_emit_pipeline_primitive jax_use_simplified_jaxpr_constants
        """,
    ),
    (
        True,
        """
        jax2tf_default_native_serialization jax_allow_f16_reductions jax_auto_pcast jax_check_proxy_envs
        jax_compiler_enable_remat_pass jax_cpu_enable_async_dispatch jax_enable_preemption_service
        jax_include_debug_info_in_dumps jax_include_full_tracebacks_in_locations jax_mutable_array_checks
        jax_pallas_use_mosaic_gpu jax_pprint_use_color jax_ragged_dot_use_ragged_dot_instruction
        jax_sort_devices_by_process_index jax_threefry_partitionable jax_use_direct_linearize
        jax_use_shardy_partitioner
        """,
    ),
    (
        None,
        """
        jax_array_garbage_collection_guard jax_cross_host_transfer_timeout_seconds
        jax_cross_host_transfer_transfer_size jax_hlo_source_file_canonicalization_regex
        jax_pjrt_client_create_options jax_source_url_schema jax_transfer_guard jax_transfer_guard_device_to_device
        jax_transfer_guard_device_to_host jax_transfer_guard_host_to_device
        """,
    ),
    (
        "",
        """
        jax_backend_target jax_cross_host_transfer_socket_address jax_cross_host_transport_addresses
        jax_debug_log_modules jax_mock_gpu_topology jax_xla_backend
        """,
    ),
    (
        0,
        """
        jax_captured_constants_report_frames jax_persistent_cache_min_entry_size_bytes jax_random_seed_offset
        jax_serialization_version jax_xla_profile_version mock_num_gpu_processes
        """,
    ),
    (2, "jax_cpu_get_local_topology_timeout_minutes"),
    (3, "jax_pgle_profiling_runs"),
    (5, "jax_cpu_get_global_topology_timeout_minutes jax_tracer_error_num_traceback_frames"),
    (10, "jax_compiler_detailed_logging_min_ops jax_export_calling_convention_version"),
    (32, "jax_embedded_constants_max_bytes"),
    (90, "jax_pgle_aggregation_percentile"),
    (100, "jax_traceback_in_locations_limit"),
    (1_200_000, "jax_share_binary_between_hosts_timeout_ms"),
    (2_000_000_000, "jax_captured_constants_warn_bytes"),
    (0.0, "jax_exec_time_optimization_effort jax_memory_fitting_effort"),
    (1.0, "jax_persistent_cache_min_compile_time_secs"),
    ("all", "jax_cuda_visible_devices jax_oneapi_visible_devices jax_rocm_visible_devices"),
    ("allow", "jax_legacy_prng_key"),
    ("auto", "jax_use_magma"),
    ("gloo", "jax_cpu_collectives_implementation"),
    (
        "ignore",
        "jax_error_checking_behavior_divide jax_error_checking_behavior_nan jax_error_checking_behavior_oob",
    ),
    ("NOTSET", "jax_logging_level"),
    ("O2", "jax_memory_fitting_level"),
    ("off", "jax_send_traceback_to_runtime"),
    ("stablehlo", "jax_dump_ir_modes"),
    ("threefry2x32", "jax_default_prng_impl"),
    ("UNKNOWN", "jax_optimization_level"),
    ("warn", "jax_explicit_x64_dtypes"),
    ("xla_gpu_per_fusion_autotune_cache_dir", "jax_persistent_cache_enable_xla_caches"),
]
HELD = {name: default for default, names in _HELD for name in names.split()}

_NONE: Mapping[str, Any] = types.MappingProxyType({})


def _checked(name: str, value: Any) -> Any:
    if name == "jax_default_prng_impl" and value != HELD[name]:
        raise location.error(
            errors.UnsupportedError,
            f"jax.config: {name}={value!r}; stagec has one generator of random numbers",
            fix=f"use {HELD[name]!r}, and keys are made by it",
        )
    return value


class Config:
    """JAX's options as attributes, changed with `update`; names that JAX does not have are those of `stagec.config`."""

    def __init__(self) -> None:
        self._held = dict(HELD)
        self._overrides: contextvars.ContextVar[Mapping[str, Any]] = contextvars.ContextVar("held", default=_NONE)
        self._parsed = False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in EFFECTIVE:
            same = EFFECTIVE[name]
            return same.get(getattr(of_stagec, same.name))
        if name in self._held:
            return self._overrides.get().get(name, self._held[name])
        return getattr(of_stagec, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
        else:
            self.update(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *EFFECTIVE, *HELD})

    def update(self, name: str, val: Any) -> None:
        """Set an option for every thread."""
        if name in EFFECTIVE:
            same = EFFECTIVE[name]
            of_stagec.update(same.name, same.set(val))
        elif name in self._held:
            self._held[name] = _checked(name, val)
        else:
            of_stagec.update(name, val)

    def read(self, name: str) -> Any:
        """The value of an option."""
        return getattr(self, name)

    @property
    def values(self) -> dict[str, Any]:
        """All options of JAX with their values."""
        return {name: getattr(self, name) for name in sorted({*EFFECTIVE, *HELD})}

    @property
    def x64_enabled(self) -> bool:
        return bool(of_stagec.enable_x64)

    def override(self, name: str, value: Any) -> contextlib.AbstractContextManager[None]:
        """Set an option for a block, in this thread."""
        if name in EFFECTIVE:
            same = EFFECTIVE[name]
            return of_stagec.override(**{same.name: same.set(value)})
        return self._holding(name, _checked(name, value))

    @contextlib.contextmanager
    def _holding(self, name: str, value: Any) -> Iterator[None]:
        token = self._overrides.set({**self._overrides.get(), name: value})
        try:
            yield
        finally:
            self._overrides.reset(token)

    def read_environment(self) -> None:
        """Set the options that JAX's environment variables name, such as `JAX_ENABLE_X64`.

        Raises:
          ValueError: a variable holds what its option cannot be.
        """
        for name in (*EFFECTIVE, *HELD):
            text = os.environ.get(name.upper())
            if text is not None:
                self.update(name, self._parse(name, text))

    def read_xla_flags(self) -> None:
        """Divide the CPU as `--xla_force_host_platform_device_count` in `XLA_FLAGS` says, when devices are listed."""
        for flag in os.environ.get("XLA_FLAGS", "").split():
            name, _, count = flag.partition("=")
            if name == "--xla_force_host_platform_device_count" and count.isdigit():
                self.update("jax_num_cpu_devices", int(count))

    def _parse(self, name: str, text: str) -> Any:
        """The value that a text stands for, by the type of the option's value."""
        kind = type(getattr(self, name))
        if kind is bool:
            return text.strip().lower() not in ("", "0", "false", "f", "no", "n", "off")
        try:
            return kind(text) if kind in (int, float) else text
        except ValueError:
            raise location.error(
                ValueError, f"{name.upper()}={text}: not a value of type {kind.__name__}", fix=f"unset {name.upper()}"
            ) from None

    def config_with_absl(self) -> None:
        """Define a flag of absl for each option; their values are set when absl's `app.run` has parsed them."""
        from absl import app, flags  # optional

        define: dict[type, Any] = {bool: flags.DEFINE_bool, int: flags.DEFINE_integer, float: flags.DEFINE_float}
        for name, value in self.values.items():
            define.get(type(value), flags.DEFINE_string)(name, value, "an option of JAX")
        app.call_after_init(lambda: self.complete_absl_config(flags))

    def complete_absl_config(self, absl_flags: Any) -> None:
        """Set the options whose flags were given."""
        for name in (*EFFECTIVE, *HELD):
            if name in absl_flags.FLAGS and absl_flags.FLAGS[name].present:
                self.update(name, absl_flags.FLAGS[name].value)

    def parse_flags_with_absl(self) -> None:
        """Set the options that arguments of the command line name, such as `--jax_enable_x64`."""
        if self._parsed:
            return
        from absl import flags

        self.config_with_absl()
        before = itertools.takewhile(lambda text: text != "--", sys.argv)
        flags.FLAGS(["", *(text for text in before if text.startswith("--jax"))], known_only=True)
        self.complete_absl_config(flags)
        self._parsed = True


config = Config()


class Option:
    """An option for a block: `jax.enable_checks(True)`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.__name__ = name.removeprefix("jax_")

    @property
    def value(self) -> Any:
        """What it is now."""
        return getattr(config, self._name)

    def __call__(self, new_val: Any = True) -> contextlib.AbstractContextManager[None]:
        """Set it for a block, in this thread."""
        return config.override(self._name, new_val)

    def __repr__(self) -> str:
        return f"<option {self._name}>"


# Those of which JAX exports a context manager, and that stagec does not have itself.
OF_JAX = {
    name: Option(f"jax_{name}")
    for name in """
        allow_f16_reductions array_garbage_collection_guard auto_pcast default_prng_impl enable_checks
        enable_custom_prng explain_cache_misses legacy_prng_key no_execution no_tracing
        remove_size_one_mesh_axis_from_type softmax_custom_jvp thread_guard threefry_partitionable transfer_guard
        transfer_guard_device_to_device transfer_guard_device_to_host transfer_guard_host_to_device
    """.split()
} | {"jax2tf_associative_scan_reductions": Option("jax2tf_associative_scan_reductions")}


def __getattr__(name: str) -> Any:
    """What `jax._src.config` has of each option."""
    full = name if name in HELD else f"jax_{name}"
    if full not in EFFECTIVE and full not in HELD:
        raise AttributeError(f"jax has no option {full}")
    return Option(full)
