"""``zoo predict`` and ``zoo generate``: what a saved model answers."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from zoo.cli.model import SavedModel, limits, model_options, notes, read_texts, source_options
from zoo.cli.options import SEED, json_option, print_json, print_table
from zoo.errors import ZooError


@click.command()
@source_options("text")
@model_options
@click.argument("texts", metavar="[TEXT]...", nargs=-1)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print a line of JSON for every text, with the probability of every class or tag.",
)
def predict(
    saved: SavedModel, texts: tuple[str, ...], source: str | None, as_json: bool, **options: Any
) -> None:
    """Print what the model predicts for every text: the class, or a tag for each token.

    \b
    zoo predict model "the striker scored twice" "shares fell"
    zoo predict model --input articles.csv --text-column title,body --json
    zoo predict model --input train.csv --no-header --text-column 2,3
    cat lines.txt | zoo predict model
    zoo predict tagger --input sentences.conll

    A text that is longer than the model is cut, as in training, words may be unknown to the model,
    and a text may be empty: notes say so. For a tagger a file that ends in .conll holds a token in
    the first column of every line (in .conllu the second), and a blank line between two texts.
    """
    wanted = read_texts("text", texts, source, options)
    model = saved.open("predict")

    from zoo.models.text_model import TextTagger

    if isinstance(wanted[0], list) and not isinstance(model, TextTagger):
        raise ZooError("--input: CoNLL columns are for a model of tags")
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", "no tokens in text")  # whatever PYTHONWARNINGS says
        answers = model.predict(wanted)
    notes([str(warning.message) for warning in caught])
    if as_json:
        for answer in answers:
            about = {name: value for name, value in vars(answer).items() if name != "distribution"}
            print_json(about, indent=None)
    elif isinstance(model, TextTagger):
        _print_tags(answers)
    else:
        _print_labels(answers)
    cut, unknown = (sum(getattr(a, n) > 0 for a in answers) for n in ("cut", "unknown"))
    limits(cut, unknown, model.max_length)


def _print_labels(answers: Sequence[Any]) -> None:
    """A line for every text."""
    shares = ("" if a.probability is None else f"{a.probability:.3f}" for a in answers)
    rows = [[a.label, share, a.text] for a, share in zip(answers, shares, strict=True)]
    print_table(rows, ["label", "probability", "text"])


def _print_tags(answers: Sequence[Any]) -> None:
    """A line for every token, and an empty line between two texts."""
    rows: list[list[str]] = []
    for answer in answers:
        rows += [["", "", ""]] if rows else []
        for token, tag, share in zip(answer.tokens, answer.tags, answer.probabilities, strict=True):
            rows.append([token, tag, f"{share:.3f}"])
    print_table(rows, ["token", "tag", "probability"])


@click.command()
@click.option(
    "--prompt", "prompts", metavar="TEXT", multiple=True, help="A prompt; may be repeated."
)
@source_options("prompt")
@click.option(
    "--max-new-tokens",
    "max_new",
    type=click.IntRange(min=1),
    metavar="N",
    help="Most tokens to generate.  [default: 50; of an encoder-decoder, all that it has room for]",
)
@click.option("--temperature", type=float, metavar="T", help="Sample, from logits divided by T.")
@click.option("--seed", type=SEED, metavar="S", help="Of sampling.  [default: 0]")
@click.option(
    "--beam",
    "beams",
    type=int,
    metavar="N",
    default=1,
    show_default=True,
    help="Search with N beams, without sampling.",
)
@click.option(
    "--no-repeat-ngram",
    "no_repeat",
    type=int,
    metavar="N",
    help="Never repeat a run of N tokens within a text.",
)
@model_options
@json_option
def generate(
    saved: SavedModel,
    prompts: tuple[str, ...],
    source: str | None,
    seed: int | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Continue each prompt or, with an encoder-decoder, generate the target of each source.

    \b
    zoo generate model --prompt "the market"
    zoo generate model --prompt "the market" --temperature 0.8 --seed 1
    zoo generate translator --prompt "a b c" --beam 4

    The likeliest token is taken each time, unless sampling or a beam search is asked for. With
    --json there is a line for each prompt: text, tokens, whether it ended, log-probability.
    """
    decoding = {
        name: options.pop(name) for name in ("max_new", "temperature", "beams", "no_repeat")
    }
    if seed is not None and decoding["temperature"] is None:
        raise ZooError("--seed is for sampling: give --temperature as well")
    wanted = read_texts("prompt", prompts, source, options)
    model = saved.open("generate")
    for text in list(model.generate(wanted, seed=seed or 0, **decoding)):
        if as_json:
            print_json(asdict(text), indent=None, allow_nan=True)
        else:
            click.echo(text.prompt + text.text if model.continues_prompt else text.text)
