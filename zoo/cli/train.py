"""``zoo train``: one model, trained as ``zoo bench`` trains it, and saved."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from zoo.cli.options import ON, SUITE, RequestCommand, load_zoo, plugin_option, requested

# Options of comparing several models; in a suite they are ignored here.
COMPARING = ("baseline", "design", "seeds", "phases", "reference", "jobs", "rounds")


@click.command(cls=RequestCommand, without=COMPARING)
@click.option("--save", metavar="DIR", required=True, help="A new directory for the model.")
@SUITE
@click.option("--seed", type=click.IntRange(min=0), default=0, metavar="S", help="Default: 0.")
@ON
@plugin_option
def train(save: str, seed: int, on: str, **options: Any) -> int:
    """Train one model and save it: weights, tokenizer, and everything needed to load it.

    \b
    zoo train --attention fused --pe rope --data newswire --save model
    zoo predict model "the striker scored twice"
    zoo train --task lm --data book.txt --save writer
    zoo generate writer --prompt "It was"

    It is the model that 'zoo bench' scores for the same options and seed. Options of a suite that
    are about comparing several models (seeds, baselines, costs) are ignored.
    """
    from zoo.inference.train import TrainingFailedError
    from zoo.inference.train import train as train_one
    from zoo.sweep.make_request import make_request
    from zoo.sweep.progress import for_stream

    asked = {name: value for name, value in requested(options).items() if name not in COMPARING}
    loaded = load_zoo()
    request = make_request(asked, loaded.registry)
    progress = for_stream(sys.stderr)
    try:
        model = train_one(request, loaded, progress, Path(save), seed, on=on)
    except TrainingFailedError as error:
        if click.get_current_context().find_root().params.get("debug"):
            click.echo(error.traceback, err=True)
        click.echo(f"zoo train: {error}", err=True)
        return 1
    finally:
        progress.close()
    card = model.card
    scores = [f"{m.label} {m.format(card.metrics[m.name])}" for m in card.metric_descriptions]
    scored = card.metrics["scored"]
    count = f"{card.data['test']} " if scored == "test" else ""
    click.echo(
        f"{card.cell}, seed {card.seed}: {', '.join(scores)} on {count}{scored} "
        f"{card.metric_descriptions[0].scored} of {card.data['name']}; "
        f"{card.metrics['params']:,} parameters, trained in {card.metrics['train_seconds']:.1f} s"
    )
    click.echo(f"Model: {save}")
    return 0
