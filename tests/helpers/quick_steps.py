"""What is called in place of ``zoo.execution.cost_steps``: turns of one step."""

from zoo.execution import cost_steps
from zoo.execution.cost_steps import block, memory, prepare

__all__ = ["block", "memory", "prepare"]
cost_steps.TURN_SECONDS = dict.fromkeys(cost_steps.TURN_SECONDS, 0.0)
