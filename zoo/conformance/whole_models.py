"""Checks in whole models of several layers: what each layer does alone may not be all."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.conformance.assertions import close, finite, has_shape, must
from zoo.conformance.check import CheckFailed, CheckSkipped, check
from zoo.conformance.modules import DROPOUT, MODULES, of_modules
from zoo.conformance.registration import ENCODINGS, PLAIN
from zoo.conformance.setup import DIM, HEADS, HIDDEN, PLACE, ModuleSetup, padded_mask, perturb
from zoo.conformance.training import agrees
from zoo.models.architectures import LanguageModel
from zoo.models.build import build_classifier, build_language_model
from zoo.models.seeding import seeded
from zoo.registry import AXES, Pattern
from zoo.registry.cell import Cell
from zoo.registry.loading import built_ins
from zoo.training.trainer import AuxiliaryLosses, after_step, undecayed

SIZES = Sizes(dim=DIM, layers=3, heads=HEADS, ffn_dim=HIDDEN, max_length=14, vocab_size=50)
# Ids, tokens of the longest text, more of padding, and tokens of the longest prompt.
VOCAB, LENGTH, MORE, PROMPT = 50, 9, 4, 5
# A long text, with a beginning that ends inside of a chunk; steps of an optimizer.
LONG, BEGIN, STEPS = 150, 77, 4
MANY = 129  # texts: more than are evaluated at once
LONG, LARGE = 150, 100.0
SMALL = (1e-9, 1e-13)  # below the usual limits of a denominator
WIDE = (64, 2, 80)  # heads so wide that encodings have several frequencies


@check(*MODULES, applies=of_modules)
def gradients(setup: ModuleSetup) -> None:
    """Every parameter gets a finite gradient that is not zero, and so does the input."""
    module = setup.build()
    names = [name for name, p in module.named_parameters() if p.requires_grad]
    largest = dict.fromkeys(names, 0.0)
    reached = 0.0
    for case in setup.cases():
        inputs = case.leaves()
        out = case.call(module, *inputs)
        if not out.requires_grad:
            continue  # parameters that no case reaches are reported below
        direction = torch.randn(out.shape, dtype=out.dtype)
        module.zero_grad()
        (out * direction).sum().backward()
        for x in inputs:
            if x.grad is not None:
                finite(x.grad, f"{case.name}: gradient of the input")
                reached = max(reached, float(x.grad.abs().max()))
        for name, parameter in module.named_parameters():
            if parameter.grad is not None:
                finite(parameter.grad, f"{case.name}: gradient of {name}")
                largest[name] = max(largest[name], float(parameter.grad.abs().max()))
    # Exactly zero, because a key's bias changes no softmax and its gradient is rounding error. A
    # gradient that is merely too small is found by gradcheck.
    dead = [name for name in names if largest[name] == 0]
    if dead and setup.choice.component.kind in AXES:
        dead = _dead_in_a_model(setup, dead)
    must(not dead, f"no gradient reaches {', '.join(dead)} in any case")
    floating = any(x.is_floating_point() for case in setup.cases() for x in case.inputs)
    must(reached > 0 or not floating, "no gradient reaches the input in any case")


def _dead_in_a_model(setup: ModuleSetup, names: list[str]) -> list[str]:
    """Those that no gradient reaches in any of three layers; the first may leave some unused."""
    try:
        model = _model(setup, build_classifier, classes=3, pool="mean")
    except CheckSkipped:
        return names
    ids, real = _texts()
    model(ids, Tokens(real, torch.arange(LENGTH))).square().sum().backward()
    reached = [n for n, p in model.named_parameters() if p.grad is not None and p.grad.any()]
    return [name for name in names if not any(n.endswith(f".{name}") for n in reached)]


@check(*AXES)
def in_a_model(setup: ModuleSetup) -> None:
    """In a model of three layers, texts keep to themselves, and gradients and losses are right."""
    model = _model(setup, build_classifier, classes=3, pool="mean")
    ids, real = _texts()
    garbage = torch.where(real, ids, (ids + 7) % VOCAB)
    longer = torch.cat([garbage, garbage[:, :MORE]], dim=1)
    mask = torch.cat([real, torch.zeros(len(real), MORE, dtype=torch.bool)], dim=1)
    for training in (False, True) if setup.quiet_training else (False,):
        model.train(training)
        mode = "training" if training else "evaluation"
        logits, losses = _with_losses(model, ids, real)
        for text, kept in enumerate(real):
            alone = model(ids[text : text + 1, kept], Tokens.whole(int(kept.sum())))
            close(alone, logits[text : text + 1], f"text {text} alone, {mode}")
        again, others = _with_losses(model, longer, mask)
        close(again, logits, f"more padding, with other tokens in it, {mode}")
        for name, value in losses.items():
            has_shape(value, (), f"the loss '{name}'")
            finite(value, f"the loss '{name}'")
            close(others[name], value, f"the loss '{name}' with more padding, {mode}")

    def logits_again() -> Tensor:
        torch.manual_seed(setup.settings.seed)
        out: Tensor = model(ids, Tokens(real, torch.arange(LENGTH)))
        return out

    model.train()
    if not setup.can("surrogate"):
        agrees(logits_again, [p for p in model.parameters() if p.requires_grad], "all weights")
    undecayed(model)
    after_step(model)
    finite(logits_again(), "logits after after_step()")


def outputs_in_a_model(setup: ModuleSetup) -> list[Tensor]:
    """Logits of a model of three layers, and the losses that these add, weighted.

    None where planning allows no model with it.
    """
    try:
        if setup.can("causal-only"):
            model = _model(setup, build_language_model, "causal", pool="mean")
        else:
            model = _model(setup, build_classifier, classes=3, pool="mean")
    except CheckSkipped:
        return []
    torch.manual_seed(setup.settings.seed)
    with AuxiliaryLosses(model.train()).collected() as found:
        logits = model(*_padded_texts(2))
    return [logits.detach(), *(one.weight * one.value.detach() for one in found)]


@check(*AXES)
def learns(setup: ModuleSetup) -> None:
    """From its own initial weights, every parameter gets a gradient within a few steps."""
    if setup.can("causal-only"):
        model: nn.Module = _model(setup, build_language_model, "causal", pool="mean", noise=False)
    else:
        model = _model(setup, build_classifier, classes=3, pool="mean", noise=False)
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    optimizer = torch.optim.AdamW(parameters.values(), lr=0.01)
    reached: set[str] = set()
    ids, tokens = _padded_texts(8)
    torch.manual_seed(setup.settings.seed)
    for _ in range(STEPS):
        optimizer.zero_grad()
        with AuxiliaryLosses(model).collected() as found:
            out = model(ids, tokens)
        loss = (out * torch.randn_like(out)).mean() + sum(one.weight * one.value for one in found)
        loss.backward()
        reached |= {n for n, p in parameters.items() if p.grad is not None and p.grad.any()}
        optimizer.step()
        after_step(model)
    dead = [
        name
        for name, p in setup.build().named_parameters()
        if p.requires_grad
        and any(n.endswith(f".{name}") for n in parameters)
        and not any(n.endswith(f".{name}") for n in reached)
    ]
    what = f"in {STEPS} steps no gradient reaches {', '.join(dead)} in any layer"
    must(not dead, f"{what}: initial values, two of them zero, may keep each other from learning")


@check("attention", "pe", "norm", "ffn", "block")
def long_texts_in_a_model(setup: ModuleSetup) -> None:
    """A long text gives the same beside others, and read in parts with a cache, as alone."""
    sizes = SIZES.model_copy(update={"layers": 1, "max_length": LONG})
    ids = torch.randint(VOCAB, (3, LONG), generator=torch.Generator().manual_seed(1))
    real = torch.arange(LONG) < torch.tensor([LONG, 41, 90])[:, None]
    skipped = []
    try:
        model = _model(setup, build_classifier, classes=3, pool="mean", sizes=sizes)
        with torch.no_grad():
            whole = model(ids, Tokens(real, torch.arange(LONG)))
            for text, kept in enumerate(real):
                alone = model(ids[text : text + 1, kept], Tokens.whole(int(kept.sum())))
                what = f"a text of {int(kept.sum())} tokens alone and beside longer ones"
                close(alone, whole[text : text + 1], what)
    except CheckSkipped as error:
        skipped.append(str(error))
    if not _decodes(setup):
        skipped.append("it does not declare 'causal' and 'cache'")
    else:
        try:
            decoder = cast(
                LanguageModel,
                _model(setup, build_language_model, "causal", pool="mean", sizes=sizes),
            )
        except CheckSkipped as error:
            skipped.append(str(error))
        else:
            _in_parts(decoder, ids)
    if len(skipped) > 1:
        raise CheckSkipped(skipped[0])


@torch.no_grad()
def _in_parts(model: LanguageModel, ids: Tensor) -> None:
    """Texts without padding: their beginnings, and parts with a cache, give what the whole does."""
    tokens = Tokens.whole(LONG)
    whole = model(ids, tokens)
    begin = model(ids[:, :BEGIN], tokens[slice(BEGIN)])
    close(begin, whole[:, :BEGIN], f"logits of the first {BEGIN} tokens without the rest")
    cache = model.decoder.new_cache()
    for first, end in itertools.pairwise((0, BEGIN, BEGIN + 1, BEGIN + 4, LONG)):
        now = slice(first, end)
        step = model(ids[:, now], tokens[now], cache=cache)
        close(step, whole[:, now], f"logits of tokens {first} to {end - 1}, with a cache")


@check(*AXES)
@torch.no_grad()
def many_texts_in_a_model(setup: ModuleSetup) -> None:
    """In a batch of more than a hundred texts, each gives what it gives in one of three."""
    if setup.can("causal-only"):
        model: nn.Module = _model(setup, build_language_model, "causal", pool="mean")
    else:
        model = _model(setup, build_classifier, classes=3, pool="mean")
    ids, tokens = _padded_texts(MANY // 3)
    whole = model(ids, tokens)
    for first in (0, 63, MANY - 3):  # multiples of three, as lengths recur
        few = slice(first, first + 3)
        same = model(ids[few], Tokens(padded_mask(LENGTH), tokens.positions))
        close(same, whole[few], f"texts {first} to {first + 2} among {MANY} and by themselves")


def _decodes(setup: ModuleSetup) -> bool:
    """Whether a decoder can be made of it, as far as it declares."""
    asked = setup.choice.component.kind == "attention" or setup.can("neighbours")
    return setup.can("causal", "cache") if asked else True


@check("attention", "pe", "norm", "ffn", "block")
def rows_in_a_model(setup: ModuleSetup) -> None:
    """A model whose last layer gives the first position alone gives what one with all rows does."""
    ids, real = _texts()
    tokens = Tokens(real, torch.arange(LENGTH))
    few, whole = (
        _model(setup, build_classifier, classes=3, pool="cls", all_positions=every)(ids, tokens)
        for every in (False, True)
    )
    close(few, whole, "logits of few rows against those of all")


@check("attention", "pe", "norm", "ffn", "block")
def decoding_in_a_model(setup: ModuleSetup) -> None:
    """In a decoder of three layers, padded prompts are continued as each text is alone."""
    if not _decodes(setup):
        raise CheckSkipped("it does not declare 'causal' and 'cache'")
    model = cast(LanguageModel, _model(setup, build_language_model, "causal", pool="mean"))
    ids, _ = _texts()
    prompts = padded_mask(PROMPT)  # of 5, 3 and 1 tokens; all go on with real ones
    for side, prompt in (("right", prompts), ("left", prompts.flip(1))):
        real = torch.cat([prompt, torch.ones(len(ids), LENGTH - PROMPT, dtype=torch.bool)], dim=1)
        positions = (real.cumsum(1) - 1).clamp_min(0)
        alone = torch.zeros(*ids.shape, VOCAB, dtype=torch.float64)
        for text, kept in enumerate(real):
            one = model(ids[text : text + 1, kept], Tokens.whole(int(kept.sum())))
            alone[text, kept] = one[0].detach()
        cache = model.decoder.new_cache()
        for begin, end in itertools.pairwise((0, PROMPT, PROMPT + 1, PROMPT + 2, LENGTH)):
            now = slice(begin, end)
            step = model(ids[:, now], Tokens(real[:, now], positions[:, now]), cache=cache)
            what = f"logits of tokens {begin} to {end - 1}, prompts padded on the {side}"
            close(step[real[:, now]], alone[:, now][real[:, now]], what)


def _texts() -> tuple[Tensor, Tensor]:
    """Ids (B, L), and which are real: texts of 9, 5 and 1 tokens."""
    generator = torch.Generator().manual_seed(1)
    return torch.randint(VOCAB, (3, LENGTH), generator=generator), padded_mask(LENGTH)


def _padded_texts(times: int) -> tuple[Tensor, Tokens]:
    """So many times as many texts of the same lengths, with other words."""
    generator = torch.Generator().manual_seed(2)
    ids = torch.randint(VOCAB, (3 * times, LENGTH), generator=generator)
    return ids, Tokens(padded_mask(LENGTH).repeat(times, 1), torch.arange(LENGTH))


def _with_losses(model: nn.Module, ids: Tensor, real: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    """Logits, and the losses that layers add, numbered in their order."""
    with AuxiliaryLosses(model).collected() as found:
        logits = model(ids, Tokens(real, torch.arange(ids.shape[1])))
    return logits, {f"{one.name} {number}": one.value for number, one in enumerate(found)}


def _model(
    setup: ModuleSetup,
    build: Callable[..., nn.Module],
    *needs: str,
    pool: str,
    sizes: Sizes = SIZES,
    noise: bool = True,
    **options: Any,
) -> nn.Module:
    """A model with the component in every layer, in float64; noise: added to all its weights.

    Raises CheckSkipped where planning allows none.
    """
    kind = setup.choice.component.kind
    slots = ("rotate", "bias", "embed") if kind == "attention" else ("embed",)
    slot = next(slot for slot in slots if slot == "embed" or setup.can(slot))
    plain = Cell.parse(built_ins(), {**PLAIN, "pe": ENCODINGS[slot], "pool": pool})
    cell = replace(plain, **{kind: Pattern((setup.choice,))})
    if reason := cell.refusal(sizes, {"attention": {"padding", *needs}}):
        raise CheckSkipped(f"planning allows no model with it: {reason}")
    try:
        model = build(cell, sizes, vocab_size=VOCAB, seed=setup.settings.seed, **options)
    except ValueError as error:
        raise CheckSkipped(f"it refuses the model: {error}") from None
    if noise:
        with seeded(setup.settings.seed, "checks/model"):
            perturb(model)
    return model.double().eval()


@check(*AXES)
def parameters_act(setup: ModuleSetup) -> None:
    """Another value of each numeric parameter changes weights, outputs or losses."""
    numbers = {
        name: value
        for name, value in (
            dict(setup.choice.component.parameters) | dict(setup.choice.given)
        ).items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    for name, value in numbers.items():
        tried = []
        for other in _others(value):
            try:
                if _differ(setup, setup.given(**{name: other})):
                    break
            except (ValueError, CheckFailed):  # it refuses the value, or the sizes with it
                continue
            tried.append(f"{other:g}")
        else:
            what = f"with {name}={' or '.join(tried)} weights, outputs and losses are those of"
            must(not tried, f"{what} {name}={value:g}, bit by bit: the parameter does nothing")
    if not numbers:
        raise CheckSkipped("it has no numeric parameter")


def _others(value: float) -> list[float]:
    """Values of the same type near this one."""
    if isinstance(value, int):
        return [2 * value, value // 2, value + 1]
    return [2 * value, value / 2] if value else [0.5]


def _differ(one: ModuleSetup, other: ModuleSetup) -> bool:
    """Whether anything that can be seen differs, in any layer; the last one is wider."""
    places = [{**PLACE, "layer_index": index} for index in range(PLACE["layer_count"])]
    for place in places:
        pair = (one.at(*WIDE), other.at(*WIDE)) if place is places[-1] else (one, other)
        for setup in pair:
            setup.place = place
        for mine, its in zip(*map(_seen, pair), strict=False):
            if mine.shape != its.shape or not torch.equal(mine, its):
                return True
    return False


def _seen(setup: ModuleSetup) -> Iterator[Tensor]:
    """Weights, and what every case gives: short, tiny, long and large, evaluated and trained."""
    module = setup.build(jitter=False, dropout=DROPOUT if "dropout" in setup.passes else 0.0)
    yield torch.tensor(sum(p.numel() for p in module.parameters()))
    yield from module.state_dict().values()
    module = setup.build(dropout=DROPOUT if "dropout" in setup.passes else 0.0)
    for length, scale in ((6, 1.0), *((6, small) for small in SMALL), (LONG, 1.0), (LONG, LARGE)):
        for training in (False, True):
            module.train(training)
            for case in setup.cases(length=length):
                torch.manual_seed(setup.settings.seed)
                yield case.call(module, *(scale * x for x in case.inputs)).detach()
    if isinstance(module, PositionalEncoding):
        torch.manual_seed(setup.settings.seed)
        yield torch.stack([module.place(torch.arange(LONG)) for _ in range(8)])  # by chance
    yield from outputs_in_a_model(setup)
