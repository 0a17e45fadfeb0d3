"""One metric of a row in two runs, and whether the two can be held together at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from zoo.sweep.records import Record
from zoo.tasks.score import CLASSIFY, scores_of

Verdict = Literal["better", "worse", "tie"]


@dataclass(frozen=True)
class Change:
    """One metric of one row, before and after.

    before, after: means over seeds, with ``*_half`` half their own 95% intervals; tokens/s or MiB,
    where they are of one machine. value: a difference of scores, or a ratio of speeds or memories
    (after over before; of ratios to the reference where ``relative``); low, high: its 95% interval,
    uncorrected. p: two-sided; adjusted: corrected. floor: the noise floor as a share.
    verdict: None where nobody can say, and ``why``. models_only: it is of these models, not of
    what training again would give.
    """

    metric: str
    before: float | None = None
    after: float | None = None
    before_half: float | None = None
    after_half: float | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    floor: float | None = None
    p: float | None = None
    adjusted: float | None = None
    seeds: int = 0
    relative: bool = False
    models_only: bool = False
    verdict: Verdict | None = None
    why: str = ""


def other_settings(one: Record, other: Record) -> str:
    """Why what two records say cannot be held together; empty where it can."""
    ours, theirs = one.config, other.config
    data, others = ours["data"], theirs["data"]
    if data["fingerprint"] != others["fingerprint"]:
        return f"other data: {_data(data)} against {_data(others)}"
    held = [c["training"].get("validation", 0.0) for c in (ours, theirs)]
    if held[0] != held[1] or data["test"] != others["test"]:
        return f"other test split: {_split(ours)} against {_split(theirs)}"
    if data["train"] != others["train"]:
        return f"other training split: {data['train']} {_of(ours)} against {others['train']}"
    differ = [
        f"{name} {part.get(name)} against {parts.get(name)}"
        for room in ("sizes", "training")
        for part, parts in [(ours.get(room, {}), theirs.get(room, {}))]
        for name in dict.fromkeys([*part, *parts])
        if part.get(name) != parts.get(name)
    ]
    if ours.get("read_last") != theirs.get("read_last"):
        differ.append("full attention in one of them")
    return f"other settings: {', '.join(differ)}" if differ else ""


def _data(data: dict[str, Any]) -> str:
    return f"{data['name']} ({data['fingerprint'][:12]})"


def _split(config: dict[str, Any]) -> str:
    share = config["training"].get("validation", 0.0)
    if share:
        return f"{share:.0%} of the training {_of(config)}"
    return f"{config['data']['test']} test {_of(config)}"


def _of(config: dict[str, Any]) -> str:
    return scores_of(config.get("task", CLASSIFY))[0].of
