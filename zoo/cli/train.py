"""``zoo train``: one model, trained as ``zoo bench`` trains it, and kept."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from zoo.cli.options import (
    BEAM,
    DATA,
    EXECUTION,
    SIZES,
    SUITE,
    TASK,
    TRAINING,
    WORKER,
    asked_for,
    axis_options,
    load_zoo,
    plugin_option,
    shared_options,
)

# What a suite says of comparing many, which the training of one has no use for.
COMPARING = ("baseline", "seeds", "phases", "reference", "jobs", "rounds")


@click.command()
@click.option("--save", metavar="DIR", required=True, help="A new directory for the model.")
@TASK
@SUITE
@axis_options("component", "NAME")
@shared_options(DATA, SIZES, TRAINING)
@click.option("--seed", type=click.IntRange(min=0), default=0, metavar="S", help="Default: 0.")
@BEAM
@shared_options(EXECUTION, WORKER)
@plugin_option
def train(save: str, seed: int, **options: Any) -> int:
    """Train one model and keep it: weights, tokenizer, and all it takes to load it.

    \b
    zoo train --attention fused --pe rope --data newswire --save model
    zoo predict model "the striker scored twice"
    zoo train --task lm --data book.txt --save writer
    zoo generate writer --prompt "It was"

    It is the very model that 'zoo bench' scores for the same options and seed. Of a suite,
    whatever is about comparing several (seeds, baselines, probes) is passed over.
    """
    from zoo.api import make_request
    from zoo.inference.train import TrainingFailedError
    from zoo.inference.train import train as train_one
    from zoo.sweep.progress import for_stream
    from zoo.tasks.catalog import find_task
    from zoo.tasks.score import scores_of

    asked = {name: value for name, value in asked_for(options).items() if name not in COMPARING}
    request = make_request(asked)
    loaded = load_zoo(request.plugins)
    progress = for_stream(sys.stderr)
    try:
        model = train_one(request, loaded, progress, Path(save), seed)
    except TrainingFailedError as error:
        click.echo(f"zoo train: {error}", err=True)
        return 1
    finally:
        progress.close()
    card = model.card
    held = card.data["test"] if card.scores["scored"] == "test" else ""
    scores = [
        f"{one.label} {one.form.format(card.scores[one.name])}" for one in scores_of(card.task)
    ]
    what = find_task(card.task).scored_on
    click.echo(
        f"{card.cell}, seed {card.seed}: {', '.join(scores)} on "
        f"{f'{held} ' if held else ''}{card.scores['scored']} {what} of {card.data['name']}; "
        f"{card.scores['params']:,} parameters, trained in {card.scores['train_seconds']:.1f} s"
    )
    click.echo(f"Model: {save}")
    return 0
