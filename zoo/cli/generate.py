"""``zoo generate``: what a kept model writes."""

from __future__ import annotations

import json

import click

from zoo.cli.model import model_options, open_writer
from zoo.cli.options import json_option, load_zoo
from zoo.cli.texts import given_texts
from zoo.errors import ZooError


@click.command()
@model_options
@click.option("--prompt", "prompts", metavar="TEXT", multiple=True, help="May be given again.")
@click.option(
    "--input",
    "source",
    metavar="FILE",
    help="A prompt per line, or a column of CSV, TSV or JSON lines; - for stdin.",
)
@click.option("--text-column", metavar="NAME", help="Column of the prompts (default: text).")
@click.option("--max-new-tokens", type=int, metavar="N", help="The most tokens to write.")
@click.option("--temperature", type=float, metavar="T", help="Draw, from logits divided by T.")
@click.option("--top-k", type=int, metavar="K", help="Draw from the K likeliest tokens.")
@click.option(
    "--top-p", type=float, metavar="P", help="Draw from the likeliest that hold the share P."
)
@click.option("--seed", type=click.IntRange(min=0), metavar="S", help="Of drawing (default: 0).")
@click.option("--beam", type=int, metavar="N", help="Search with N texts in sight; draws none.")
@click.option(
    "--no-repeat-ngram", type=int, metavar="N", help="No run of N tokens comes twice in a text."
)
@click.option("--no-cache", is_flag=True, help="Compute every token anew: the same text, slower.")
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
    """Continue each prompt, or, with an encoder-decoder, write the target of each source.

    \b
    zoo generate model --prompt "the market"
    zoo generate model --prompt "the market" --temperature 0.8 --top-p 0.9 --seed 1
    zoo generate translator --prompt "a b c" --beam 4

    The likeliest token is taken each time, unless drawing or a beam is asked for. With --json a
    line for each prompt tells text, tokens, whether it ended, and its log-probability.
    """
    if max_new_tokens is not None and max_new_tokens < 1:
        raise ZooError(f"--max-new-tokens {max_new_tokens}: at least 1")
    drawing = any(value is not None for value in (temperature, top_k, top_p))
    if seed is not None and not drawing:
        raise ZooError("--seed is of drawing: give --temperature, --top-k or --top-p as well")
    given = given_texts(prompts, source, text_column, "prompt")
    model = open_writer(directory, device, allow_changed, load_zoo(plugins).registry)

    from zoo.models.decoding.sampling import Sampling

    try:
        sampling = (
            Sampling(1.0 if temperature is None else temperature, top_k, top_p, seed or 0)
            if drawing
            else None
        )
    except ValueError as error:
        raise ZooError(str(error)) from error
    written = model.write(
        given,
        max_new=max_new_tokens,
        sampling=sampling,
        beams=1 if beam is None else beam,
        no_repeat=no_repeat_ngram,
        cache=not no_cache,
    )
    seen = 0
    for one in written:
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
            click.echo(one.text if model.transduces else one.prompt + one.text)
    if not seen:
        raise ZooError(f"{'stdin' if source in (None, '-') else source} holds no prompt")
