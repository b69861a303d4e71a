"""The header of a C library for C++: sizes are checked, and codes become exceptions."""

from __future__ import annotations

import math

from stagec.core.dims import is_open
from stagec.standalone.c_text import comment, declared
from stagec.standalone.function import Function, Parameter
from stagec.standalone.sizes import spelled

_CHECKED = """
#ifndef STAGEC_CHECKED
#define STAGEC_CHECKED
#if __cplusplus >= 202002L
#include <span>
#endif

namespace stagec_detail {
inline void check_size(const char *name, std::size_t size, std::size_t expected)
{
  if (size != expected)
    throw std::length_error(std::string(name) + " has " + std::to_string(size) + " elements, not " +
                            std::to_string(expected));
}

inline void check_memory(const char *name, const void *memory, std::size_t size, std::size_t least, unsigned alignment)
{
  if (size < least)
    throw std::length_error(std::string(name) + " has " + std::to_string(size) + " bytes, and needs " +
                            std::to_string(least));
  if (reinterpret_cast<std::uintptr_t>(memory) % alignment)
    throw std::invalid_argument(std::string(name) + " is not at a multiple of " + std::to_string(alignment));
}

inline void check_code(int code)
{
  if (code == 1) throw std::runtime_error("the processor lacks what the code needs");
  if (code == 2) throw std::invalid_argument("the weights are not those of the library");
  if (code == 3) throw std::length_error("an open size is out of bounds");
}
}  // namespace stagec_detail
#endif
"""


def printed(function: Function, by: str) -> str:
    """The header's text.

    Args:
      by: what compiled the function.
    """
    large = function.name.upper()
    sizes = [f"std::size_t {size.name}" for size in function.sizes]
    pointers = [*sizes, *declared(function.arguments, True), *declared(function.results, False)]
    pointers += ["const void *weights"] if function.in_file else []
    names = [p.name for p in (*function.arguments, *function.results)] + (["weights"] if function.in_file else [])
    rest = "const stagec_threads *threads = nullptr"
    return f"""/* {comment(function.label)}, compiled by {by}. The arrays are described in {function.name}.h. */
#ifndef {large}_HPP
#define {large}_HPP

#include "{function.name}.h"

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
{_CHECKED}
namespace stagec {{
/* Calls the function of {function.name}.h, and throws an exception where that returns a code. */
#if __cplusplus >= 202002L
inline void {function.name}({", ".join([*(() if function.is_counted else sizes), *_spans(function), rest])})
{{
{_checks(function)}
  {_call(function, [f"{name}.data()" for name in (*names, "workspace")])}
}}
#else
inline void {function.name}({", ".join([*pointers, "void *workspace", rest])})
{{
  {_call(function, [*names, "workspace"])}
}}
#endif
}}  // namespace stagec

#endif
"""


def _spans(function: Function) -> list[str]:
    found = [f"std::span<const {p.scalar.type}> {p.name}" for p in function.arguments]
    found += [f"std::span<{p.scalar.type}> {p.name}" for p in function.results]
    found += ["std::span<const std::byte> weights"] if function.in_file else []
    return [*found, "std::span<std::byte> workspace"]


def _call(function: Function, given: list[str]) -> str:
    given = [*(size.name for size in function.sizes), *given, "threads"]
    return f"stagec_detail::check_code(::{function.name}({', '.join(given)}));"


def _checks(function: Function) -> str:
    large, lines = function.name.upper(), []
    arrays = (*function.arguments, *function.results)
    if function.is_counted:
        first = next(p for p in arrays if function.has_rows(p))
        divided = f" / {function.row(first)}" if function.row(first) > 1 else ""
        lines.append(f"const std::size_t {function.sizes[0].name} = {first.name}.size(){divided};")
    lines += [f'stagec_detail::check_size("{p.name}", {p.name}.size(), {_size(function, p)});' for p in arrays]
    needed = f"{large}_WORKSPACE"
    if function.numbers:
        needed += f"_FOR({', '.join([size.name for size in function.others])})"
    memory = [("workspace", needed, 16)]
    memory += [("weights", f"{large}_WEIGHTS", 64)] if function.in_file else []
    lines += [
        f'stagec_detail::check_memory("{name}", {name}.data(), {name}.size(), {size}, {alignment});'
        for name, size, alignment in memory
    ]
    return "\n".join(f"  {line}" for line in lines)


def _size(function: Function, parameter: Parameter) -> str:
    # Terms of a size may be negative.
    names = {s.symbol: s.name if function.is_counted else f"(long long){s.name}" for s in function.sizes}
    known = math.prod([n for n in parameter.aval.shape if not is_open(n)]) * parameter.scalar.parts
    factors = [spelled(n, names) for n in parameter.aval.shape if is_open(n)]
    factors = [f"({text})" if " " in text and (known != 1 or len(factors) > 1) else text for text in factors]
    return " * ".join([*factors, *([str(known)] if known != 1 or not factors else [])])
