"""What each attention can do: declared when registering; all other calls are refused."""

from __future__ import annotations

CAPABILITIES: dict[str, tuple[str, ...]] = {
    "linear": ("rotate", "padding", "causal", "cross", "cache"),
    # With random features, rotated scores depend on offsets alone only on average.
    "performer": ("rotate", "absolute", "padding", "causal", "cross", "cache", "map"),
    # A position's output depends on its own query only, so queries may come from elsewhere ...
    "linformer": ("rotate", "padding", "cross", "order", "fixed-length"),
    # ... but Nyström's landmarks are means of all queries, and Fourier mixes all positions.
    "nystrom": ("rotate", "padding", "order"),
    "window": ("rotate", "bias", "padding", "causal", "map", "order"),
    "fourier": ("padding", "order", "one-head"),
}
