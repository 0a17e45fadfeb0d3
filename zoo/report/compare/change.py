"""One quantity of a row in two runs, and whether the two runs can be compared at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from zoo.report.tables.same_settings import settings_of
from zoo.sweep.records import Record

Verdict = Literal["better", "worse", "tie"]


@dataclass(frozen=True)
class Change:
    """One quantity of one row, before and after.

    before, after: means over seeds, with half of their own 95% intervals; tokens/s or MiB if
    measured on one machine. value: a difference of the metric, or a ratio of speeds or memories
    (after over before; of ratios to the reference where ``relative``); low, high: its 95%
    interval, not corrected. p: two-sided; adjusted: corrected. floor: the noise floor as a share.
    verdict: None if unknown, with the reason in ``why``. models_only: it is about these trained
    models, not about what training again would give.
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


def why_not_comparable(one: Record, other: Record) -> str:
    """Why two records cannot be compared; empty where they can."""
    ours, theirs = one.config, other.config
    data, others = ours["data"], theirs["data"]
    if data["fingerprint"] != others["fingerprint"]:
        return f"other data: {_data(data)} against {_data(others)}"
    shares = [config.get("training", {}).get("validation", 0.0) for config in (ours, theirs)]
    if shares[0] != shares[1] or data.get("test") != others.get("test"):
        return f"other test split: {_split(one, shares[0])} against {_split(other, shares[1])}"
    if data.get("train") != others.get("train"):
        return (
            f"other training split: {data.get('train')} {_scored(one)} against "
            f"{others.get('train')}"
        )
    settings, other_settings = settings_of(ours), settings_of(theirs)
    differ = [
        f"{name.partition('.')[2]} {settings.get(name)} against {other_settings.get(name)}"
        for name in dict.fromkeys([*settings, *other_settings])
        if not name.startswith("execution.") and settings.get(name) != other_settings.get(name)
    ]
    return f"other settings: {', '.join(differ)}" if differ else ""


def _data(data: dict[str, Any]) -> str:
    return f"{data['name']} ({data['fingerprint'][:12]})"


def _split(record: Record, share: float) -> str:
    if share:
        return f"{share:.0%} of the training {_scored(record)}"
    return f"{record.config['data'].get('test')} test {_scored(record)}"


def _scored(record: Record) -> str:
    return record.metric_descriptions[0].scored if record.metric_descriptions else "examples"
