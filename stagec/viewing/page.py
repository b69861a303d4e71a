"""The page as HTML: a template that holds its styles and scripts, and the data."""

from __future__ import annotations

import base64
import hashlib
import html
import importlib.resources
import json
import re
from typing import Any

_INLINE = re.compile(r"<(style|script)>(.*?)</\1>", re.DOTALL)


def page(data: dict[str, Any]) -> str:
    """The page for what `gather` found. It loads nothing, and its policy lets it load and run nothing else.

    >>> text = page({"title": "<f>", "panes": []})
    >>> "<title>&lt;f&gt;</title>" in text, "<f>" in text
    (True, False)
    """
    template = importlib.resources.files("stagec.viewing").joinpath("page.html").read_text("utf-8")
    allowed = {kind: _digest(content) for kind, content in _INLINE.findall(template)}
    policy = f"default-src 'none'; base-uri 'none'; form-action 'none'; style-src {allowed['style']}; "
    policy += f"script-src {allowed['script']}"
    # Inside a script element, only `<` can end it.
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    parts = {"policy": policy, "title": html.escape(str(data["title"])), "data": text}
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)


def _digest(content: str) -> str:
    """The source expression of a policy that allows one inline element."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
