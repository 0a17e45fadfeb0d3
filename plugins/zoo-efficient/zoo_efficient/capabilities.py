"""What each attention can do: declared when registering, and all that it lets through."""

from __future__ import annotations

CAPABILITIES: dict[str, tuple[str, ...]] = {
    "linear": ("rotate", "padding", "causal", "cross", "cache"),
    # What its random features make of a rotation goes by the offset on average only.
    "performer": ("rotate", "absolute", "padding", "causal", "cross", "cache", "map"),
    # A row's output depends on its own query alone, so that queries may come from elsewhere ...
    "linformer": ("rotate", "padding", "cross", "order", "fixed-length"),
    # ... but here the landmarks are means of all queries, and there the rows mix each other.
    "nystrom": ("rotate", "padding", "order"),
    "window": ("rotate", "bias", "padding", "causal", "map", "order"),
    "fourier": ("padding", "order", "one-head"),
}
