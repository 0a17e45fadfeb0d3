"""``zoo generate``: what a saved model generates."""

from __future__ import annotations

from dataclasses import asdict

import click

from zoo.cli.model import SavedModel, Source, model_options, source_options
from zoo.cli.options import SEED, json_option, print_json
from zoo.errors import ZooError


@click.command()
@click.option(
    "--prompt", "prompts", metavar="TEXT", multiple=True, help="A prompt; may be repeated."
)
@source_options("prompt")
@click.option(
    "--max-new-tokens",
    type=int,
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
    if max_new_tokens is not None and max_new_tokens < 1:
        raise ZooError(f"--max-new-tokens {max_new_tokens}: at least 1")
    sample = any(value is not None for value in (temperature, top_k, top_p))
    if seed is not None and not sample:
        raise ZooError("--seed is for sampling: give --temperature, --top-k or --top-p as well")
    given = source.texts(prompts)
    model = saved.open("generate")

    from zoo.models.decoding import Sampling

    try:
        divisor = 1.0 if temperature is None else temperature
        sampling = Sampling(divisor, top_k, top_p, seed or 0) if sample else None
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
    for text in generated:
        if as_json:
            content = asdict(text) | {"log_probability": round(text.log_probability, 6)}
            print_json(content, indent=None, allow_nan=True)
        else:
            click.echo(text.prompt + text.text if model.continues_prompt else text.text)
