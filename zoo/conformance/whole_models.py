"""Checks in whole models of several layers: what each layer does alone may not be all."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, cast

import torch
from torch import Tensor, nn

from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.conformance.assertions import close, finite, has_shape, must
from zoo.conformance.check import check
from zoo.conformance.modules import DROPOUT, LARGE, autocast
from zoo.conformance.outcomes import CheckFailed, CheckSkipped
from zoo.conformance.setup import (
    DIM,
    HEADS,
    HIDDEN,
    PLACE,
    ModuleSetup,
    other_values,
    padded_mask,
    perturb,
)
from zoo.conformance.training import agrees
from zoo.models.architectures import LanguageModel
from zoo.models.build import build_classifier, build_language_model
from zoo.models.seeding import seeded
from zoo.models.stack import Stack
from zoo.registry import AXES, Choice
from zoo.registry.cell import Cell
from zoo.registry.loading import built_ins
from zoo.training.trainer import AuxiliaryLosses, after_step, undecayed

# A plain encoding that needs the slot, and the other plain parts of a model.
ENCODINGS = {"embed": "sin", "rotate": "rope", "bias": "alibi"}
PLAIN = {"attention": "naive", "norm": "layer", "ffn": "gelu", "block": "pre", "pool": "mean"}
# The second finds components that work only with the numbers of the first, which all other checks
# use; its number of heads is no power of two.
ASSEMBLED = (
    Sizes(dim=DIM, layers=2, heads=HEADS, ffn_dim=HIDDEN, max_length=12, vocab_size=50),
    Sizes(dim=36, layers=1, heads=3, ffn_dim=60, max_length=12, vocab_size=50),
)
SIZES = Sizes(dim=DIM, layers=3, heads=HEADS, ffn_dim=HIDDEN, max_length=14, vocab_size=50)
# Ids, tokens of the longest text, more of padding, and tokens of the longest prompt.
VOCAB, LENGTH, MORE, PROMPT = 50, 9, 4, 5
# A long text, with a beginning that ends inside of a chunk; steps of an optimizer.
LONG, BEGIN, STEPS = 150, 77, 4
MANY = 129  # texts: more than are evaluated at once
SMALL = (1e-9, 1e-13)  # below the usual limits of a denominator
WIDE = (64, 2, 80)  # heads so wide that encodings have several frequencies


@check(*AXES)
def assembles(setup: ModuleSetup) -> None:
    """Planning refuses what it does not declare; every model that planning allows trains."""
    kind, trained = setup.choice.component.kind, 0
    reasons = []
    for slot, encoding in ENCODINGS.items() if kind == "attention" else [("embed", "sin")]:
        cell = _cell(setup, pe=encoding)
        reason = cell.refusal(ASSEMBLED[0], {"attention": {"padding"}})
        if kind == "attention":
            able = slot == "embed" or setup.can(slot)
            must(able or bool(reason), f"planning allows an encoding that needs {slot!r}")
        if reason:
            reasons.append(reason)
            continue
        for sizes in ASSEMBLED:
            try:
                _train(cell, slot, sizes)
            except ValueError as error:  # refuses these sizes, which a plan then says
                reasons.append(str(error))
            else:
                trained += 1
    if not trained:
        raise CheckSkipped(f"planning allows no model with it: {reasons[0]}")


@cache
def _plain(**parts: str) -> Cell:
    """A cell of plain built-in parts, but for these."""
    return Cell.parse(built_ins(), {**PLAIN, **parts})


def _cell(setup: ModuleSetup, **parts: str) -> Cell:
    """The same with the component in it."""
    return Cell({**_plain(**parts).axes, setup.choice.component.kind: (setup.choice,)})


def _train(cell: Cell, slot: str, sizes: Sizes) -> None:
    """A step, and one under autocast, on texts of several lengths, an empty one among them."""
    model = build_classifier(cell, sizes, vocab_size=50, classes=3, seed=0, dropout=0.1)
    ids = torch.randint(50, (4, 12))
    real = torch.arange(12) < torch.tensor([12, 5, 1, 0])[:, None]
    for mixed in (False, True):
        what = f"a model with an encoding that needs {slot!r}{', under autocast' * mixed}"
        with autocast(mixed):
            logits = model(ids, Tokens(real, torch.arange(12)))
        has_shape(logits, (4, 3), f"logits of {what}")
        finite(logits, f"logits of {what}")
        loss = torch.nn.functional.cross_entropy(logits.float(), torch.tensor([0, 1, 2, 0]))
        loss.backward()
        for name, parameter in model.named_parameters():
            if parameter.grad is not None:
                finite(parameter.grad, f"gradient of {name} in {what}")


@check(*AXES)
def in_a_model(setup: ModuleSetup) -> None:
    """In models of three layers, and of long texts, texts keep to themselves; losses are right."""
    model, sizes = _any_model(setup), SIZES.model_copy(update={"layers": 1, "max_length": LONG})
    for training in (False, True) if setup.quiet_training else (False,):
        model.train(training)
        _apart(model, *_padded_texts(1), ", in training" * training)
    ids = torch.randint(VOCAB, (3, LONG), generator=torch.Generator().manual_seed(1))
    real = torch.arange(LONG) < torch.tensor([LONG, 41, 90])[:, None]
    with torch.no_grad():
        long = Tokens(real, torch.arange(LONG))
        _apart(_any_model(setup, sizes=sizes), ids, long, f", {LONG} tokens", more=0)
        ids, tokens = _padded_texts(MANY // 3)
        whole = model.eval()(ids, tokens)
        for first in (0, 63, MANY - 3):  # multiples of three, as lengths recur
            few = slice(first, first + 3)
            same = model(ids[few], Tokens(padded_mask(LENGTH), tokens.positions))
            close(same, whole[few], f"texts {first} to {first + 2} among {MANY} and by themselves")
    ids, tokens = _padded_texts(1)

    def logits_again() -> Tensor:
        torch.manual_seed(setup.settings.seed)
        out: Tensor = model(ids, tokens)
        return out

    model.train()
    if not setup.can("surrogate"):
        agrees(logits_again, [p for p in model.parameters() if p.requires_grad], "all weights")
    undecayed(model)
    after_step(model)
    finite(logits_again(), "logits after after_step()")
    if setup.choice.component.kind != "pool" and not setup.can("causal-only"):
        some, every = (_model(setup, build_classifier, classes=3, pool="cls") for _ in range(2))
        cast(Stack, every.encoder).all_positions = True
        logits = every(ids, tokens)
        close(some(ids, tokens), logits, "logits of few rows against those of all")


def _apart(model: nn.Module, ids: Tensor, tokens: Tokens, mode: str, *, more: int = MORE) -> None:
    """Fail unless each text gives the same alone, and with other padding, as do the losses.

    more: tokens of padding that are added; 0 where the texts are as long as the model allows.
    """
    real = tokens.attention_mask
    assert real is not None
    garbage = torch.where(real, ids, (ids + 7) % VOCAB)
    longer = torch.cat([garbage, garbage[:, :more]], dim=1)
    mask = torch.cat([real, torch.zeros(len(real), more, dtype=torch.bool)], dim=1)
    logits, losses = _with_losses(model, ids, real)
    again, others = _with_losses(model, longer, mask)
    if logits.dim() == 3:  # of tokens
        again = again[:, : ids.shape[1]]
        logits, again = (x.masked_fill(~real[..., None], 0) for x in (logits, again))
    for text, kept in enumerate(real):
        alone = model(ids[text : text + 1, kept], Tokens.whole(int(kept.sum())))[0]
        expected = logits[text, kept] if logits.dim() == 3 else logits[text]
        close(alone, expected, f"text {text} of {int(kept.sum())} tokens alone{mode}")
    close(again, logits, f"other tokens in{' more' * bool(more)} padding{mode}")
    for name, value in losses.items():
        has_shape(value, (), f"the loss '{name}'")
        finite(value, f"the loss '{name}'")
        close(others[name], value, f"the loss '{name}' with other padding{mode}")


def outputs_in_a_model(setup: ModuleSetup) -> list[Tensor]:
    """Logits of a model of three layers, and the losses that these add, weighted.

    None where planning allows no model with it.
    """
    try:
        model = _any_model(setup).train()
    except CheckSkipped:
        return []
    torch.manual_seed(setup.settings.seed)
    with AuxiliaryLosses(model).collected() as found:
        logits = model(*_padded_texts(2))
    return [logits.detach(), *(one.weight * one.value.detach() for one in found)]


@check(*AXES)
def learns(setup: ModuleSetup) -> None:
    """From its own initial weights, every parameter gets a finite gradient within a few steps."""
    model = _any_model(setup, noise=False)
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
        for name, p in parameters.items():
            if p.grad is not None:
                finite(p.grad, f"gradient of {name}")
                reached |= {name} if p.grad.any() else set()
        optimizer.step()
        after_step(model)
    own = [name for name, p in setup.build().named_parameters() if p.requires_grad]
    dead = [
        name
        for name in own
        if any(n.endswith(f".{name}") for n in parameters)
        and not any(n.endswith(f".{name}") for n in reached)
    ]
    what = f"in {STEPS} steps no gradient reaches {', '.join(dead)} in any layer"
    must(not dead, f"{what}: initial values, two of them zero, may keep each other from learning")


def _decodes(choice: Choice) -> str | None:
    """Whether a decoder can be made of it, as far as it declares."""
    asked = choice.component.kind == "attention" or choice.can("neighbours")
    able = not asked or choice.can("causal", "cache")
    return None if able else "it does not declare 'causal' and 'cache'"


@check("attention", "pe", "norm", "ffn", "block", applies=_decodes)
@torch.no_grad()
def decoding_in_a_model(setup: ModuleSetup) -> None:
    """In decoders, padded prompts, long ones too, are continued as each text is alone."""
    for layers, length, begin in ((3, LENGTH, PROMPT), (1, LONG, BEGIN)):
        sizes = SIZES.model_copy(update={"layers": layers, "max_length": length})
        model = cast(
            LanguageModel,
            _model(setup, build_language_model, "causal", pool="mean", sizes=sizes),
        )
        ids = torch.randint(VOCAB, (3, length), generator=torch.Generator().manual_seed(1))
        prompts = padded_mask(begin)  # a whole one, half of one, and one token
        for side, prompt in (("right", prompts), ("left", prompts.flip(1))):
            real = torch.cat([prompt, torch.ones(3, length - begin, dtype=torch.bool)], dim=1)
            positions = (real.cumsum(1) - 1).clamp_min(0)
            alone = torch.zeros(*ids.shape, VOCAB, dtype=torch.float64)
            for text, kept in enumerate(real):
                one = model(ids[text : text + 1, kept], Tokens.whole(int(kept.sum())))
                alone[text, kept] = one[0]
            cache = model.decoder.new_cache()
            ends = (0, begin, begin + 1, begin + 2, length)
            for first, end in itertools.pairwise(ends):
                now = slice(first, end)
                step = model(ids[:, now], Tokens(real[:, now], positions[:, now]), cache=cache)
                what = f"logits of tokens {first} to {end - 1}, prompts padded on the {side}"
                close(step[real[:, now]], alone[:, now][real[:, now]], what)


def _padded_texts(times: int) -> tuple[Tensor, Tokens]:
    """So many times three texts, of 9, 5 and 1 tokens."""
    generator = torch.Generator().manual_seed(2)
    ids = torch.randint(VOCAB, (3 * times, LENGTH), generator=generator)
    return ids, Tokens(padded_mask(LENGTH).repeat(times, 1), torch.arange(LENGTH))


def _with_losses(model: nn.Module, ids: Tensor, real: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    """Logits, and the losses that layers add, numbered in their order."""
    with AuxiliaryLosses(model).collected() as found:
        logits = model(ids, Tokens(real, torch.arange(ids.shape[1])))
    return logits, {f"{one.name} {number}": one.value for number, one in enumerate(found)}


def _any_model(setup: ModuleSetup, **options: Any) -> nn.Module:
    """A classifier; of what is causal by nature a language model."""
    if setup.can("causal-only"):
        return _model(setup, build_language_model, "causal", pool="mean", **options)
    return _model(setup, build_classifier, classes=3, pool="mean", **options)


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
    slots = ("rotate", "bias") if setup.choice.component.kind == "attention" else ()
    slot = next(filter(setup.can, slots), "embed")
    cell = _cell(setup, pe=ENCODINGS[slot], pool=pool)
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
    given = setup.choice.given
    numbers = {
        name: value
        for name, value in {**setup.choice.component.parameters, **given}.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    for name, value in numbers.items():
        tried = []
        for other in other_values(value):
            try:
                if _differ(setup, setup.given(**{**given, name: other})):
                    break
            except (ValueError, CheckFailed):  # it refuses the value, or the sizes with it
                continue
            tried.append(f"{other:g}")
        else:
            what = f"with {name}={' or '.join(tried)} weights, outputs and losses are those of"
            must(not tried, f"{what} {name}={value:g}, bit by bit: the parameter does nothing")
    if not numbers:
        raise CheckSkipped("it has no numeric parameter")


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
    module = setup.build(jitter=0, dropout=DROPOUT if "dropout" in setup.passes else 0.0)
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
