"""Transformers loads, saves and trains what the zoo saved."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import transformers  # attributes: Trainer and pipeline take seconds to import
import zoo_hf
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
)

import zoo
from zoo.models.text_model import TextClassifier


def logits(model: torch.nn.Module, directory: Path, texts: list[str]) -> Tensor:
    """Of texts tokenized by Transformers, without dropout."""
    tokenizer = AutoTokenizer.from_pretrained(directory)
    batch = tokenizer(texts, padding=True, truncation=True, return_tensors="pt")
    with torch.no_grad():
        found: Tensor = model.eval()(**batch).logits
    return found


def test_the_configuration_has_the_fields_that_others_read(classifier: Path):
    config = AutoConfig.from_pretrained(classifier)
    assert isinstance(config, zoo_hf.ZooConfig)
    assert config.id2label == {0: "market", 1: "music", 2: "sport"}
    assert config.label2id == {"market": 0, "music": 1, "sport": 2}
    sizes = (config.hidden_size, config.num_hidden_layers, config.num_attention_heads)
    assert sizes == (16, 2, 2)
    assert config.max_position_embeddings == 24
    assert config.vocab_size == zoo.load(classifier).card.vocab_size


def test_the_tokenizer_gives_the_zoos_ids(classifier: Path, texts: list[str]):
    tokenizer = AutoTokenizer.from_pretrained(classifier)
    model = zoo.load(classifier)
    assert isinstance(model, TextClassifier)
    strange = [*texts, "Naïve [MASK] owls, 漢字 and \U0001f600!", "[CLS] of [PAD]"]
    read = [encoding.ids[:24] for encoding in model.encode(strange)]
    assert tokenizer(strange, truncation=True)["input_ids"] == read
    assert set(tokenizer(texts)) == {"input_ids", "attention_mask"}
    assert (tokenizer.pad_token_id, tokenizer.unk_token_id, tokenizer.model_max_length) == (
        0,
        1,
        24,
    )
    assert tokenizer.mask_token == "[MASK]"


def test_a_classifier_gives_the_zoos_logits_bit_for_bit(
    classifier: Path, texts: list[str], tmp_path: Path
):
    directory = classifier
    own = zoo.load(directory)
    assert isinstance(own, TextClassifier)
    model = AutoModelForSequenceClassification.from_pretrained(directory)
    # In one batch with padding, and each alone, which needs no mask.
    for batch in (texts, texts[:1], texts[3:]):
        assert torch.equal(logits(model, directory, batch), own.logits(batch))
    model.save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(directory).save_pretrained(tmp_path)
    again = AutoModelForSequenceClassification.from_pretrained(tmp_path)
    assert torch.equal(logits(again, tmp_path, texts), own.logits(texts))
    assert again.config.id2label == {0: "market", 1: "music", 2: "sport"}


def test_nothing_is_missing_or_left_over(classifier: Path, tagger: Path):
    for load, directory in (
        (AutoModelForSequenceClassification, classifier),
        (AutoModelForTokenClassification, tagger),
        (AutoModel, classifier),
        (AutoModel, tagger),
    ):
        _, report = load.from_pretrained(directory, output_loading_info=True)
        assert {name: len(found) for name, found in report.items() if found} == {}, load


def test_the_encoder_gives_what_the_zoos_encoder_gives(
    classifier: Path, texts: list[str], tmp_path: Path
):
    own = zoo.load(classifier)
    tokenizer = AutoTokenizer.from_pretrained(classifier)
    batch = tokenizer(texts, padding=True, truncation=True, return_tensors="pt")
    model = AutoModel.from_pretrained(classifier).eval()
    model.save_pretrained(tmp_path)
    for each in (model, AutoModel.from_pretrained(tmp_path).eval()):
        with torch.no_grad():
            found = each(**batch).last_hidden_state
            tokens = each.tokens(batch["input_ids"], batch["attention_mask"])
            wanted = own.model.encoder(batch["input_ids"], tokens)
        assert found.shape == (4, 24, 16)
        assert torch.equal(found, wanted)
    assert model(**batch, return_dict=False)[0].shape == (4, 24, 16)
    with pytest.raises(zoo.ZooError, match="a Classifier, which has another head than a tagger"):
        AutoModelForTokenClassification.from_pretrained(classifier)


def test_the_encoder_gives_the_output_of_every_block(classifier: Path, texts: list[str]):
    model = AutoModel.from_pretrained(classifier).eval()
    batch = AutoTokenizer.from_pretrained(classifier)(texts[:1], return_tensors="pt")
    with torch.no_grad():
        output = model(**batch, output_hidden_states=True)
    assert len(output.hidden_states) == 3  # of 2 blocks
    embedded = model.get_input_embeddings()(batch["input_ids"])  # rotary positions add nothing
    assert torch.equal(output.hidden_states[0], embedded)
    assert torch.equal(output.hidden_states[-1], output.last_hidden_state)
    assert not torch.equal(output.hidden_states[1], output.hidden_states[0])
    assert model(**batch).hidden_states is None


def test_a_tagger_gives_the_zoos_logits(tagger: Path):
    own = zoo.load(tagger)
    model = AutoModelForTokenClassification.from_pretrained(tagger).eval()
    ids = torch.randint(4, own.card.vocab_size, (2, 9), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        output = model(ids, labels=torch.zeros(2, 9, dtype=torch.long))
        assert torch.equal(output.logits, own(ids, model.tokens(ids, None)))
    assert output.loss.isfinite()


def of_parts(directory: Path, **parts: str) -> torch.nn.Module:
    """An untrained classifier as saved there, but for these parts."""
    config = AutoConfig.from_pretrained(directory)
    config.card["parts"] |= {axis: [f"encoder-zoo:{name}"] for axis, name in parts.items()}
    return AutoModelForSequenceClassification.from_config(config).eval()


@pytest.mark.parametrize("pool", ["mean", "cls"])
@pytest.mark.parametrize("pe", ["none", "sin", "learned", "rope", "alibi"])
def test_a_text_padded_on_any_side_has_its_own_logits(classifier: Path, pe: str, pool: str):
    model = of_parts(classifier, pe=pe, pool=pool)
    ids = torch.tensor([[2, 9, 5, 31]])
    places = torch.tensor([[0, 1, 2, 3], [3, 4, 5, 6], [1, 2, 3, 4]])
    padded = torch.zeros(3, 7, dtype=torch.long).scatter(1, places, ids.expand(3, -1))
    with torch.no_grad():
        alone, found = model(ids).logits, model(padded, (padded > 0).long()).logits
    torch.testing.assert_close(found, alone.expand(3, -1), rtol=0, atol=1e-5)


def test_the_pipeline_may_pad_on_the_left(classifier: Path, texts: list[str]):
    tokenizer = AutoTokenizer.from_pretrained(classifier, padding_side="left")
    model = of_parts(classifier, pool="cls")
    classify = transformers.pipeline("text-classification", model=model, tokenizer=tokenizer)
    together = classify(texts, truncation=True, top_k=3, batch_size=4)
    for text, answers in zip(texts, together, strict=True):
        (alone,) = classify([text], truncation=True, top_k=3)
        scores = [{one["label"]: one["score"] for one in each} for each in (alone, answers)]
        assert scores[0] == pytest.approx(scores[1], abs=1e-6)


def test_it_is_compiled_and_exported_for_batches_of_any_size(classifier: Path, tmp_path: Path):
    """Torch's own tools, not ``zoo export``; padding behind the texts, and before them."""
    runtime, _ = pytest.importorskip("onnxruntime"), pytest.importorskip("onnxscript")
    model = of_parts(classifier, pool="cls")
    draw = torch.Generator().manual_seed(0)

    def batch(texts: int, length: int) -> dict[str, Tensor]:
        mask = torch.arange(length) < torch.arange(length, length - texts, -1)[:, None]
        ids = torch.randint(4, 60, (texts, length), generator=draw)
        mask = torch.where(torch.arange(texts)[:, None] % 2 == 0, mask, mask.flip(1))
        return {"input_ids": ids, "attention_mask": mask.long()}

    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("length", max=24)}
    shapes = dict.fromkeys(("input_ids", "attention_mask"), sizes)
    compiled = torch.compile(model, fullgraph=True, dynamic=True, backend="eager")
    exported = torch.export.export(model, (), batch(3, 8), dynamic_shapes=shapes).module()
    file = tmp_path / "model.onnx"
    torch.onnx.export(
        model, (), file, kwargs=batch(3, 8), dynamo=True, dynamic_shapes=shapes, verbose=False
    )
    session = runtime.InferenceSession(file)
    for size in ((3, 8), (5, 11), (2, 24)):
        given = batch(*size)
        with torch.no_grad():
            wanted = model(**given).logits
            for each in (compiled, exported):
                torch.testing.assert_close(each(**given).logits, wanted, rtol=0, atol=1e-5)
        (logits,) = session.run(None, {name: value.numpy() for name, value in given.items()})
        torch.testing.assert_close(torch.from_numpy(logits), wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize("pool", ["mean", "cls"])
def test_a_model_with_a_head_gives_what_its_encoder_gives_too(classifier: Path, pool: str):
    model = of_parts(classifier, pool=pool, block="pre")
    ids, mask = torch.tensor([[2, 9, 5, 31], [2, 7, 0, 0]]), torch.tensor([[1] * 4, [1, 1, 0, 0]])
    with torch.no_grad():
        output = model(ids, mask, output_hidden_states=True)
        encoder = model.model.encoder
        tokens = model.tokens(ids, mask)
        assert torch.equal(output.hidden_states[0], encoder.embedding(ids))
        assert torch.equal(output.hidden_states[-1], encoder(ids, tokens))
        assert len(output.hidden_states) == 3  # of 2 blocks
        torch.testing.assert_close(output.logits, model(ids, mask).logits)
        assert model(ids, mask).hidden_states is None


def test_embeddings_are_read_in_place_of_ids(classifier: Path, tagger: Path, masked: Path):
    for load, directory in (
        (AutoModel, classifier),
        (AutoModelForSequenceClassification, classifier),
        (AutoModelForTokenClassification, tagger),
        (AutoModelForMaskedLM, masked),
    ):
        model = load.from_pretrained(directory).eval()
        ids = torch.tensor([[2, 9, 5, 31]])
        vectors = model.get_input_embeddings()(ids)
        assert torch.equal(model(inputs_embeds=vectors)[0], model(ids)[0])
        with pytest.raises(zoo.ZooError, match="input_ids or inputs_embeds, one of the two"):
            model(ids, inputs_embeds=vectors)
        with pytest.raises(zoo.ZooError, match=r"of shape \(1, 1\), and texts of \(1, 4\)"):
            model(ids, attention_mask=torch.ones(1, 1))


def test_token_types_are_ignored_where_all_are_zero_and_else_refused(classifier: Path):
    model = AutoModelForSequenceClassification.from_pretrained(classifier).eval()
    ids = torch.tensor([[2, 9, 5, 31]])
    same = model(ids, token_type_ids=torch.zeros_like(ids)).logits
    assert torch.equal(same, model(ids).logits)
    with pytest.raises(zoo.ZooError, match="no pairs: leave token_type_ids out, or all zero"):
        model(ids, token_type_ids=torch.tensor([[0, 0, 1, 1]]))


def test_positions_may_be_those_that_the_text_has_and_attentions_are_refused_in_a_line(
    classifier: Path,
):
    model = AutoModelForSequenceClassification.from_pretrained(classifier).eval()
    ids, mask = torch.tensor([[0, 2, 9, 5], [2, 9, 5, 31]]), torch.tensor([[0, 1, 1, 1], [1] * 4])
    own = torch.tensor([[7, 0, 1, 2], [0, 1, 2, 3]])  # of padding any
    same = model(ids, mask, position_ids=own).logits
    assert torch.equal(same, model(ids, mask).logits)
    for other in (torch.arange(4)[None], own + 1, own[:, :3]):
        with pytest.raises(zoo.ZooError, match="leave position_ids out"):
            model(ids, mask, position_ids=other)
    with pytest.raises(zoo.ZooError, match="no output_attentions: fused kernels"):
        model(ids, mask, output_attentions=True)


def test_tokens_are_added_and_saved(classifier: Path, masked: Path, tmp_path: Path):
    for load, directory in (
        (AutoModelForSequenceClassification, classifier),
        (AutoModelForMaskedLM, masked),
    ):
        model = load.from_pretrained(directory).eval()
        ids, size = torch.tensor([[2, 9, 5, 31]]), model.config.vocab_size
        before = model(ids).logits
        model.resize_token_embeddings(size + 2)
        assert torch.equal(model(ids).logits[..., :size], before[..., :size])
        after = model(torch.tensor([[2, size + 1]])).logits
        model.save_pretrained(tmp_path / directory.parent.name)
        again = load.from_pretrained(tmp_path / directory.parent.name).eval()
        assert again.config.vocab_size == size + 2
        assert torch.equal(again(torch.tensor([[2, size + 1]])).logits, after)
    assert after.shape[-1] == size + 2
    assert model.model.bias[size:].max() <= model.model.bias[:size].min()


def test_gradient_checkpointing_is_refused_with_the_reason(classifier: Path):
    model = AutoModelForSequenceClassification.from_pretrained(classifier)
    with pytest.raises(zoo.ZooError, match="no gradient checkpointing: a second pass"):
        model.gradient_checkpointing_enable()


def test_what_the_trainer_saved_predicts_texts(classifier: Path, texts: list[str], tmp_path: Path):
    model = AutoModelForSequenceClassification.from_pretrained(classifier)
    torch.nn.init.ones_(model.model.head[1].bias[2:])  # as if it had been trained on
    model.save_pretrained(tmp_path)
    with pytest.raises(zoo.ZooError, match="or no tokenizer"):
        zoo_hf.text_model(tmp_path)
    AutoTokenizer.from_pretrained(classifier).save_pretrained(tmp_path)
    text_model = zoo_hf.text_model(tmp_path)
    assert torch.equal(text_model.logits(texts), logits(model, classifier, texts))
    assert text_model.labels == ["market", "music", "sport"]
    with pytest.raises(zoo.ZooError, match="has no tagger or classifier"):
        zoo_hf.text_model(classifier)


def test_the_pipeline_predicts_what_the_zoo_predicts(classifier: Path, texts: list[str]):
    answers = transformers.pipeline("text-classification", model=str(classifier))(
        texts, truncation=True, top_k=3
    )
    for answer, prediction in zip(answers, zoo.load(classifier).predict(texts), strict=True):
        assert answer[0]["label"] == prediction.label
        for one in answer:
            assert one["score"] == pytest.approx(prediction.probabilities[one["label"]], abs=1e-6)


def test_the_trainer_trains_it(classifier: Path, corpus: Path, tmp_path: Path):
    datasets = pytest.importorskip("datasets")
    tokenizer = AutoTokenizer.from_pretrained(classifier)
    model = AutoModelForSequenceClassification.from_pretrained(classifier)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    data = datasets.load_dataset(
        "csv", data_files=str(corpus / "train.csv"), cache_dir=str(tmp_path / "c")
    )["train"]
    data = data.map(
        lambda row: (
            tokenizer(row["text"], truncation=True)
            | {"labels": model.config.label2id[row["label"]]}
        ),
        remove_columns=["text", "label"],
    )
    options = transformers.TrainingArguments(
        str(tmp_path / "out"),
        num_train_epochs=4,
        learning_rate=0.01,
        per_device_train_batch_size=8,
        report_to="none",
        save_strategy="no",
        use_cpu=True,
        disable_tqdm=True,
        seed=0,
    )
    trainer = transformers.Trainer(
        model,
        options,
        train_dataset=data,
        eval_dataset=data,
        data_collator=transformers.DataCollatorWithPadding(tokenizer),
    )
    worse = trainer.evaluate()["eval_loss"]
    trainer.train()
    better = trainer.evaluate()["eval_loss"]
    assert better < 0.5 * worse
    assert any(not torch.equal(value, before[name]) for name, value in model.state_dict().items())
    trainer.save_model(str(tmp_path / "saved"))
    again = AutoModelForSequenceClassification.from_pretrained(tmp_path / "saved")
    for name, value in again.state_dict().items():
        assert torch.equal(value, model.state_dict()[name]), name


def test_another_number_of_classes_gets_a_new_head_with_the_zoos_initial_weights(classifier: Path):
    load = AutoModelForSequenceClassification.from_pretrained
    model = load(classifier, num_labels=5, ignore_mismatched_sizes=True)
    again = load(classifier, num_labels=5, ignore_mismatched_sizes=True)
    own, head = zoo.load(classifier).model, model.model.head[1]
    assert head.weight.shape == (5, 16)
    assert head.weight.abs().max() <= 16**-0.5  # the range of nn.Linear's own initial weights
    assert torch.equal(head.weight, again.model.head[1].weight)
    assert torch.equal(model.model.encoder.embedding.weight, own.encoder.embedding.weight)


def test_a_model_built_from_its_configuration_is_the_zoos_untrained_one(classifier: Path):
    config = AutoConfig.from_pretrained(classifier)
    one, other = (AutoModelForSequenceClassification.from_config(config) for _ in range(2))
    trained = AutoModelForSequenceClassification.from_pretrained(classifier)
    for name, value in one.state_dict().items():
        assert torch.equal(value, other.state_dict()[name])
    assert any(not torch.equal(v, trained.state_dict()[n]) for n, v in one.state_dict().items())


def test_more_tokens_than_the_model_reads_are_refused(learned_positions: Path):
    model = AutoModelForSequenceClassification.from_pretrained(learned_positions)
    with pytest.raises(zoo.ZooError, match=r"30 tokens.*at most 24: tokenize with truncation=True"):
        model(torch.ones(1, 30, dtype=torch.long))


def test_a_component_that_is_missing_is_named(classifier: Path, tmp_path: Path):
    config = AutoConfig.from_pretrained(classifier)
    config.card["parts"]["pe"] = ["encoder-zoo:rop"]
    with pytest.raises(zoo.ZooError, match="no pe 'encoder-zoo:rop'"):
        AutoModelForSequenceClassification.from_config(config)
    with pytest.raises(zoo.ZooError, match="without a card describes no model"):
        zoo_hf.ZooForSequenceClassification(zoo_hf.ZooConfig())


def test_other_outputs_than_when_it_was_saved_are_refused_until_they_are_allowed(
    classifier: Path, tmp_path: Path
):
    directory = Path(shutil.copytree(classifier, tmp_path / "model"))
    config = json.loads((directory / "config.json").read_text())
    config["sample_outputs"]["scores"][1][2] += 0.01
    (directory / "config.json").write_text(json.dumps(config))
    load = AutoModelForSequenceClassification.from_pretrained
    with pytest.raises(zoo.ZooError, match="other outputs here than when it was saved; allow_ch"):
        load(directory)
    assert load(directory, allow_changed=True).config.num_labels == 3
    # A new head is no saved model, and neither is one that Transformers saved.
    assert load(directory, num_labels=2, ignore_mismatched_sizes=True).config.num_labels == 2
    load(directory, allow_changed=True).save_pretrained(tmp_path / "copy")
    assert load(tmp_path / "copy").config.num_labels == 3


def test_weights_that_are_not_those_of_the_card_are_refused(classifier: Path, tmp_path: Path):
    directory = Path(shutil.copytree(classifier, tmp_path / "model"))
    weights = load_file(directory / "model.safetensors")
    save_file({name: 2 * value for name, value in weights.items()}, directory / "model.safetensors")
    with pytest.raises(zoo.ZooError, match=r"model\.safetensors is damaged, or not the file"):
        AutoModel.from_pretrained(directory)


def test_a_directory_of_transformers_is_none_of_the_zoos(classifier: Path, tmp_path: Path):
    AutoModelForSequenceClassification.from_pretrained(classifier).save_pretrained(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["model_type"] == "encoder-zoo"
    with pytest.raises(zoo.ZooError, match="does not describe a model"):
        zoo.load(tmp_path)


def test_it_runs_in_bfloat16_with_the_tables_of_float32(classifier: Path, texts: list[str]):
    load = AutoModelForSequenceClassification.from_pretrained
    model = load(classifier, dtype=torch.bfloat16)
    assert model.model.encoder.embedding.weight.dtype == torch.bfloat16
    found = logits(model, classifier, texts).float()
    torch.testing.assert_close(
        found, logits(load(classifier), classifier, texts), atol=0.05, rtol=0.05
    )


AUXILIARY = '''
"""A feed-forward network that adds to the loss."""

from torch import nn

from zoo import hookimpl


class Adds(nn.Linear):
    def __init__(self, dim, hidden, dropout):
        super().__init__(dim, dim)

    def forward(self, x, layer):
        layer.add_loss("two", x.new_tensor(2.0), weight=0.5)
        return super().forward(x)


@hookimpl
def zoo_register(register):
    register("ffn", "adds", Adds, summary="adds")
'''


def test_what_a_part_adds_to_the_loss_is_in_it_in_training(
    train: Callable[..., Path], tmp_path: Path
):
    plugin = tmp_path / "adds.py"
    plugin.write_text(AUXILIARY)
    directory = train("--ffn", "adds", "--plugin", str(plugin))
    with pytest.raises(zoo.ZooError, match=r"no ffn 'adds\.py:adds'"):
        AutoModelForSequenceClassification.from_pretrained(directory)
    zoo_hf.use_plugins(plugin)
    model = AutoModelForSequenceClassification.from_pretrained(directory)
    ids, labels = torch.ones(2, 5, dtype=torch.long), torch.tensor([0, 2])
    for mode, added in ((False, 0.0), (True, 2.0)):  # half of 2 from each of two layers
        output = model.train(mode)(ids, labels=labels)
        plain = torch.nn.functional.cross_entropy(output.logits, labels)
        torch.testing.assert_close(output.loss, plain + added)
    zoo_hf.use_plugins()
