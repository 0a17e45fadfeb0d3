"""What may be registered, and what becomes of it."""

from typing import Any

import pytest
from refused import refusal

from zoo.registry import Owner, Register, Registry

GOOD: dict[str, Any] = {
    "kind": "attention",
    "name": "mine",
    "factory": "nowhere.at_all:Mine",
    "summary": "mine",
}


def part(**keywords: Any) -> dict[str, Any]:
    """A factory that returns its arguments."""
    return keywords


def add(register: Register, **changes: Any) -> None:
    arguments = GOOD | changes
    positional = [arguments.pop(name) for name in ("kind", "name", "factory")]
    register(*positional, **arguments)


def register_with(**changes: Any) -> Register:
    register = Register(Owner("elsewhere", "1.0"))
    add(register, **changes)
    return register


@pytest.mark.parametrize(
    ("name", "factory"), [("m", dict), ("a1_b.c-2", "a_package.module:Outer.Inner"), ("2d", part)]
)
def test_a_valid_component_is_registered_with_all_its_fields(name, factory):
    parameters = {"size": 3}
    (component,) = register_with(
        name=name,
        factory=factory,
        summary=" my\n own ",
        source="a  paper",
        capabilities=["padding", "exact"],
        parameters=parameters,
    ).components
    assert (component.kind, component.name, component.factory) == ("attention", name, factory)
    assert (component.summary, component.source) == ("my own", "a paper")
    assert component.capabilities == {"padding", "exact"}
    assert str(component.owner) == "elsewhere 1.0"
    assert component.can("padding", "exact")
    assert not component.can("padding", "causal")
    parameters["size"] = 4  # not its own
    assert dict(component.parameters) == {"size": 3}


ILLEGAL_NAMES = ("", "Mine", "my own", "my(own)", "my:own", "-mine", "my--own", "mine\n", "größe")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "atention"}, "no kind 'atention'; did you mean 'attention'"),
        *(({"name": name}, "illegal attention name") for name in ILLEGAL_NAMES),
        ({"capabilities": ["paddding"]}, "unknown capability 'paddding'; did you mean 'padding'"),
        ({"capabilities": ["gated"]}, "unknown capability 'gated'"),
        ({"capabilities": "exact"}, r"write capabilities \('exact',\), with a comma"),
        ({"name": "all"}, "attention 'all': the name means every attention"),
        ({"factory": 7}, "factory of attention 'mine' must be callable or 'package.module:name'"),
        (
            {"kind": "baseline", "capabilities": ["texts"], "parameters": {"whole": True}},
            "'mine' has a parameter 'whole', which the zoo gives it",
        ),
    ],
    ids=repr,
)
def test_an_illegal_registration_is_refused_and_leaves_nothing(changes, message):
    register = Register(Owner("elsewhere", "1.0"))
    with pytest.raises(ValueError, match=message):
        add(register, **changes)
    assert register.components == []


def test_a_name_registered_twice_by_one_owner_is_refused():
    register = register_with()
    with pytest.raises(ValueError, match="attention 'mine' is registered twice"):
        add(register)
    add(register, kind="pe")
    assert [c.kind for c in register.components] == ["attention", "pe"]


@pytest.mark.parametrize(
    ("factory", "reason"),
    [
        ("nowhere.at_all:Mine", "cannot be loaded from 'nowhere.at_all:Mine': ModuleNotFoundError"),
        ("zoo.registry:Mine", "cannot be loaded from 'zoo.registry:Mine': AttributeError"),
    ],
)
def test_a_lazy_factory_is_imported_when_built_and_its_owner_named_if_that_fails(factory, reason):
    registry = Registry()
    registry.admit(register_with(factory=factory))
    message = refusal(registry.choose("attention", "mine").build)
    assert message.startswith("attention 'mine' of elsewhere 1.0")
    assert reason in message


def test_a_lazy_factory_is_called_with_the_contracts_arguments_and_the_given_ones():
    registry = Registry()
    registry.admit(register_with(factory="builtins:dict", parameters={"size": 3}))
    built = registry.choose("attention", "mine(size=4)").build([("dim", 8)], heads=2)
    assert built == {"dim": 8, "heads": 2, "size": 4}
