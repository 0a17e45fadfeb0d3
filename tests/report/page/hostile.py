"""Texts that try to be something else: markup, formulas, another direction, another row."""

from __future__ import annotations

SCRIPT = "<script>document.title='owned'</script>"
CLOSING = "</script><img src=x onerror=\"document.title='owned'\">"
QUOTES = "a\"b'c`d&amp;{{7*7}}{% raw %}"
ARABIC = "\u202eعربي\u202c"
EMOJI = "👩‍🔬🔥"
DOLLARS = "$x^2$ \\frac{1}"
CONTROL = "a\x00b\x1bc\nd\te"

NAMES = {
    "fused": SCRIPT,
    "naive": CLOSING,
    "split": QUOTES,
    "sin": ARABIC,
    "none": EMOJI,
    "learned": DOLLARS,
    "rms": CONTROL,
    "words": CLOSING,
}
LABELS = [SCRIPT, CLOSING, ARABIC, EMOJI, QUOTES]
