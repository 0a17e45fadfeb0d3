"""Masked language models: the zoo's logits, fill-mask, and new heads on their encoder."""

from __future__ import annotations

import io
import shutil
from logging import StreamHandler
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
import zoo_hf
from huggingface_hub import ModelCard
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
    pipeline,
)
from transformers.utils import logging

import zoo
from zoo.components.tokens import Tokens

TEXTS = ["the [MASK] of the band", "a goal by the [MASK] of the team in the [MASK] match"]


def test_it_gives_the_zoos_logits_bit_for_bit(masked: Path, tmp_path: Path):
    own = zoo.load(masked)
    batch = AutoTokenizer.from_pretrained(masked)(TEXTS, padding=True, return_tensors="pt")
    model, report = AutoModelForMaskedLM.from_pretrained(masked, output_loading_info=True)
    assert not any(report.values())
    model.save_pretrained(tmp_path)
    for each in (model.eval(), AutoModelForMaskedLM.from_pretrained(tmp_path).eval()):
        with torch.no_grad():
            found = each(**batch).logits
            tokens = each.tokens(batch["input_ids"], batch["attention_mask"])
            assert torch.equal(found, own(batch["input_ids"], tokens))
    assert found.shape == (*batch["input_ids"].shape, own.card.vocab_size)


def test_its_card_says_what_it_does_on_the_hub(masked: Path, tmp_path: Path):
    (file,) = zoo_hf.write_model_card(shutil.copytree(masked, tmp_path / "model"))
    assert ModelCard.load(file).data.pipeline_tag == "fill-mask"


def test_its_loss_is_of_the_labelled_tokens_alone(masked: Path):
    batch = AutoTokenizer.from_pretrained(masked)(TEXTS, padding=True, return_tensors="pt")
    labels = torch.full_like(batch["input_ids"], -100)
    labels[0, 2], labels[1, 5] = 9, 11
    output = AutoModelForMaskedLM.from_pretrained(masked).eval()(**batch, labels=labels)
    wanted = F.cross_entropy(output.logits[[0, 1], [2, 5]], torch.tensor([9, 11]))
    torch.testing.assert_close(output.loss, wanted)


def test_the_pipeline_fills_masks_as_the_zoo_scores_them(masked: Path):
    answers = pipeline("fill-mask", model=str(masked))(TEXTS[0], top_k=10)
    model = zoo.load(masked)
    ids = torch.tensor([model.tokenizer.encode(TEXTS[0]).ids])
    places = (ids == model.tokenizer.token_to_id("[MASK]")).flatten().nonzero().flatten()
    with torch.no_grad():
        shares = model(ids, Tokens.whole(ids.shape[1]), places)[0].softmax(dim=-1)
    assert [answer["score"] for answer in answers] == pytest.approx(shares.topk(10)[0].tolist())


@pytest.mark.parametrize(
    "load", [AutoModelForSequenceClassification, AutoModelForTokenClassification]
)
def test_a_new_head_is_put_on_its_encoder(load: type, masked: Path):
    own = zoo.load(masked).model
    model, report = load.from_pretrained(masked, num_labels=3, output_loading_info=True)
    assert {name.split(".")[1] for name in report["missing_keys"]} == {"head"}
    for name, value in own.encoder.state_dict().items():
        assert torch.equal(model.model.encoder.state_dict()[name], value), name
    head = model.model.head[1]
    assert head.weight.shape == (3, 16)
    assert head.weight.abs().max() <= 16**-0.5
    ids = torch.ones(2, 5, dtype=torch.long)
    assert model(ids).logits.shape[-1] == 3


def test_a_new_head_is_built_from_its_configuration_and_trained(masked: Path, tmp_path: Path):
    config = AutoConfig.from_pretrained(masked, id2label={0: "no", 1: "yes"})
    model = AutoModelForSequenceClassification.from_config(config)
    assert model.config.num_labels == 2
    assert model(torch.ones(3, 5, dtype=torch.long)).logits.shape == (3, 2)
    # As it is done: from the pretrained weights, with Transformers' warning.
    logger, said = logging.get_logger("transformers.modeling_utils"), io.StringIO()
    handler = StreamHandler(said)
    logger.addHandler(handler)
    model = AutoModelForSequenceClassification.from_pretrained(masked, config=config)
    logger.removeHandler(handler)
    assert "head.1.weight" in said.getvalue()
    assert "newly initialized" in said.getvalue()
    model(torch.ones(3, 5, dtype=torch.long), labels=torch.tensor([0, 1, 1])).loss.backward()
    assert model.model.encoder.embedding.weight.grad.abs().sum() > 0
    model.save_pretrained(tmp_path)
    again = AutoModelForSequenceClassification.from_pretrained(tmp_path)
    assert again.config.id2label == {0: "no", 1: "yes"}


def test_its_encoder_alone_is_a_model_as_well(masked: Path):
    _, report = AutoModel.from_pretrained(masked, output_loading_info=True)
    assert not any(report.values())


def test_a_classifier_predicts_no_masked_tokens(classifier: Path):
    with pytest.raises(zoo.ZooError, match="saved a Classifier, which predicts no masked tokens"):
        AutoModelForMaskedLM.from_pretrained(classifier)
