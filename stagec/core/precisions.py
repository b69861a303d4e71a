"""JAX's names of the precision of products, and which of the three of StableHLO each is."""

from __future__ import annotations

# None is the fastest that hardware offers.
PRECISIONS: dict[str, str | None] = {
    **dict.fromkeys(("default", "fastest", "bfloat16")),
    **dict.fromkeys(("high", "bfloat16_3x", "tensorfloat32"), "high"),
    **dict.fromkeys(("highest", "float32"), "highest"),
    # The presets of algorithms, in lower case.
    **dict.fromkeys(("any_f8_any_f8_f32", "any_f8_any_f8_f32_fast_accum")),
    **dict.fromkeys(("any_f8_any_f8_any", "any_f8_any_f8_any_fast_accum")),
    **dict.fromkeys(("f16_f16_f16", "f16_f16_f32", "bf16_bf16_bf16", "bf16_bf16_f32")),
    **dict.fromkeys(("bf16_bf16_f32_x3", "tf32_tf32_f32"), "high"),
    **dict.fromkeys(("bf16_bf16_f32_x6", "bf16_bf16_f32_x9", "tf32_tf32_f32_x3"), "highest"),
    **dict.fromkeys(("f32_f32_f32", "f64_f64_f64"), "highest"),
}
