"""``zoo predict`` and ``zoo generate``: what a saved model answers, printed as it comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.model import (
    SavedModel,
    Source,
    model_options,
    report_limits,
    source_options,
    with_notices,
)
from zoo.cli.options import SEED, json_option, print_json, printable
from zoo.errors import ZooError

if TYPE_CHECKING:
    from zoo.models.text_model import FilledText, Prediction, TaggedText

CONLL = (".conll", ".conllu")
DIGITS = 6  # of a probability; float32 knows no more


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
def predict(saved: SavedModel, texts: tuple[str, ...], source: Source, as_json: bool) -> None:
    """Print what the model predicts for every text: the class, a tag for each token, or its masks.

    \b
    zoo predict model "the striker scored twice" "shares fell"
    zoo predict model --input articles.csv --text-column title,body --json
    zoo predict model --input train.csv --no-header --text-column 2,3
    cat lines.txt | zoo predict model
    zoo predict tagger --input sentences.conll
    zoo predict encoder "the striker [MASK] twice"

    Texts are predicted and printed a batch at a time. Lines are read as they are needed, so there
    may be any number of them; a table is read whole.
    A text that is longer than the model is cut, as in training, and words may be unknown to the
    model: a note says so. A text on the command line whose tokens are all unknown is an error; in
    a file its row says so. For a tagger a file that ends in .conll holds a token in the first
    column of every line (in .conllu the second), and a blank line between two texts.
    """
    wanted: Iterable[str | Sequence[str]] = source.texts(texts)
    model = saved.open("predict")

    from zoo.data.sources.tables import data_suffix
    from zoo.models.text_model import MaskFiller, TextTagger

    is_tagger = isinstance(model, TextTagger)
    if source.file is not None and data_suffix(Path(source.file)) in CONLL:
        if not is_tagger:
            raise ZooError(f"--input {source.file}: CoNLL columns are for a model of tags")
        wanted = _conll_texts(source, Path(source.file))
    counts = Counter[str]()

    def answers() -> Iterator[Any]:
        stream = model.stream(wanted)
        if texts:  # an unknown one is an error before anything is printed
            stream = list(stream)
            for number, answer in enumerate(stream, start=1):
                if answer.all_unknown:
                    raise ZooError(f"every token of text {number} is unknown to the model")
        for answer in stream:
            counts.update(texts=1, cut=answer.cut > 0, unknown=answer.unknown > 0)
            yield answer

    layout: Any = _TagLayout() if is_tagger else _TextLayout()
    if isinstance(model, MaskFiller):
        layout = _FillLayout()
    for number, answer in enumerate(answers(), start=1):
        if as_json:
            print_json(layout.json(answer), indent=None)
        else:
            layout.echo(number, answer)
    report_limits(counts["cut"], counts["unknown"], counts["texts"], model.max_length)


@click.command()
@click.option(
    "--prompt", "prompts", metavar="TEXT", multiple=True, help="A prompt; may be repeated."
)
@source_options("prompt")
@click.option(
    "--max-new-tokens",
    type=click.IntRange(min=1),
    metavar="N",
    help="Most tokens to generate.  [default: 50; of an encoder-decoder, all that it has room for]",
)
@click.option(
    "--temperature",
    type=float,
    metavar="T",
    help="Sample, from logits divided by T.  [default: 1 with --top-k or --top-p]",
)
@click.option("--top-k", type=int, metavar="K", help="Sample from the K likeliest tokens.")
@click.option(
    "--top-p",
    type=float,
    metavar="P",
    help="Sample from the likeliest tokens whose probabilities add up to P.",
)
@click.option("--seed", type=SEED, metavar="S", help="Of sampling.  [default: 0]")
@click.option(
    "--beam", type=int, metavar="N", help="Search with N beams, without sampling.  [default: 1]"
)
@click.option(
    "--no-repeat-ngram", type=int, metavar="N", help="Never repeat a run of N tokens within a text."
)
@click.option("--no-cache", is_flag=True, help="Recompute all tokens at each step; slower.")
@model_options
@json_option
def generate(
    saved: SavedModel,
    prompts: tuple[str, ...],
    source: Source,
    max_new_tokens: int | None,
    temperature: float | None,
    top_k: int | None,
    top_p: float | None,
    seed: int | None,
    beam: int | None,
    no_repeat_ngram: int | None,
    no_cache: bool,
    as_json: bool,
) -> None:
    """Continue each prompt or, with an encoder-decoder, generate the target of each source.

    \b
    zoo generate model --prompt "the market"
    zoo generate model --prompt "the market" --temperature 0.8 --top-p 0.9 --seed 1
    zoo generate translator --prompt "a b c" --beam 4

    The likeliest token is taken each time, unless sampling or a beam search is asked for. With
    --json there is a line for each prompt: text, tokens, whether it ended, log-probability.
    """
    sample = any(value is not None for value in (temperature, top_k, top_p))
    if seed is not None and not sample:
        raise ZooError("--seed is for sampling: give --temperature, --top-k or --top-p as well")
    wanted = source.texts(prompts)
    model = saved.open("generate")

    from zoo.models.decoding import Sampling

    try:
        divisor = 1.0 if temperature is None else temperature
        sampling = Sampling(divisor, top_k, top_p, seed or 0) if sample else None
    except ValueError as error:
        raise ZooError(str(error)) from error
    for text in model.generate(
        wanted,
        max_new=max_new_tokens,
        sampling=sampling,
        beams=1 if beam is None else beam,
        no_repeat=no_repeat_ngram,
        cache=not no_cache,
    ):
        if as_json:
            content = asdict(text) | {"log_probability": round(text.log_probability, DIGITS)}
            print_json(content, indent=None, allow_nan=True)
        else:
            click.echo(text.prompt + text.text if model.continues_prompt else text.text)


def _conll_texts(source: Source, path: Path) -> Iterator[list[str]]:
    from zoo.config.reading import TextReading, given_flags
    from zoo.data.sources.row_reader import usual_columns
    from zoo.data.sources.tables import Problems, read_conll

    if source.column is not None:
        raise ZooError("--text-column is for tables; a CoNLL file has a column of tokens")
    for flag in given_flags(source.reading, besides=TextReading).values():
        raise ZooError(f"{flag} is for tables, and {path} has CoNLL columns")
    table = read_conll(
        path, source.reading, lambda file, _, width: {"tokens": usual_columns(file, width)[0]}
    )
    problems = Problems(drop_bad_rows=source.reading.drop_bad_rows)
    problems.bad_rows(str(path), table.bad, len(table.frame) + len(table.bad))
    problems.refuse()
    if not len(table.frame):
        raise ZooError(f"{path} contains no text")
    return with_notices(table.frame["tokens"].tolist(), problems.notices)


class _TextLayout:
    """A line for every text."""

    width = 0  # of the column of labels, by the first prediction

    def echo(self, number: int, p: Prediction) -> None:
        if number == 1:
            self.width = max(map(len, ["label", p.label, *p.probabilities]))
            heading = "" if p.probability is None else "  probability"
            click.secho(f"{'label':<{self.width}}{heading}  text", bold=True)
        share = "" if p.probability is None else f"  {p.probability:>11.3f}"
        note = "  (every token is unknown to the model)" if p.all_unknown else ""
        click.echo(f"{p.label:<{self.width}}{share}  {printable(p.text)}{note}")

    def json(self, p: Prediction) -> dict[str, Any]:
        most = None if p.probability is None else round(p.probability, DIGITS)
        each = {label: round(share, DIGITS) for label, share in p.probabilities.items()}
        about = {"text": p.text, "label": p.label, "probability": most, "probabilities": each}
        return about | _counts(p)


class _TagLayout:
    """A line for every token with its tag, and an empty line between two texts."""

    def echo(self, number: int, p: TaggedText) -> None:
        tokens = [printable(token) for token in p.tokens]
        widths = [max(map(len, column)) for column in (["token", *tokens], ["tag", *p.tags])]
        if number == 1:
            click.secho(f"{'token':<{widths[0]}}  {'tag':<{widths[1]}}  probability", bold=True)
        else:
            click.echo()
        for token, tag, share in zip(tokens, p.tags, p.probabilities, strict=True):
            click.echo(f"{token:<{widths[0]}}  {tag:<{widths[1]}}  {share:>11.3f}")

    def json(self, p: TaggedText) -> dict[str, Any]:
        shares = [round(share, DIGITS) for share in p.probabilities]
        about = {"tokens": p.tokens, "tags": p.tags, "probabilities": shares}
        return about | {"cut": p.cut, "unknown": p.unknown}


class _FillLayout:
    """A line for every filled text, and beneath it a line for each of its masks."""

    def echo(self, number: int, p: FilledText) -> None:
        click.echo(printable(p.filled))
        for mask, pieces in enumerate(p.masks, start=1):
            shown = ", ".join(f"{printable(piece)} {share:.3f}" for piece, share in pieces)
            click.echo(f"  mask {mask}: {shown}")

    def json(self, p: FilledText) -> dict[str, Any]:
        masks = [{piece: round(share, DIGITS) for piece, share in pieces} for pieces in p.masks]
        return {"text": p.text, "filled": p.filled, "masks": masks} | _counts(p)


def _counts(prediction: Prediction | FilledText) -> dict[str, int]:
    return {name: getattr(prediction, name) for name in ("tokens", "cut", "unknown")}
