"""A plug-in file with a small streamed data set."""

PLUGIN = '''
import random
from zoo.data import Corpus
from zoo.registry.declarations import part

@part(
    "data",
    "first-symbol",
    adds=("text-labels", "streamed"),
    recipe={"lr": (0.003, 0.01), "evaluate_every": 160, "seeds": 2, "layers": 1, "ffn_dim": 64},
)
def first_symbol(*, train: int = 2400) -> Corpus:
    """Which symbol stands first."""
    draw, labels = random.Random(0), {}
    while len(labels) < train + 300:
        words = [draw.choice("abcdefgh") for _ in range(6)]
        labels[" ".join(words)] = int(words[0] in "abcd")
    rows = list(labels.items())
    ends = {"train": (0, train), "validation": (train, train + 100), "test": (train + 100, None)}
    splits = {name: tuple(zip(*rows[a:b])) for name, (a, b) in ends.items()}
    return Corpus("first-symbol", splits, ["no", "yes"], chance=0.5, word_level=True)
'''
