"""Pages of one file: a template with styles and scripts, which loads nothing and lets nothing else run."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping

# The colors have a contrast of at least 4.5 to both backgrounds.
_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{{policy}}">
<title>{{title}}</title>
<style>
:root {
  color-scheme: light dark;
  --back: light-dark(#fbfbfa, #14171b); --panel: light-dark(#fff, #1b1f24); --text: light-dark(#1f2328, #e2e6ea);
  --dim: light-dark(#626a73, #98a2ad); --edge: light-dark(#d8dbdf, #343b43); --accent: light-dark(#0b62c4, #79b4ff);
  --bar: light-dark(#9cc3ee, #2f5f94); --fault: light-dark(#b3261e, #ff9d94);
  --mono: ui-monospace, "SF Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace;
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 15px/1.45 system-ui, sans-serif; }
</style>
"""
# What lets the scripts of a page compile WebAssembly.
WEBASSEMBLY = " 'wasm-unsafe-eval'"
_INLINE = re.compile(r'<(style|script)(?: type="module")?>(.*?)</\1>', re.DOTALL)


def filled(template: str, parts: Mapping[str, str], scripts: str = "", framed: str = "") -> str:
    """A page: the head that all pages have, then a template with its parts, whose styles and script alone may run.

    Args:
      template: a page from its own styles on.
      parts: HTML, or JSON without `<`, for each `{{name}}`; `title` for the head.
      scripts: what else the policy lets scripts do, and further directives after a semicolon.
      framed: a page that a script shows in a frame, which has to obey this page's policy, too.

    >>> page = filled("<style>{{color}}</style></head><script>{}</script>", {"title": "f", "color": "a{}"})
    >>> "<title>f</title>" in page, page.endswith("<style>a{}</style></head><script>{}</script>")
    (True, True)
    >>> page.count("'sha256-")
    3
    """
    text = re.sub(r"\{\{(\w+)\}\}", lambda found: parts.get(found[1], found[0]), _HEAD + template)
    allowed: dict[str, list[str]] = {"style": [], "script": []}
    for kind, content in _INLINE.findall(text + framed):
        allowed[kind].append(_digest(content))
    policy = f"default-src 'none'; base-uri 'none'; form-action 'none'; style-src {' '.join(allowed['style'])}; "
    return text.replace("{{policy}}", f"{policy}script-src {' '.join(allowed['script'])}{scripts}", 1)


def _digest(content: str) -> str:
    """The source expression of a policy that allows one inline element."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
