"""What each kind's new plug-in starts from."""

from __future__ import annotations

from dataclasses import dataclass

# A first run takes seconds: no costs, one layer, and the beginning of each text.
QUICK = "--data newswire --phases train --epochs 2 --layers 1 --max-length 64"
MORE = "Without `--phases train` speed and memory are measured as well, which takes longer."
ROWS = (
    "The last line trains a small model with it and one with the other, and prints one row for "
    f"each. {MORE}"
)


@dataclass(frozen=True)
class Starter:
    """The component that a new plug-in of a kind starts from.

    summary: what it computes as written. suffix: of its class name; empty where the factory is a
    function, named ``function``. capabilities, parameters: the arguments of ``register``, as Python
    source. bench: the options of its first run, with ``NAME`` for the component; empty where no run
    has it alone. shows: what that run prints. requires: what it imports besides torch and the zoo.
    """

    summary: str
    suffix: str = ""
    function: str = ""
    capabilities: str = ""
    parameters: str = ""
    bench: str = ""
    shows: str = ROWS
    requires: tuple[str, ...] = ()


STARTERS = {
    "attention": Starter(
        "softmax attention with a sharpness",
        suffix="Attention",
        capabilities='"rotate", "bias", "content-bias", "padding", "causal", "cross", "cache"',
        parameters='"sharpness": 1.0',
        bench=f"--attention NAME,fused {QUICK}",
    ),
    "pe": Starter(
        "scores lowered by the logarithm of distance",
        suffix="Encoding",
        capabilities='"bias", "order"',
        parameters='"strength": 1.0',
        bench=f"--pe NAME,rope {QUICK}",
    ),
    "norm": Starter(
        "unit mean absolute value, learned scale",
        suffix="Norm",
        capabilities='"scale-invariant",',
        parameters='"eps": 1e-6',
        bench=f"--norm NAME,rms {QUICK}",
    ),
    "ffn": Starter(
        "two linear layers with Mish in between",
        suffix="FFN",
        bench=f"--ffn NAME,gelu {QUICK}",
    ),
    "block": Starter(
        "x + norm(sub-layer(x))",
        suffix="Block",
        capabilities='"residual", "cross"',
        bench=f"--block NAME,pre {QUICK}",
    ),
    "pool": Starter(
        "maximum of each feature over real tokens",
        suffix="Pool",
        bench=f"--pool NAME,mean {QUICK}",
    ),
    "data": Starter(
        "which of two words comes first, among others",
        function="load",
        capabilities='"text-labels",',
        parameters='"seed": 0, "train": 1000, "test": 400, "length": 12',
        bench="--data NAME --pe rope,none --phases train --epochs 5 --layers 1",
        shows="The last line trains two small models on it: one that sees the order of the words, "
        f"and one that does not and is left to guess, as the baseline is. {MORE}",
    ),
    "baseline": Starter(
        "naive Bayes on the counts of words",
        suffix="Baseline",
        capabilities='"texts", "deterministic"',
        parameters='"smoothing": 1.0',
        bench=f"--baseline NAME,tfidf-logreg {QUICK}",
        shows="The last line fits it and the bag of words that is the zoo's own baseline, trains a "
        "small model, and prints a row for each. A second row, with `whole=True`, has it on whole "
        "texts, of which a model reads the beginning.",
        requires=("scikit-learn>=1.4",),
    ),
    "task": Starter(
        "text classification that stops at a level of loss",
        suffix="Task",
        bench=f"--task NAME --attention fused,naive {QUICK}",
        shows="The last line trains two small models for it, and prints one row for each.",
    ),
    "metric": Starter(
        "the lowest recall of any class",
        function="metric",
        shows="Tables have it where a task names it: add it to the `metrics` of a task of your "
        "own, such as one that `zoo new task` writes.",
    ),
}
