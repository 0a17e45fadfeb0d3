"""``zoo train``: one model, trained as ``zoo bench`` trains it, and saved."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any

import click

from zoo.cli.options import Place, load_zoo, plugin_option, print_traceback
from zoo.cli.request_options import (
    ON,
    OUTPUT,
    SUITE,
    TRACK,
    TRAINING,
    RequestCommand,
    build_request,
    chosen_executor,
    option,
)

# Options of comparing several models; in a suite they are ignored here.
COMPARING = ("baseline", "design", "seeds", "phases", "reference", "metric", "jobs", "rounds")


@click.command(cls=RequestCommand, without=COMPARING)
@SUITE
@plugin_option
@option(
    TRAINING,
    "--seed",
    type=click.IntRange(min=0),
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
@TRACK
def train(save: str, seed: int, on: str, track: str | None, **options: Any) -> int:
    """Train one model and save it: weights, tokenizer, and everything needed to load it.

    \b
    zoo train --attention fused --pe rope --data newswire --save model
    zoo predict model "the striker scored twice"
    zoo train --task lm --data book.txt --save writer
    zoo generate writer --prompt "It was"
    zoo train --task mlm --data newswire --save encoder
    zoo train --init encoder --data newswire --save model

    It is the model that 'zoo bench' scores for the same options and seed. Options of a suite that
    are about comparing several models (seeds, baselines, costs) are ignored.
    """
    from zoo.inference.train import TrainingFailedError
    from zoo.inference.train import train as train_one
    from zoo.sweep.progress import for_stream
    from zoo.sweep.tracked_progress import TrackedProgress, find_trackers

    loaded = load_zoo()
    executor = chosen_executor(on, options, loaded.registry)
    trackers = find_trackers(track, loaded)
    request = build_request(options, loaded.registry, ignored=COMPARING)
    try:
        with contextlib.closing(TrackedProgress(for_stream(sys.stderr), trackers)) as progress:
            model = train_one(request, loaded, progress, Path(save), seed, on=executor)
    except TrainingFailedError as error:
        print_traceback("training", error.traceback)
        click.echo(f"zoo train: {error}", err=True)
        return 1
    card = model.card
    scores = [f"{m.label} {m.format(card.metrics[m.name])}" for m in card.metric_descriptions]
    scored = card.metrics["scored"]
    examples = card.metrics.get("examples", card.data["test"])
    count = f"{examples} " if scored == "test" else ""
    before = card.metrics.get("pretrain_seconds")
    times = "" if before is None else f"pretrained in {before:.1f} s, "
    times += f"trained in {card.metrics['train_seconds']:.1f} s"
    click.echo(
        f"{card.cell}, seed {card.seed}: {', '.join(scores)} on {count}{scored} "
        f"{card.metric_descriptions[0].scored} of {card.data['name']}; "
        f"{card.metrics['params']:,} parameters, {times}"
    )
    click.echo(f"Model: {save}")
    return 0
