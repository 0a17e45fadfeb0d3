"""``zoo train``: one model, trained as ``zoo bench`` trains it, and saved."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from zoo.cli.options import SEED, Place, load_zoo, plugin_option, print_traceback
from zoo.cli.request_options import (
    DATA,
    ON,
    OUTPUT,
    SUITE,
    TRACK,
    TRAINING,
    WHAT,
    RequestCommand,
    option,
)
from zoo.config.request import COMPARING
from zoo.errors import counted


@click.command(cls=RequestCommand, offers=lambda one: one.name not in COMPARING)
@SUITE
@plugin_option
@option(
    TRAINING,
    "--seed",
    type=SEED,
    default=0,
    metavar="S",
    show_default=True,
    help="Of initial weights, dropout and the order of the batches.",
)
@ON
@option(
    OUTPUT,
    "--save",
    metavar="DIR",
    required=True,
    type=Place(),
    help="A new directory for the model.",
)
@option(
    WHAT,
    "--from",
    "from_",
    metavar="RUN",
    help="The directory of a run of zoo bench: train the row that its answer names, with the "
    "settings that it had, on all the data.",
)
@option(
    WHAT,
    "--row",
    metavar="NAME",
    default="",
    usual=False,
    help="Another row of RUN: fused+sin.",
)
@option(
    DATA,
    "--all-data",
    is_flag=True,
    help="Train on every split, the one that would be scored included.",
)
@TRACK
def train(
    save: str,
    seed: int,
    on: str,
    from_: str | None,
    row: str,
    all_data: bool,
    track: str | None,
    **options: Any,
) -> int:
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
    from zoo.api import train_model
    from zoo.inference.train import TrainingFailedError
    from zoo.sweep.progress import for_stream

    load_zoo()  # what is wrong with a plug-in is said
    try:
        model, place, of_run = train_model(
            options,
            for_stream(sys.stderr),
            Path(save),
            run=from_,
            row=row,
            seed=seed,
            on=on,
            all_data=all_data,
            track=track,
        )
    except TrainingFailedError as error:
        print_traceback("training", error.traceback)
        click.echo(f"zoo train: {error}", err=True)
        return 1
    card = model.card
    pretrained = card.metrics.get("pretrain_seconds")
    times = "" if pretrained is None else f"pretrained in {pretrained:.1f} s, "
    cost = f"{card.metrics['params']:,} parameters, {times}"
    cost += f"trained in {card.metrics['train_seconds']:.1f} s"
    if scored := card.metrics["scored"]:
        scores = [f"{m.label} {m.format(card.metrics[m.name])}" for m in card.metric_descriptions]
        what = f"{scored} {card.metric_descriptions[0].scored}"
        if scored == "test":
            examples = card.metrics.get("examples", card.data["test"])
            what = counted(examples, what.removesuffix("s"))
        score = f"{', '.join(scores)} on {what} of {card.data['name']}"
    else:
        score = f"trained on all the data of {card.data['name']}, nothing is left to score it"
    click.echo(f"{card.cell}, seed {card.seed}: {score}; {cost}")
    if of_run and of_run.fingerprint == card.data["fingerprint"]:
        click.echo(f"In the run: {of_run.about}")
    click.echo(f"Model: {place}")
    return 0
