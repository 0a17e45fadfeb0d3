"""``zoo predict`` and ``.predict``: the softmax of the model's logits, for any number of texts."""

import copy
import io
import json
import warnings

import pytest
import torch
from refused import refused
from tokenizers import Tokenizer

from zoo.cli import main
from zoo.components.tokens import Tokens

TEXTS = ["the striker scored a goal", "shares of the bank", "a song"]


def test_probabilities_are_the_softmax_of_the_models_own_logits(trained, model):
    tokenizer = Tokenizer.from_file(str(trained / "tokenizer.json"))
    for text, prediction in zip(TEXTS, model.predict(TEXTS), strict=True):
        ids = torch.tensor([tokenizer.encode(text).ids])
        with torch.no_grad():
            shares = model.model(ids, Tokens.whole(ids.shape[1])).softmax(-1)[0]
        given = torch.tensor(list(prediction.probabilities.values()))
        torch.testing.assert_close(given, shares, rtol=1e-5, atol=1e-6)
        assert prediction.label == model.labels[int(shares.argmax())]
        assert prediction.probability == max(prediction.probabilities.values())


LABELS = ["market", "music", "sport"]
LINES = ["the goal of the match", "a bank of the stock market " * 9]


def test_predictions_are_lines_in_columns_and_the_same_as_json(trained, said, rows):
    head, *lines = said("predict", trained, *LINES).out.splitlines()
    assert head.split() == ["label", "probability", "text"]
    assert [line.split()[2:4] for line in lines] == [text.split()[:2] for text in LINES]
    for line, value, text in zip(lines, rows(trained, *LINES), LINES, strict=True):
        assert value["text"] == text
        assert line.split()[:2] == [value["label"], f"{value['probability']:.3f}"]
        assert value["probability"] == max(value["probabilities"].values())
        assert list(value["probabilities"]) == LABELS
        assert sum(value["probabilities"].values()) == pytest.approx(1, abs=1e-4)


def test_a_model_whose_weights_are_no_numbers_predicts_nothing(model):
    model = copy.deepcopy(model)
    torch.nn.init.constant_(next(model.parameters()), torch.nan)
    refused("weights are broken", model.predict, TEXTS)


def test_unknown_tokens_are_counted(trained, rows):
    known, other = rows(trained, TEXTS[0], "\u591a \u96fb")
    assert (known["unknown"], other["unknown"]) == (0, 2)


def test_the_other_texts_of_a_batch_do_not_matter(model):
    texts = [*TEXTS, "word " * 20]
    found = [model.predict(texts, batch_size=size) for size in (1, 3, 1000)]
    assert [[(p.text, p.label) for p in each] for each in found] == [
        [(text, p.label) for text, p in zip(texts, found[0], strict=True)]
    ] * 3
    refused("takes a list of texts", model.predict, "a goal")
    batch = model.logits(texts)
    for text, row in zip(TEXTS, batch, strict=False):
        torch.testing.assert_close(model.logits([text])[0], row, rtol=1e-4, atol=1e-5)


def test_a_model_in_training_mode_predicts_without_dropout_and_stays_in_it(model):
    expected = model.logits(TEXTS)
    model.train()
    try:
        assert torch.equal(model.logits(TEXTS), expected)
        assert all(module.training for module in model.modules())
    finally:
        model.eval()


def test_texts_come_from_a_pipe(trained, monkeypatch, rows):
    pipe = io.TextIOWrapper(io.BytesIO("\n".join(TEXTS).encode()))
    monkeypatch.setattr("sys.stdin", pipe)
    assert [row["text"] for row in rows(trained)] == TEXTS


def test_notes_say_which_texts_the_model_cannot_read_in_full(trained, said):
    texts = ["goal " * 40, "goal ☃ 日本", "goal", "☃ goal"]
    printed = said("predict", trained, *texts, "--json")
    long, odd, plain, _ = (json.loads(line) for line in printed.out.splitlines())
    assert long["cut"] > 0
    assert (odd["unknown"] > 0, odd["cut"]) == (True, 0)
    assert (plain["unknown"], plain["cut"]) == (0, 0)
    assert printed.err.splitlines() == [
        "note: texts longer than the model's 24 tokens; the rest was not read: 1",
        "note: texts with words the model does not know: 2",
    ]


@pytest.mark.parametrize("how", ["words", "file"])
def test_an_empty_text_is_named_and_gets_the_shares_of_the_classes(
    how, trained, model, tmp_path, said
):
    """24 of 72 training texts are of each class. PYTHONWARNINGS=ignore silences no note."""
    texts = ["a goal", "", "the bank", " \u200b", "a song"]
    (tmp_path / "lines.txt").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    words = texts if how == "words" else ["--input", tmp_path / "lines.txt"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        printed = said("predict", trained, *words, "--json")
    answers = [json.loads(line) for line in printed.out.splitlines()]
    assert [answer["empty"] for answer in answers] == [False, True, False, True, False]
    for answer in (answers[1], answers[3]):
        assert list(answer["probabilities"].values()) == pytest.approx([1 / 3] * 3)
    shares = [[*answer["probabilities"].values()] for answer in answers]
    torch.testing.assert_close(model.logits(texts).softmax(dim=1), torch.tensor(shares))
    alone = said("predict", trained, *texts[::2], "--json").out.splitlines()
    assert [answer["label"] for answer in answers[::2]] == [json.loads(a)["label"] for a in alone]
    assert printed.err.splitlines() == [
        "note: no tokens in text 2 and 4: the answer is how common each class was in training"
    ]


def test_tokens_beyond_the_models_length_change_nothing(model):
    words = ["goal"] * 23  # and [CLS]
    read, longer = model.predict([" ".join(words), " ".join([*words, "album", "song"])])
    assert longer.cut > 0
    assert longer.probability == pytest.approx(read.probability, abs=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["\udc80"], "is not UTF-8"),
        (["text", "--input", "lines.txt"], "use one of the two"),
        (["text", "--text-column", "x"], "or how it is read: use one of the two"),
        (["--input", "nowhere.txt"], "nowhere.txt cannot be read: No such file"),
        (["--input", "nothing.txt"], "nothing.txt is empty: it has no rows"),
        (["--input", "rows.csv", "--text-column", "boddy"], "did you mean 'body'?"),
        (["text", "--device", "tpu"], "--device tpu: expected auto, cpu, cuda, cuda:N or mps"),
    ],
    ids=lambda value: (
        " ".join(value).encode("unicode_escape").decode() if isinstance(value, list) else ""
    ),
)
def test_bad_usage_is_one_line(arguments, message, trained, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lines.txt").write_text("one\n")
    (tmp_path / "nothing.txt").write_text("")
    (tmp_path / "rows.csv").write_text("id,body\n1,one\n")
    assert main(["predict", str(trained), *arguments]) == 2
    line, *_ = capsys.readouterr().err.splitlines()
    assert message in line
