"""Set-ups: how the checks build a component of each kind, and what they feed it."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from zoo.conformance.check import CheckSettings
from zoo.conformance.setups.setup import Setup
from zoo.registry import Choice

# Kind to module and class; imported when a component of that kind is checked.
_SETUPS = {
    "attention": "attention_setup:AttentionSetup",
    "pe": "encoding_setup:EncodingSetup",
    "norm": "position_wise_setup:NormSetup",
    "ffn": "position_wise_setup:FFNSetup",
    "block": "block_setup:BlockSetup",
    "pool": "pool_setup:PoolSetup",
    "data": "data_setup:DataSetup",
    "baseline": "baseline_setup:BaselineSetup",
    "task": "setup:Setup",
    "metric": "setup:Setup",
    "executor": "setup:Setup",
}


def setup_for(choice: Choice, settings: CheckSettings, files: Sequence[str] = ()) -> Setup:
    """The set-up of the choice's kind. files: the single-file plug-ins in use."""
    module, _, name = _SETUPS[choice.component.kind].partition(":")
    found = getattr(importlib.import_module(f"zoo.conformance.setups.{module}"), name)
    setup: Setup = found(choice, settings, files)
    return setup
