"""Whether a comparison lets a change pass: what ``zoo compare --fail-on`` exits by."""

from __future__ import annotations

from zoo.report.compare.compare_runs import MODELS_DIFFER, Comparison

# Which verdicts shut a gate.
SHUT = {
    "worse": ("worse", "mixed"),
    "change": ("worse", "mixed", "better", MODELS_DIFFER),
}


def shut(comparison: Comparison, fail_on: str) -> str:
    """Why a gate is shut, in a few words; empty where it is open.

    ``worse``: a row is worse or mixed, or ran before and is skipped now; a row that was not asked
    for this time is none the worse, for who checks a part of a grid leaves out the rest.
    ``change``: anything that is another. Both where nothing could be compared.
    """
    verdicts = [row.verdict for row in comparison.rows]
    if set(verdicts) <= {"not comparable"}:
        return "nothing could be compared"
    said = [f"{v}: {verdicts.count(v)}" for v in SHUT[fail_on] if v in verdicts]
    if fail_on == "worse":
        sides = {"skipped now": [name for name, why in comparison.gone.items() if why]}
    else:
        sides = {"added": list(comparison.added), "gone": list(comparison.gone)}
    return ", ".join([*said, *(f"{s}: {len(names)}" for s, names in sides.items() if names)])
