"""``zoo generate``, and a kept model of one task where a command wants another's."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from zoo.models.text_writer import TextWriter

import zoo
from zoo.cli import main
from zoo.models.decoding.sampling import Sampling

PROMPT = ["--prompt", "the owl saw"]


def shown(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    assert main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


def test_the_cache_changes_no_token(writer: Path, translator: Path, capsys):
    for options in ([], ["--temperature", "1.5", "--seed", "3"], ["--beam", "3"]):
        texts = [
            shown(capsys, "generate", writer, *PROMPT, "--max-new-tokens", "12", "--json", *options,
                  *more)
            for more in ([], ["--no-cache"])
        ]  # fmt: skip
        cached, anew = map(json.loads, texts)
        assert cached["text"] == anew["text"]
        assert cached["tokens"] == anew["tokens"] > 0
        assert cached["log_probability"] == pytest.approx(anew["log_probability"], abs=1e-3)
    for more in ([], ["--beam", "3"]):
        arguments = ("generate", translator, "--prompt", "a b c", *more)
        assert shown(capsys, *arguments) == shown(capsys, *arguments, "--no-cache")


def test_greedy_takes_the_likeliest_token_each_time(writer: Path, capsys):
    model = zoo.load(writer)
    assert isinstance(model, TextWriter)
    ids = [0, *model.tokenizer.encode("the owl saw").ids]
    prompt = len(ids)
    with torch.inference_mode():
        for _ in range(8):
            from zoo.components.tokens import Tokens

            scores = model.model(torch.tensor([ids]), Tokens.whole(len(ids)))
            ids.append(int(scores[0, -1].argmax()))
    expected = "the owl saw" + model.tokenizer.decode(ids[prompt:])
    found = shown(capsys, "generate", writer, *PROMPT, "--max-new-tokens", "8")
    assert found == expected + "\n"
    # Of one token alone there is nothing to draw: top-k of one is greedy too.
    one = shown(capsys, "generate", writer, *PROMPT, "--max-new-tokens", "8", "--top-k", "1")
    assert one == found


def test_a_seed_draws_again_what_it_drew(writer: Path, capsys):
    draw = ("generate", writer, *PROMPT, "--max-new-tokens", "12", "--temperature", "2")
    first, again, other = (shown(capsys, *draw, "--seed", seed) for seed in ("1", "1", "2"))
    assert first == again != other


def test_no_run_comes_twice_where_that_is_asked(writer: Path):
    model = zoo.load(writer)
    assert isinstance(model, TextWriter)
    (free,) = model.write(["the owl"], max_new=16)
    (held,) = model.write(["the owl"], max_new=16, no_repeat=1)
    ids = [model.tokenizer.encode("the owl" + one.text).ids for one in (free, held)]
    assert len(set(ids[0])) < len(ids[0])
    assert held.text != free.text


def test_prompts_come_from_a_file_or_a_pipe_a_line_each(
    writer: Path, translator: Path, tmp_path: Path, capsys, monkeypatch
):
    path = tmp_path / "sources.txt"
    path.write_text("a b\nc d a\n")
    lines = shown(capsys, "generate", translator, "--input", path, "--json").splitlines()
    assert [json.loads(line)["prompt"] for line in lines] == ["a b", "c d a"]
    alone = shown(capsys, "generate", translator, "--prompt", "c d a")
    assert json.loads(lines[1])["text"] == alone.removesuffix("\n")
    with path.open("rb") as stream:
        monkeypatch.setattr("sys.stdin", type("Pipe", (), {"buffer": stream})())
        piped = shown(capsys, "generate", translator, "--input", "-", "--json").splitlines()
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
    ([*PROMPT, "--seed", "1"], "--seed is of drawing"),
    ([*PROMPT, "--input", "x.txt"], "use one of the two"),
    (["--prompt", "owl " * 60], "too long for this model of 24"),
    (["--input", "nowhere.txt"], "cannot be read"),
]


@pytest.mark.parametrize(("options", "told"), BAD, ids=lambda v: str(v)[:40])
def test_one_line_says_what_is_wrong(writer: Path, options: list[str], told: str, capsys):
    assert main(["generate", str(writer), *options]) == 2
    printed = capsys.readouterr()
    (line,) = printed.err.strip().splitlines()
    assert told in line


def test_what_is_no_model_and_what_a_newer_zoo_wrote_are_refused(
    writer: Path, tmp_path: Path, capsys
):
    assert main(["generate", str(tmp_path), *PROMPT]) == 2
    assert "holds no model" in capsys.readouterr().err
    assert main(["generate", str(tmp_path / "none"), *PROMPT]) == 2
    assert "no directory" in capsys.readouterr().err
    newer = Path(shutil.copytree(writer, tmp_path / "newer"))
    config = json.loads((newer / "config.json").read_text())
    (newer / "config.json").write_text(json.dumps({**config, "schema_version": 2}))
    assert main(["generate", str(newer), *PROMPT]) == 2
    assert "written by a newer zoo" in capsys.readouterr().err
    (newer / "config.json").write_text(json.dumps({**config, "task": "classify"}))
    assert main(["predict", str(newer), "a text"]) == 2
    assert "two classes or more" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [["predict", "MODEL", "a text"], ["attend", "MODEL", "a text"],
     ["evaluate", "MODEL", "--data", "newswire"]],
    ids=lambda v: v[0],
)  # fmt: skip
def test_commands_for_classifiers_say_what_takes_the_model(
    writer: Path, translator: Path, arguments: list[str], capsys
):
    for directory, what in ((writer, "a language model"), (translator, "an encoder-decoder")):
        assert main([str(directory) if a == "MODEL" else a for a in arguments]) == 2
        (line,) = capsys.readouterr().err.strip().splitlines()
        assert f"holds {what}, which zoo generate takes" in line


def test_weights_that_are_not_the_trained_ones_are_known(writer: Path, tmp_path: Path):
    from safetensors.torch import load_file, save_file

    from zoo.inference.directory import WEIGHTS, digest

    other = Path(shutil.copytree(writer, tmp_path / "other"))
    weights = load_file(other / WEIGHTS)
    name = next(n for n in weights if "attention" in n and weights[n].dim() == 2)
    save_file({**weights, name: weights[name].flip(0).contiguous()}, other / WEIGHTS)
    config = json.loads((other / "config.json").read_text())
    config["files"][WEIGHTS] = digest(other / WEIGHTS)
    (other / "config.json").write_text(json.dumps(config))
    with pytest.raises(zoo.ZooError, match="gives other scores here than when it was saved"):
        zoo.load(other)


def test_writing_from_python_takes_a_list_and_says_what_it_wrote(translator: Path):
    model = zoo.load(translator)
    assert isinstance(model, TextWriter)
    first, second = model.write(["a b", "c d"], sampling=Sampling(0.5, seed=1), max_new=6)
    assert (first.prompt, second.prompt) == ("a b", "c d")
    assert all(one.ended or one.tokens == 6 for one in (first, second))
    assert first.log_probability <= 0
    with pytest.raises(zoo.ZooError, match="list of prompts"):
        next(iter(model.write("a b")))
