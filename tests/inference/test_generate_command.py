"""``zoo generate``, and saved models of a task that a command is not for."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

import zoo
from zoo.cli import main
from zoo.models.decoding import Sampling
from zoo.models.text_generator import TextGenerator

PROMPT = ["--prompt", "the owl saw"]


def shown(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    assert main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


def test_the_cache_changes_no_token(language_model: Path, encoder_decoder: Path, capsys):
    for options in ([], ["--temperature", "1.5", "--seed", "3"], ["--beam", "3"]):
        command = ["generate", language_model, *PROMPT, "--max-new-tokens", "12", "--json"]
        texts = [shown(capsys, *command, *options, *more) for more in ([], ["--no-cache"])]
        cached, recomputed = map(json.loads, texts)
        assert cached["text"] == recomputed["text"]
        assert cached["tokens"] == recomputed["tokens"] > 0
        assert cached["log_probability"] == pytest.approx(recomputed["log_probability"], abs=1e-3)
    for more in ([], ["--beam", "3"]):
        arguments = ("generate", encoder_decoder, "--prompt", "a b c", *more)
        assert shown(capsys, *arguments) == shown(capsys, *arguments, "--no-cache")


def test_greedy_takes_the_likeliest_token_each_time(language_model: Path, capsys):
    model = zoo.load(language_model)
    assert isinstance(model, TextGenerator)
    ids = [0, *model.tokenizer.encode("the owl saw").ids]
    prompt = len(ids)
    with torch.inference_mode():
        for _ in range(8):
            from zoo.components.tokens import Tokens

            scores = model.model(torch.tensor([ids]), Tokens.whole(len(ids)))
            ids.append(int(scores[0, -1].argmax()))
    expected = "the owl saw" + model.tokenizer.decode(ids[prompt:])
    found = shown(capsys, "generate", language_model, *PROMPT, "--max-new-tokens", "8")
    assert found == expected + "\n"
    # Sampling from the one likeliest token is greedy too.
    one = shown(
        capsys, "generate", language_model, *PROMPT, "--max-new-tokens", "8", "--top-k", "1"
    )
    assert one == found


def test_a_seed_repeats_its_sample(language_model: Path, capsys):
    sample = ("generate", language_model, *PROMPT, "--max-new-tokens", "12", "--temperature", "2")
    first, again, other = (shown(capsys, *sample, "--seed", seed) for seed in ("1", "1", "2"))
    assert first == again != other


def test_no_ngram_is_repeated_if_that_is_forbidden(language_model: Path):
    model = zoo.load(language_model)
    assert isinstance(model, TextGenerator)
    (free,) = model.generate(["the owl"], max_new=16)
    (forbidden,) = model.generate(["the owl"], max_new=16, no_repeat=1)
    ids = [model.tokenizer.encode("the owl" + one.text).ids for one in (free, forbidden)]
    assert len(set(ids[0])) < len(ids[0])
    assert forbidden.text != free.text


def test_prompts_come_from_a_file_or_a_pipe_a_line_each(
    language_model: Path, encoder_decoder: Path, tmp_path: Path, capsys, monkeypatch
):
    path = tmp_path / "sources.txt"
    path.write_text("a b\nc d a\n")
    lines = shown(capsys, "generate", encoder_decoder, "--input", path, "--json").splitlines()
    assert [json.loads(line)["prompt"] for line in lines] == ["a b", "c d a"]
    alone = shown(capsys, "generate", encoder_decoder, "--prompt", "c d a")
    assert json.loads(lines[1])["text"] == alone.removesuffix("\n")
    with path.open("rb") as stream:
        monkeypatch.setattr("sys.stdin", type("Pipe", (), {"buffer": stream})())
        piped = shown(capsys, "generate", encoder_decoder, "--input", "-", "--json").splitlines()
    assert piped == lines


BAD = [
    (["--prompt", ""], "prompt 1 is empty"),
    (["--prompt", "the owl", "--prompt", "  "], "prompt 2 is empty"),
    ([*PROMPT, "--max-new-tokens", "0"], "--max-new-tokens 0"),
    ([*PROMPT, "--max-new-tokens", "-3"], "--max-new-tokens -3"),
    ([*PROMPT, "--max-new-tokens", "24"], "leaves room for"),
    ([*PROMPT, "--top-p", "0"], "top-p must be above 0 and at most 1, not 0.0"),
    ([*PROMPT, "--top-p", "1.1"], "top-p must be above 0 and at most 1, not 1.1"),
    ([*PROMPT, "--top-p", "nan"], "top-p"),
    ([*PROMPT, "--top-k", "0"], "top-k must be 1 or more"),
    ([*PROMPT, "--temperature", "0"], "temperature must be above 0"),
    ([*PROMPT, "--temperature", "-1"], "temperature must be above 0"),
    ([*PROMPT, "--beam", "0"], "beams must be 1 or more"),
    ([*PROMPT, "--beam", "2", "--top-k", "3"], "choose one"),
    ([*PROMPT, "--no-repeat-ngram", "0"], "no-repeat must be 1 or more"),
    ([*PROMPT, "--seed", "1"], "--seed is for sampling"),
    ([*PROMPT, "--input", "x.txt"], "use one of the two"),
    (["--prompt", "owl " * 60], "too long for this model of 24"),
    (["--input", "nowhere.txt"], "cannot be read"),
]


@pytest.mark.parametrize(("options", "message"), BAD, ids=lambda v: str(v)[:40])
def test_one_line_says_what_is_wrong(
    language_model: Path, options: list[str], message: str, capsys
):
    assert main(["generate", str(language_model), *options]) == 2
    printed = capsys.readouterr()
    (line,) = printed.err.strip().splitlines()
    assert message in line


@pytest.mark.parametrize(
    "arguments",
    [["predict", "MODEL", "a text"], ["attend", "MODEL", "a text"],
     ["evaluate", "MODEL", "--data", "newswire"]],
    ids=lambda v: v[0],
)  # fmt: skip
def test_commands_for_classifiers_say_which_command_takes_the_model(
    language_model: Path, encoder_decoder: Path, arguments: list[str], capsys
):
    for directory, what in (
        (language_model, "a language model"),
        (encoder_decoder, "an encoder-decoder"),
    ):
        assert main([str(directory) if a == "MODEL" else a for a in arguments]) == 2
        (line,) = capsys.readouterr().err.strip().splitlines()
        assert (
            f"holds {what}, which zoo {arguments[0]} does not take; it is for zoo generate" in line
        )


def test_other_weights_are_found_by_the_models_outputs(language_model: Path, tmp_path: Path):
    from safetensors.torch import load_file, save_file

    from zoo.inference.directory import WEIGHTS, file_digest

    other = Path(shutil.copytree(language_model, tmp_path / "other"))
    weights = load_file(other / WEIGHTS)
    name = next(n for n in weights if "attention" in n and weights[n].dim() == 2)
    save_file({**weights, name: weights[name].flip(0).contiguous()}, other / WEIGHTS)
    config = json.loads((other / "config.json").read_text())
    config["files"][WEIGHTS] = file_digest(other / WEIGHTS)
    (other / "config.json").write_text(json.dumps(config))
    with pytest.raises(zoo.ZooError, match="gives other outputs here than when it was saved"):
        zoo.load(other)


def test_generating_from_python_takes_a_list_of_prompts(encoder_decoder: Path):
    model = zoo.load(encoder_decoder)
    assert isinstance(model, TextGenerator)
    first, second = model.generate(["a b", "c d"], sampling=Sampling(0.5, seed=1), max_new=6)
    assert (first.prompt, second.prompt) == ("a b", "c d")
    assert all(one.ended or one.tokens == 6 for one in (first, second))
    assert first.log_probability <= 0
    with pytest.raises(zoo.ZooError, match="list of prompts"):
        next(iter(model.generate("a b")))
