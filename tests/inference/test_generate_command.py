"""``zoo generate``, and saved models of a task that a command is not for."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from refused import refused
from saved_models import change_weights

import zoo
from zoo.components.tokens import Tokens

PROMPT = ["--prompt", "the owl saw"]


def test_greedy_takes_the_likeliest_token_each_time(language_model, said):
    model = zoo.load(language_model)
    ids = [0, *model.tokenizer.encode("the owl saw").ids]
    prompt = len(ids)
    with torch.inference_mode():
        for _ in range(8):
            scores = model.model(torch.tensor([ids]), Tokens.whole(len(ids)))
            ids.append(int(scores[0, -1].argmax()))
    expected = "the owl saw" + model.tokenizer.decode(ids[prompt:])
    command = ["generate", language_model, *PROMPT, "--max-new-tokens", 8]
    assert said(*command).out == expected + "\n"


def test_a_seed_repeats_its_sample(language_model, said):
    sample = ["generate", language_model, *PROMPT, "--max-new-tokens", 12, "--temperature", 2]
    first, again, other = (said(*sample, "--seed", seed).out for seed in (1, 1, 2))
    assert first == again != other


def test_no_ngram_is_repeated_if_that_is_forbidden(language_model):
    model = zoo.load(language_model)
    (free,) = model.generate(["the owl"], max_new=16)
    (forbidden,) = model.generate(["the owl"], max_new=16, no_repeat=1)
    ids = [model.tokenizer.encode("the owl" + one.text).ids for one in (free, forbidden)]
    assert len(set(ids[0])) < len(ids[0])
    assert forbidden.text != free.text


def test_prompts_come_from_a_file_or_a_pipe_a_line_each(
    encoder_decoder, tmp_path, said, monkeypatch
):
    path = tmp_path / "sources.txt"
    path.write_text("a b\nc d a\n")
    lines = said("generate", encoder_decoder, "--input", path, "--json").out.splitlines()
    assert [json.loads(line)["prompt"] for line in lines] == ["a b", "c d a"]
    alone = said("generate", encoder_decoder, "--prompt", "c d a").out
    assert json.loads(lines[1])["text"] == alone.removesuffix("\n")
    with path.open("rb") as stream:
        monkeypatch.setattr("sys.stdin", type("Pipe", (), {"buffer": stream})())
        piped = said("generate", encoder_decoder, "--input", "-", "--json").out
    assert piped.splitlines() == lines


BAD = [
    (["--prompt", ""], "prompt 1 is empty"),
    (["--prompt", "the owl", "--prompt", "  "], "prompt 2 is empty"),
    ([*PROMPT, "--max-new-tokens", "0"], "not in the range x>=1"),
    ([*PROMPT, "--max-new-tokens", "24"], "leaves room for"),
    ([*PROMPT, "--temperature", "0"], "temperature must be above 0"),
    ([*PROMPT, "--beam", "0"], "beams must be 1 or more"),
    ([*PROMPT, "--beam", "2", "--temperature", "3"], "choose one"),
    ([*PROMPT, "--no-repeat-ngram", "0"], "no-repeat must be 1 or more"),
    ([*PROMPT, "--seed", "1"], "--seed is for sampling"),
    ([*PROMPT, "--input", "x.txt"], "use one of the two"),
    (["--prompt", "owl " * 60], "too long for this model of 24"),
    (["--input", "nowhere.txt"], "cannot be read"),
]


@pytest.mark.parametrize(("options", "message"), BAD, ids=lambda v: str(v)[:40])
def test_one_line_says_what_is_wrong(language_model, options, message, refused_command):
    assert message in refused_command("generate", language_model, *options)


@pytest.mark.parametrize(
    "words",
    [["predict", "a text"], ["attend", "a text"], ["evaluate", "--data", "newswire"]],
    ids=lambda words: words[0],
)
def test_commands_for_classifiers_say_which_command_takes_the_model(
    language_model, encoder_decoder, words, refused_command
):
    command, *others = words
    found = {language_model: "a language model", encoder_decoder: "an encoder-decoder"}
    for directory, what in found.items():
        says = f"holds {what}, which zoo {command} does not take; it is for zoo generate"
        assert says in refused_command(command, directory, *others)


def test_other_weights_are_found_by_the_models_outputs(language_model, tmp_path):
    other = Path(shutil.copytree(language_model, tmp_path / "other"))
    change_weights(other, lambda t: [w.mul_(1.1) for name, w in t.items() if "attention" in name])
    refused("gives other outputs here than when it was saved", zoo.load, other)


def test_generating_from_python_takes_a_list_of_prompts(encoder_decoder):
    model = zoo.load(encoder_decoder)
    first, second = model.generate(["a b", "c d"], temperature=0.5, seed=1, max_new=6)
    assert (first.prompt, second.prompt) == ("a b", "c d")
    assert all(one.ended or one.tokens == 6 for one in (first, second))
    assert first.log_probability <= 0
    refused("list of prompts", model.generate, "a b")
