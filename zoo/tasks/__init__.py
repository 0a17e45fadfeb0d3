"""Tasks, one a file, and the metrics that score them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zoo.registry.hookspecs import hookimpl

if TYPE_CHECKING:
    from zoo.registry import Register


@hookimpl
def zoo_register(register: Register) -> None:
    """Register the built-in tasks and metrics."""
    register(
        "task",
        "classify",
        "zoo.tasks.classify:Classify",
        summary="one of several classes for a text: encoder, pool and head",
        source="Devlin et al. 2019, section 4.1",
    )
    register(
        "task",
        "tag",
        "zoo.tasks.tag:Tag",
        summary="one of several tags for every token of a text: encoder and head",
        source="Devlin et al. 2019, section 5.3",
    )
    register(
        "task",
        "lm",
        "zoo.tasks.lm:LanguageModelling",
        summary="the next token of a text: a causal decoder, scored in bits per byte",
        source="Radford et al. 2018, section 3.1",
    )
    register(
        "task",
        "mlm",
        "zoo.tasks.mlm:MaskedLanguageModelling",
        summary="masked tokens of a text: an encoder, scored in bits per byte of the masked text",
        source="Devlin et al. 2019, section 3.1",
    )
    register(
        "task",
        "seq2seq",
        "zoo.tasks.seq2seq:SequenceToSequence",
        summary="one text from another: encoder and decoder with cross-attention",
        source="Vaswani et al. 2017",
    )
    for name, summary in (
        ("accuracy", "share of examples whose class is predicted"),
        ("macro_f1", "mean F1 over the classes"),
        ("bits_per_byte", "bits per byte of text; fewer are better"),
        ("nats_per_token", "nats per token; fewer are better"),
        ("exact_match", "share of targets generated exactly, greedily"),
        ("token_accuracy", "share of scored tokens that are right"),
        ("span_f1", "F1 of whole spans, for tags in BIO notation"),
    ):
        register("metric", name, f"zoo.tasks.metrics:{name}", summary=summary)
