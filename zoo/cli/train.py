"""``zoo train``: one model, trained as ``zoo bench`` trains it, and saved."""

from __future__ import annotations

import sys
from typing import Any

import click

from zoo.cli.options import SEED, load_zoo, plugin_option, print_traceback
from zoo.cli.request_options import ON, SUITE, TRACK, RequestCommand
from zoo.config.request import COMPARING


@click.command(cls=RequestCommand, offers=lambda option: option.name not in COMPARING)
@SUITE
@plugin_option
@click.option(
    "--seed",
    type=SEED,
    default=0,
    metavar="S",
    show_default=True,
    help="Of initial weights, dropout and the order of the batches.",
)
@ON
@click.option("--save", metavar="DIR", required=True, help="A new directory for the model.")
@click.option(
    "--from",
    "from_",
    metavar="RUN",
    help="The directory of a run of zoo bench: train the row that its answer names, with the "
    "settings that it had, on all the data.",
)
@click.option("--row", metavar="NAME", default="", help="Another row of RUN: fused+sin.")
@click.option(
    "--all-data",
    is_flag=True,
    help="Train on every split, the one that would be scored included.",
)
@TRACK
def train(**options: Any) -> int:
    """Train one model and save it, with all that is needed to load it.

    \b
    zoo train --attention fused --pe rope --data newswire --save model
    zoo predict model "the striker scored twice"
    zoo train --task lm --data book.txt --save writer
    zoo generate writer --prompt "It was"
    zoo train --init encoder --data newswire --save model
    zoo train --from runs/classify-bbc-news-1a2b3c4d --save final

    It is the model that 'zoo bench' scores for the same options and seed. Options of a suite that
    are about comparing several models (seeds, baselines, costs) are ignored.
    """
    from zoo import api
    from zoo.inference.train import TrainingFailedError
    from zoo.sweep.progress import for_stream

    load_zoo()  # what is wrong with a plug-in is said
    try:
        card = api.train(**options, progress=for_stream(sys.stderr)).card
    except TrainingFailedError as error:
        print_traceback("training", error.traceback)
        click.echo(f"zoo train: {error}", err=True)
        return 1
    score = f"trained on all the data of {card.data['name']}, nothing is left to score it"
    if card.metrics["scored"]:
        scores = (f"{m.label} {m.format(card.metrics[m.name])}" for m in card.metric_descriptions)
        score = f"{', '.join(scores)} on the {card.metrics['scored']} split of {card.data['name']}"
    cost = (
        f"{card.metrics['params']:,} parameters, trained in {card.metrics['train_seconds']:.1f} s"
    )
    click.echo(f"{card.cell}, seed {card.seed}: {score}; {cost}")
    click.echo(f"Model: {options['save']}")
    return 0
