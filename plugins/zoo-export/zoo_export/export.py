"""A saved model as a file for other runtimes, with its tokenizer and a description."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, processors

from zoo import __version__
from zoo.config.sizes import Sizes
from zoo.data.tokenizer import PAD, PAD_ID
from zoo.errors import ZooError, one_line
from zoo.files import scratch_directory
from zoo.inference.saved_model import TOKENIZER, draft
from zoo.models.text_model import TextModel, TextTagger
from zoo.registry import AXES, Choice, Registry
from zoo.registry.cell import Cell
from zoo.registry.loading import built_ins
from zoo_export.program import (
    FORMATS,
    INPUTS,
    OUTPUT,
    Comparison,
    Format,
    compare,
    quantize,
    write_program,
)

DESCRIPTION = "export.json"
# Every one of these can be exported, so that a part tried among them is the one that cannot be.
PLAIN = {
    "attention": "naive",
    "pe": "none",
    "norm": "layer",
    "ffn": "gelu",
    "block": "pre",
    "pool": "mean",
}
LAYERS = 1  # of a model in which one part is tried


def export(
    model: TextModel, registry: Registry, to: str, out: Path, *, int8: bool = False
) -> Comparison:
    """Write a classifier or a tagger to ``out``: the file, its tokenizer, and ``export.json``.

    to: of ``FORMATS``. int8: store its matrices so, in ONNX. The tokenizer cuts and pads texts as
    ``zoo predict`` does. The logits of the file are compared with the model's before ``out``
    exists. Raises ZooError where ``out`` exists, or a component cannot be exported, which is named.
    """
    form = FORMATS[to]
    with draft(out) as written:
        file, sizes = written / form.file, (model.card.vocab_size, model.max_length)
        try:
            compared = write_program(model, *sizes, form, file)
            if int8:
                quantize(file)
                compared = compare(model, *sizes, form, file, exactly=False)
        except OSError:  # a full disk, which draft reports
            raise
        except Exception as error:  # torch and the runtime raise errors of many kinds
            reason = _refusal(model.card, registry, form) or _worded(error)
            raise ZooError(f"the model cannot be exported to {to}: {reason}") from error
        _tokenizer(model).save(str(written / TOKENIZER))
        text = json.dumps(_description(model, form, compared), indent=1, ensure_ascii=False)
        (written / DESCRIPTION).write_text(text + "\n", encoding="utf-8")
    return compared


def _tokenizer(model: TextModel) -> Tokenizer:
    """The model's tokenizer, which cuts and pads texts, and for a tagger adds no [CLS]."""
    tokenizer = Tokenizer.from_str(model.tokenizer.to_str())
    tokenizer.enable_truncation(model.max_length)
    tokenizer.enable_padding(pad_id=PAD_ID, pad_token=PAD)
    if isinstance(model, TextTagger):
        tokenizer.post_processor = processors.TemplateProcessing(single="$A")
    return tokenizer


def _description(model: TextModel, form: Format, compared: Comparison) -> dict[str, Any]:
    """What a program that runs the file has to know."""
    card = model.card
    output = ["batch", "length"] if isinstance(model, TextTagger) else ["batch"]
    return {
        "format": "encoder-zoo export",
        "file": form.file,
        "task": card.task,
        "cell": card.cell,
        "inputs": [
            {"name": name, "type": "int64", "shape": ["batch", "length"]} for name in INPUTS
        ],
        "outputs": [{"name": OUTPUT, "type": "float32", "shape": [*output, len(card.labels)]}],
        "labels": card.labels,
        "max_length": model.max_length,
        "pad_id": PAD_ID,
        "compared": vars(compared),
        "encoder_zoo": __version__,
        "key": card.key,
    }


def _refusal(card: Any, registry: Registry, form: Format) -> str:
    """The components that cannot be exported, each with its owner and why; empty where all can.

    Each is tried alone, in a small model of plain parts.
    """
    cell = card.find_cell(registry)
    reasons = []
    for axis in AXES:
        for choice in cell.axes[axis]:
            if str(choice) != PLAIN[axis] and (reason := _why_not(card, registry, choice, form)):
                reasons.append(f"{axis} '{choice}' of {choice.component.owner}: {reason}")
    return "; ".join(reasons)


def _why_not(card: Any, registry: Registry, choice: Choice, form: Format) -> str:
    """Why a model of plain parts with this one cannot be exported; empty where it can."""
    sizes: Sizes = card.sizes.model_copy(update={"layers": LAYERS})
    setup = replace(card.setup(registry), sizes=sizes)
    plain = Cell.parse(built_ins(), PLAIN)
    cell = Cell({**plain.axes, choice.component.kind: (choice,)})
    with scratch_directory() as scratch:
        try:
            model = setup.task.build(setup, cell, card.seed).eval()
            file = scratch / form.file
            write_program(model, card.vocab_size, sizes.max_length, form, file)
        except Exception as error:  # noqa: BLE001 - see export
            return _worded(error)
    return ""


def _worded(error: BaseException) -> str:
    """The first sentence of what went wrong at first; ``zoo --debug`` prints all of it."""
    while error.__cause__ is not None:
        error = error.__cause__
    return re.split(r"(?<=[.!])\s", one_line(error), maxsplit=1)[0]
