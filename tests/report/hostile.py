"""Texts that look like markup, formulas, another direction or another row; and long names."""

SCRIPT = "<script>document.title='owned'</script>"
CLOSING = "</script><img src=x onerror=\"document.title='owned'\">"
QUOTES = "a\"b'c`d&amp;{{7*7}}{% raw %}"
ARABIC = "\u202eعربي\u202c"
ARABIC_SHOWN = "عربي"  # without what would turn the rest of the line
EMOJI = "🔬🔥"
DOLLARS = "$x^2$ \\frac{1}"
CONTROL = "a\x00b\x1bc\nd\te"

NAMES = {
    "fused": SCRIPT,
    "naive": CLOSING,
    "split": QUOTES,
    "rope": ARABIC,
    "none": EMOJI,
    "learned": DOLLARS,
    "rms": CONTROL,
    "words": CLOSING,
}
LONG = {
    "fused": "window(size=64,dilation=2,causal=False)",
    "naive": "performer(features=256,kernel=softplus)",
    "split": "linear(kernel=elu,normalise=True)",
    "sin": "sinusoidal(base=10000,learned=False)",
    "none": "relative_bias(buckets=32,max_distance=128)",
    "rope": "rope(base=500000,fraction=0.25)",
}
