"""The page as HTML: a template that holds its styles and scripts, and the data."""

from __future__ import annotations

import html
import importlib.resources
import json
from typing import Any

from stagec.core.webpage import WEBASSEMBLY, filled


def page(data: dict[str, Any], live: bool = False) -> str:
    """The page for what `gather` and `form` found. It loads nothing, and its policy lets it load and run nothing else.

    Args:
      live: whether the page asks its server for later versions, and for nothing else.

    >>> text = page({"title": "<f>", "panes": []})
    >>> "<title>&lt;f&gt;</title>" in text, "<f>" in text
    (True, False)
    """
    template = importlib.resources.files("stagec.viewing").joinpath("page.html").read_text("utf-8")
    # Inside a script element, only `<` can end it.
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    parts = {"title": html.escape(str(data["title"])), "data": text}
    if live:
        return filled(template, parts, "; connect-src 'self'; frame-src 'self'")
    framed = data.get("form", {}).get("page", "")
    return filled(template, parts, WEBASSEMBLY if framed else "", framed)
