"""Components of the literature in a registry."""

from paper_attention import register_attentions
from paper_parts import register_parts

from zoo.registry import Owner, Register, Registry


def with_papers(registry: Registry) -> Registry:
    """The registry, with the components of the literature."""
    register = Register(Owner("papers", "1"))
    register_attentions(register)
    register_parts(register)
    registry.admit(register)
    return registry
