"""``zoo generate``: what a saved model generates."""

from __future__ import annotations

import json

import click

from zoo.cli.model import model_options, open_model
from zoo.cli.options import json_option, load_zoo
from zoo.cli.texts import given_texts
from zoo.errors import ZooError


@click.command()
@model_options
@click.option("--prompt", "prompts", metavar="TEXT", multiple=True, help="May be repeated.")
@click.option(
    "--input",
    "source",
    metavar="FILE",
    help="A prompt per line, or a column of CSV, TSV or JSON lines; - for stdin.",
)
@click.option("--text-column", metavar="NAME", help="Column of the prompts (default: text).")
@click.option("--max-new-tokens", type=int, metavar="N", help="Most tokens to generate.")
@click.option("--temperature", type=float, metavar="T", help="Sample, from logits divided by T.")
@click.option("--top-k", type=int, metavar="K", help="Sample from the K likeliest tokens.")
@click.option(
    "--top-p",
    type=float,
    metavar="P",
    help="Sample from the likeliest tokens of probability P.",
)
@click.option("--seed", type=click.IntRange(min=0), metavar="S", help="Of sampling. Default: 0.")
@click.option("--beam", type=int, metavar="N", help="Beam search with N beams, without sampling.")
@click.option(
    "--no-repeat-ngram", type=int, metavar="N", help="Never repeat a run of N tokens within a text."
)
@click.option("--no-cache", is_flag=True, help="Recompute all tokens at each step; slower.")
@json_option
def generate(
    directory: str,
    device: str | None,
    allow_changed: bool,
    plugins: tuple[str, ...],
    prompts: tuple[str, ...],
    source: str | None,
    text_column: str | None,
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
    if max_new_tokens is not None and max_new_tokens < 1:
        raise ZooError(f"--max-new-tokens {max_new_tokens}: at least 1")
    drawing = any(value is not None for value in (temperature, top_k, top_p))
    if seed is not None and not drawing:
        raise ZooError("--seed is for sampling: give --temperature, --top-k or --top-p as well")
    given = given_texts(prompts, source, text_column, "prompt")
    registry = load_zoo(plugins).registry
    model = open_model(directory, device, allow_changed, registry, "generate")

    from zoo.models.decoding.sampling import Sampling

    try:
        sampling = (
            Sampling(1.0 if temperature is None else temperature, top_k, top_p, seed or 0)
            if drawing
            else None
        )
    except ValueError as error:
        raise ZooError(str(error)) from error
    generated = model.generate(
        given,
        max_new=max_new_tokens,
        sampling=sampling,
        beams=1 if beam is None else beam,
        no_repeat=no_repeat_ngram,
        cache=not no_cache,
    )
    seen = 0
    for one in generated:
        seen += 1
        if as_json:
            row = {
                "prompt": one.prompt,
                "text": one.text,
                "tokens": one.tokens,
                "ended": one.ended,
                "log_probability": round(one.log_probability, 6),
            }
            click.echo(json.dumps(row, ensure_ascii=False))
        else:
            click.echo(one.prompt + one.text if model.continues_prompt else one.text)
    if not seen:
        raise ZooError(f"{'stdin' if source in (None, '-') else source} contains no prompt")
