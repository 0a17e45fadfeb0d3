"""``import zoo`` offers functions that help, Tab and type checkers know; it stays quick."""

import inspect
import pydoc
from pathlib import Path

import jedi
import pytest
import torch
from refused import refused
from small_runs import DEFAULT_CELL
from torch import nn

import zoo
from bench import stub
from zoo.cli.bench import bench as bench_command
from zoo.cli.bench import train as train_command
from zoo.config.sizes import Sizes
from zoo.models.build import build_stack
from zoo.models.stack import Encoder
from zoo.registry.cell import Cell
from zoo.registry.loading import load

# What the command line writes in another way: help and plan print and stop, others say what is
# printed, and in Python seeds are a number or a list.
OTHERWISE = {"_click_default_help", "set", "plan_only", "wide", "as_json", "quiet", "seed"}


def test_dir_names_what_there_is():
    assert {"bench", "train", "load", "build", "sklearn", "hookimpl", "ZooError"} <= set(dir(zoo))
    for name in dir(zoo):
        assert getattr(zoo, name) is not None or name.startswith("__")
    with pytest.raises(AttributeError, match="no attribute 'bentch'"):
        zoo.bentch  # noqa: B018


def test_no_package_has_the_name_of_a_function():
    """Its import would put it in the function's place."""
    packages = {path.stem for path in Path(zoo.__file__).parent.iterdir()}
    assert packages.isdisjoint({*zoo.__all__})


@pytest.mark.parametrize(
    ("function", "command", "own"),
    [
        (zoo.bench, bench_command, {"seeds", "progress"}),
        (zoo.train, train_command, {"seed", "progress"}),
    ],
    ids=["bench", "train"],
)
def test_a_function_takes_every_option_of_its_command_by_name(function, command, own):
    context = command.make_context("zoo", ["--save", "x"] if function is zoo.train else [])
    params = command.get_params(context)
    offered = {str(param.name) for param in params}
    offered |= {name for param in params for name in getattr(param, "settings", ())}
    parameters = inspect.signature(function).parameters
    assert {*parameters} - {"options"} == (offered - OTHERWISE) | own
    for parameter in parameters.values():
        assert parameter.annotation is not parameter.empty, parameter.name
    # Its docstring has the words of the command line.
    said = " ".join(str(function.__doc__).split())
    assert "Width of the model." in said
    for option in offered - OTHERWISE:
        assert option in said, option


def test_help_begins_with_what_a_function_does_and_completion_has_its_options():
    for function, does in ((zoo.bench, "Train and measure every"), (zoo.train, "Train one model")):
        _, _, call, sentence, *_ = pydoc.plain(pydoc.render_doc(function)).splitlines()
        assert call == f"{function.__name__}(attention=None, pe=None, **options)"
        assert sentence.strip().startswith(does)
        completions = jedi.Interpreter(f"zoo.{function.__name__}(atten", [{"zoo": zoo}]).complete()
        assert "attention_dropout=" in {completion.name_with_symbols for completion in completions}


def test_the_stub_for_editors_is_up_to_date():
    assert stub.FILE.read_text(encoding="utf-8") == stub.text(), "run: make stub"
    root = stub.FILE.parents[1]
    packages = [stub.FILE.parent, *root.glob("plugins/zoo-*/zoo_*")]
    assert [package.name for package in packages if not (package / "py.typed").exists()] == []


@pytest.mark.slow
def test_a_type_checker_knows_options_and_results(tmp_path):
    from mypy import api

    script = tmp_path / "script.py"
    script.write_text(
        "import zoo\n"
        "result = zoo.bench('fused', pe=['rope', 'sin'], dim=32, seeds=3)\n"
        "reveal_type(result.table)\n"
        "zoo.bench(dim='wide')\n"
        "zoo.train(epoch=3)\n"
        "zoo.train(from_=result, save='model').predict(['a'])[0].label\n"
        "zoo.load('model').generate(['a'])\n"
        "result.runs.groupby('row')\n"
    )
    cache = Path(zoo.__file__).parents[1] / ".mypy_cache"
    # With the options of any other run of mypy, so that they use one another's cache.
    out, _, _ = api.run([str(script), "--strict", "--cache-dir", str(cache)])
    shown, *errors = (line for line in out.splitlines() if script.name in line)
    assert "pandas" in shown
    wrong, unknown = (line for line in errors if " error: " in line)
    assert 'Argument "dim" to "bench" has incompatible type "str"' in wrong
    assert 'Unexpected keyword argument "epoch" for "train"' in unknown


SIZES = {"dim": 16, "heads": 2, "ffn_dim": 32, "layers": 2, "vocab_size": 50}


def test_build_gives_the_encoder_that_a_bench_begins_with():
    model = zoo.build({"attention": "fused", "pe": "rope", "norm": "rms"}, SIZES, seed=3)
    assert isinstance(model, nn.Module)
    names = {**DEFAULT_CELL, "norm": "rms"}
    same = build_stack(
        Encoder, Cell.parse(load().registry, names), Sizes(**SIZES), vocab_size=50, seed=3
    )
    built = dict(model.named_parameters())
    assert len(built) == len(list(same.parameters()))
    for name, weight in same.named_parameters():
        assert torch.equal(built[f"model.{name}"], weight)


def test_a_built_encoder_ignores_padding_and_learns():
    torch.manual_seed(0)
    model = zoo.build({"attention": "naive", "pe": "sin"}, SIZES, seed=0).eval()
    ids = torch.randint(1, 50, (2, 7))
    mask = torch.tensor([[1] * 7, [1] * 4 + [0] * 3])
    vectors = model(ids, mask)
    assert vectors.shape == (2, 7, 16)
    changed = ids.clone()
    changed[1, 4:] = 9
    torch.testing.assert_close(model(changed, mask)[1, :4], vectors[1, :4])
    torch.testing.assert_close(model(ids[1:, :4])[0], vectors[1, :4])
    classifier = zoo.build(sizes=SIZES, classes=3)
    loss = nn.functional.cross_entropy(classifier(ids, mask), torch.tensor([0, 2]))
    loss.backward()
    assert all(weight.grad is not None for weight in classifier.parameters())


@pytest.mark.parametrize("pool", ["mean", "cls"])
@pytest.mark.parametrize("pe", ["none", "sin", "learned", "rope", "alibi"])
def test_padding_may_stand_anywhere(pe, pool):
    """Behind the text, before it, on both sides and inside of it, it changes nothing."""
    model = zoo.build({"pe": pe, "pool": pool}, SIZES, classes=3, seed=0).eval()
    ids = torch.randint(1, 50, (1, 4), generator=torch.Generator().manual_seed(0))
    places = torch.tensor([[0, 1, 2, 3], [3, 4, 5, 6], [1, 2, 3, 4], [0, 2, 3, 6]])
    padded = torch.full((4, 7), 9).scatter(1, places, ids.expand(4, -1))
    mask = torch.zeros(4, 7, dtype=torch.long).scatter(1, places, 1)
    torch.testing.assert_close(model(padded, mask), model(ids).expand(4, -1), rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("cell", "sizes", "says"),
    [
        ({"attention": "fusd"}, {}, "did you mean 'fused'"),
        ({"attention": "torch", "pe": "rope"}, {}, "torch cannot rotate"),
        ("fused", {}, "no axis 'f'"),
        ({"attenton": "fused"}, {}, "no axis 'attenton'"),
        ({}, {"dim": 0}, "--set dim=0"),
        ({}, {"dimm": 3}, "no option 'dimm'; did you mean 'dim'.* There is: dim, layers"),
        ({}, {"dim": 10, "heads": 4}, "not divisible"),
    ],
)
def test_what_cannot_be_built_is_one_line(cell, sizes, says):
    refused(says, zoo.build, cell, sizes)
