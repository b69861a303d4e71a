"""Pages of one file: a template with styles and scripts, which loads nothing and lets nothing else run."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping

_INLINE = re.compile(r'<(style|script)(?: type="module")?>(.*?)</\1>', re.DOTALL)


def filled(template: str, parts: Mapping[str, str], scripts: str = "") -> str:
    """A template with its parts, and with a policy that allows its own style and script only.

    Args:
      parts: HTML, or JSON without `<`, for each `{{name}}`.
      scripts: what else the policy lets scripts do.

    >>> page = filled("{{policy}}<style>{{color}}</style><script>{}</script>", {"color": "a{}"})
    >>> page.partition(";")[0], page.endswith("<style>a{}</style><script>{}</script>")
    ("default-src 'none'", True)
    """
    text = re.sub(r"\{\{(\w+)\}\}", lambda found: parts.get(found[1], found[0]), template)
    allowed = {kind: _digest(content) for kind, content in _INLINE.findall(text)}
    policy = f"default-src 'none'; base-uri 'none'; form-action 'none'; style-src {allowed['style']}; "
    return text.replace("{{policy}}", f"{policy}script-src {allowed['script']}{scripts}", 1)


def _digest(content: str) -> str:
    """The source expression of a policy that allows one inline element."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
