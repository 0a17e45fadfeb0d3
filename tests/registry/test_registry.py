"""How ``name(param=value)`` becomes a choice, who owns a name, and what may be registered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zoo.errors import ZooError
from zoo.registry import BUILT_IN, CAPABILITIES, KINDS, Owner, Register, Registry
from zoo.registry.catalog import split_list

settings.register_profile("repeatable", derandomize=True, database=None, deadline=None)
settings.load_profile("repeatable")

DEFAULTS: dict[str, Any] = {
    "count": 1,
    "rate": 0.5,
    "mode": "fast",
    "flag": False,
    "sizes": [1],
    "extra": None,
}


def part(**keywords: Any) -> dict[str, Any]:
    """A factory that returns its arguments."""
    return keywords


def registry_of(*owned: tuple[str, str]) -> Registry:
    """A registry of ffns, given as (distribution, name), each with the parameters above."""
    registry = Registry()
    for distribution, name in owned:
        register = Register(Owner(distribution, "1.0"))
        register("ffn", name, part, summary="a part", parameters=DEFAULTS)
        registry.admit(register)
    return registry


ONE = registry_of(("elsewhere", "part"), ("elsewhere", "other"))


def refusal(action: Callable[[], Any]) -> str:
    """The one line with which the action is refused."""
    with pytest.raises(ZooError) as caught:
        action()
    message = str(caught.value)
    assert "\n" not in message
    return message


# Reading name(param=value)

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=5,
)
VALUES = {
    "count": st.integers(),
    "rate": st.floats(allow_nan=False, allow_infinity=False),
    "mode": st.text(),
    "flag": st.booleans(),
    "sizes": st.lists(plain, max_size=3),
    "extra": plain,
}
some_values = st.fixed_dictionaries({}, optional=VALUES)


@given(some_values, st.randoms(use_true_random=False))
def test_parsing_a_choices_text_gives_the_same_choice(values: dict[str, Any], random: Any) -> None:
    pairs = [f"{name}={value!r}" for name, value in values.items()]
    random.shuffle(pairs)
    choice = ONE.choose("ffn", f"part({', '.join(pairs)})")
    assert repr(dict(choice.given)) == repr({k: values[k] for k in DEFAULTS if k in values})
    again = ONE.choose("ffn", str(choice))
    assert str(again) == str(choice)
    assert repr(again.build()) == repr(choice.build())
    assert again.build() == values


@given(st.lists(some_values, min_size=1, max_size=3))
def test_a_list_of_choices_is_parsed_item_by_item(several: list[dict[str, Any]]) -> None:
    texts = [
        f"part({', '.join(f'{name}={value!r}' for name, value in values.items())})"
        for values in several
    ]
    assert split_list(" , ".join(texts)) == texts
    expected = dict.fromkeys(str(ONE.choose("ffn", text)) for text in texts)
    assert [str(choice) for choice in ONE.choices("ffn", ",".join(texts))] == list(expected)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("a,b", ["a", "b"]),
        (" a , b ", ["a", "b"]),
        ("a(x=1,y=2),b", ["a(x=1,y=2)", "b"]),
        ("a(x=[1,(2,3)],y={'k': 4,'l': 5}),b", ["a(x=[1,(2,3)],y={'k': 4,'l': 5})", "b"]),
        ("a(x=','),b(x=\"),\")", ["a(x=',')", 'b(x="),")']),
        ("a", ["a"]),
        ("", []),
        (" , ,", []),
    ],
)
def test_lists_are_split_at_commas_outside_brackets_and_quotes(
    text: str, pieces: list[str]
) -> None:
    assert split_list(text) == pieces


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("part,,other", "between two commas"),
        ("part, ,other,", "between two commas"),
        ("part,other,", "after the last comma"),
        (",part", "before the first comma"),
        ("part(sizes=[1,2]),,part(mode=',,')", "between two commas"),
    ],
)
def test_an_empty_item_in_a_list_is_refused(text: str, where: str) -> None:
    assert refusal(lambda: ONE.choices("ffn", text)) == f"--ffn '{text}': an empty name {where}"


def test_commas_within_a_value_are_no_empty_items() -> None:
    (choice,) = ONE.choices("ffn", "part(mode=',,')")
    assert choice.build() == {"mode": ",,"}


@pytest.mark.parametrize(
    ("text", "built"),
    [
        ("part", {}),
        ("part()", {}),
        (" part ( count = 2 ) ", {"count": 2}),
        ("part(2)", {"count": 2}),
        ("part(2, 0.25)", {"count": 2, "rate": 0.25}),
        ("part(2, mode='slow')", {"count": 2, "mode": "slow"}),
        ("part(count=-3)", {"count": -3}),
        ("part(extra=[1, {'a': (2, None)}])", {"extra": [1, {"a": (2, None)}]}),
    ],
)
def test_parameters_are_given_by_name_or_in_declared_order(
    text: str, built: dict[str, Any]
) -> None:
    assert ONE.choose("ffn", text).build() == built


def test_a_choices_text_has_its_parameters_in_declared_order() -> None:
    assert str(ONE.choose("ffn", "part(flag=True, count=2)")) == "part(count=2, flag=True)"
    assert str(ONE.choose("ffn", "part()")) == "part"


def test_a_whole_number_may_stand_for_a_float_and_becomes_one() -> None:
    rate = ONE.choose("ffn", "part(rate=3)").build()["rate"]
    assert type(rate) is float
    assert rate == 3.0


@pytest.mark.parametrize(
    "payload",
    [
        "__import__('pathlib').Path('PROOF').touch()",
        "open('PROOF', 'w')",
        "[open('PROOF', 'w') for _ in (1,)]",
        "(lambda: open('PROOF', 'w'))()",
        "f\"{open('PROOF', 'w')}\"",
        "{**open('PROOF', 'w')}",
        "1 if open('PROOF', 'w') else 2",
        "(x := open('PROOF', 'w'))",
    ],
)
@pytest.mark.parametrize(
    "form", ["part(extra={})", "part({})", "part(*{})", "part(**{})", "part({})()", "part(){}"]
)
def test_nothing_in_a_name_is_executed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, payload: str, form: str
) -> None:
    monkeypatch.chdir(tmp_path)
    refusal(lambda: ONE.choose("ffn", form.replace("{}", payload)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text",
    [
        "part(count=1",
        "part(count=)",
        "part(count=1))",
        "part(count=1, 2)",
        "part(count=1).real",
        "part(count=1)(rate=2)",
        "part(count=1); part",
        "part(count=1) + 2",
        "part(count 1)",
        "part(\0)",
        "part(extra=" + "9" * 5000 + ")",
    ],
)
def test_text_that_cannot_be_parsed_is_refused_with_the_right_form(text: str) -> None:
    message = refusal(lambda: ONE.choose("ffn", text))
    assert message.startswith("cannot read ffn 'part(")
    assert message.endswith("write it as name(param=value)")


def test_text_needs_no_quotes_where_it_is_one_word() -> None:
    plain, quoted = (ONE.choose("ffn", f"part(mode={text})") for text in ("slow", "'slow'"))
    assert plain == quoted
    assert plain.given == {"mode": "slow"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("part(count=2.0)", "'count' must be of type int (default 1), not 2.0"),
        ("part(count=True)", "'count' must be of type int (default 1), not True"),
        ("part(count='2')", "'count' must be of type int (default 1), not '2'"),
        ("part(count=None)", "'count' must be of type int (default 1), not None"),
        ("part(rate='high')", "'rate' must be of type float (default 0.5), not 'high'"),
        ("part(rate=True)", "'rate' must be of type float (default 0.5), not True"),
        ("part(mode=3)", "'mode' must be of type str (default 'fast'), not 3"),
        ("part(flag=1)", "'flag' must be of type bool (default False), not 1"),
        ("part(sizes=(1, 2))", "'sizes' must be of type list (default [1]), not (1, 2)"),
        ("part('slow')", "'count' must be of type int (default 1), not 'slow'"),
        ("part(mode=a-b)", "'mode' must be a plain value such as 'fast' in quotes, not a - b"),
        ("part(count=one)", "'count' must be a plain value such as 1, not one"),
        ("part(count=1+1)", "'count' must be a plain value such as 1, not 1 + 1"),
    ],
)
def test_a_value_of_a_wrong_type_is_refused_with_the_right_one(text: str, message: str) -> None:
    assert refusal(lambda: ONE.choose("ffn", text)) == f"ffn 'part': {message}"


@pytest.mark.parametrize("text", ["part(count=1, count=2)", "part(1, count=2)"])
def test_a_parameter_given_twice_is_refused(text: str) -> None:
    assert refusal(lambda: ONE.choose("ffn", text)) == "ffn 'part' is given 'count' twice"


def test_too_many_parameters_are_refused() -> None:
    message = refusal(lambda: ONE.choose("ffn", "part(1, 2, 3, 4, 5, 6, 7)"))
    assert message == "ffn 'part' takes 6 parameters, not 7"


def test_an_unknown_parameter_gets_the_nearest_and_the_whole_list() -> None:
    assert refusal(lambda: ONE.choose("ffn", "part(cuont=2)")) == (
        "ffn 'part' has no parameter 'cuont'; did you mean 'count'? "
        "There is: count, rate, mode, flag, sizes, extra"
    )


def test_an_unknown_parameter_of_a_component_without_any(registry: Registry) -> None:
    message = refusal(lambda: registry.choose("ffn", "relu(slope=2)"))
    assert message == "ffn 'relu' has no parameter 'slope'. There is: none"


HOSTILE = [
    pytest.param("part(extra={[1]})", id="a set of lists"),
    pytest.param("part(extra={[1]: 2})", id="a list as a key"),
    pytest.param("part(rate=1" + "0" * 400 + ")", id="a number no float can hold"),
    pytest.param("part(extra=" + "-" * 5000 + "1)", id="a tower of signs"),
    pytest.param("part(rate=1e999)", id="infinity, whose repr cannot be read back"),
]


@pytest.mark.parametrize("text", HOSTILE)
def test_odd_values_are_refused_in_one_line(text: str) -> None:
    assert refusal(lambda: ONE.choose("ffn", text))


def test_escaped_quotes_do_not_end_a_string_in_a_list() -> None:
    text = str(ONE.choose("ffn", "part(mode='it\\'s \"x\", y')"))
    assert split_list(f"{text},other") == [text, "other"]


# Names, lists and owners


def test_an_unknown_name_gets_the_nearest_and_the_whole_list(registry: Registry) -> None:
    assert refusal(lambda: registry.choose("pe", "roep")) == (
        "no pe 'roep'; did you mean 'rope'? There is: none, sin, learned, rope, alibi. Others come "
        "from plug-ins: plugins/README.md in the repository has those of this project, and "
        "'zoo plugins' prints those installed"
    )
    assert refusal(lambda: registry.choose("pe", "zzzzzz(base=1.0)")).startswith(
        "no pe 'zzzzzz'. There is: none, sin, learned, rope, alibi. Others come from plug-ins"
    )


def test_an_unknown_kind_gets_the_nearest_and_the_whole_list(registry: Registry) -> None:
    expected = f"no kind 'atention'; did you mean 'attention'? There is: {', '.join(KINDS)}"
    assert refusal(lambda: registry.choose("atention", "naive")) == expected
    assert refusal(lambda: registry.components("atention")) == expected


@pytest.mark.parametrize("kind", ["attention", "pe", "norm", "ffn", "block", "pool"])
def test_all_is_every_component_of_the_kind(registry: Registry, kind: str) -> None:
    choices = registry.choices(kind, " all ")
    # One that is built around another one cannot stand alone.
    alone = [c for c in registry.components(kind) if c.wraps is None]
    assert [str(choice) for choice in choices] == [registry.label(c) for c in alone]
    assert [choice.component for choice in choices] == alone
    assert len(choices) >= 2


def test_every_part_of_the_tutorials_is_built_in(registry: Registry) -> None:
    expected = {
        "attention": "single naive split packed fused torch",
        "pe": "none sin learned rope alibi",
        "norm": "layer layer-plain layer-std rms none",
        "ffn": "relu gelu gelu-tanh swiglu none",
        "block": "pre post res-post bare",
        "pool": "cls mean",
    }
    for kind, names in expected.items():
        assert set(names.split()) <= set(registry.labels(kind))


@pytest.mark.parametrize("text", ["", "   ", ",", " , ,"])
def test_an_empty_list_is_refused_with_what_there_is(text: str) -> None:
    assert refusal(lambda: ONE.choices("ffn", text)) == "--ffn is empty. There is: part, other"


def test_a_choice_asked_for_twice_is_taken_once_and_order_is_kept() -> None:
    choices = ONE.choices("ffn", "part(count=2),other,part( 2 ),part,other")
    assert [str(choice) for choice in choices] == ["part(count=2)", "other", "part"]


def test_one_bad_name_in_a_list_is_refused() -> None:
    assert "no ffn 'ohter'; did you mean 'other'?" in refusal(
        lambda: ONE.choices("ffn", "part,ohter")
    )


def test_a_name_of_two_owners_is_ambiguous_and_each_can_be_named_in_full() -> None:
    for order in (("red", "blue"), ("blue", "red")):
        registry = registry_of(*((owner, "part") for owner in order))
        message = refusal(lambda registry=registry: registry.choose("ffn", "part(count=2)"))
        assert message.startswith("ffn 'part' is ambiguous; say which: ")
        assert set(message.partition("which: ")[2].split(", ")) == {"red:part", "blue:part"}
        assert set(registry.labels("ffn")) == {"red:part", "blue:part"}
        for owner in order:
            choice = registry.choose("ffn", f"{owner}:part(count=2)")
            assert choice.component.owner.distribution == owner
            assert str(choice) == f"{owner}:part(count=2)"
            assert choice.build() == {"count": 2}
        assert len(registry.choices("ffn", "all")) == 2


def test_a_built_in_keeps_its_bare_name_whoever_else_uses_it_and_whenever() -> None:
    for order in ((BUILT_IN, "red"), ("red", BUILT_IN)):
        registry = registry_of(*((owner, "part") for owner in order))
        assert registry.get("ffn", "part").owner.distribution == BUILT_IN
        assert registry.get("ffn", "red:part").owner.distribution == "red"
        assert registry.get("ffn", f"{BUILT_IN}:part").owner.distribution == BUILT_IN
        assert set(registry.labels("ffn")) == {"part", "red:part"}
        assert str(registry.choose("ffn", f"{BUILT_IN}:part(2)")) == "part(count=2)"


def test_a_name_of_one_owner_is_bare_and_may_be_named_in_full() -> None:
    choice = ONE.choose("ffn", "elsewhere:part")
    assert str(choice) == "part"
    assert choice.component.full_name == "elsewhere:part"
    assert "no ffn 'nobody:part'" in refusal(lambda: ONE.get("ffn", "nobody:part"))


def test_one_name_in_two_kinds_is_two_components(registry: Registry) -> None:
    assert registry.get("norm", "none").kind == "norm"
    assert registry.get("pe", "none").kind == "pe"


# What may be registered

GOOD: dict[str, Any] = {
    "kind": "attention",
    "name": "mine",
    "factory": "nowhere.at_all:Mine",
    "summary": "mine",
}


def register_with(**changes: Any) -> Register:
    register = Register(Owner("elsewhere", "1.0"))
    arguments = GOOD | changes
    register(arguments.pop("kind"), arguments.pop("name"), arguments.pop("factory"), **arguments)
    return register


@pytest.mark.parametrize(
    "factory",
    [part, dict, "module:Class", "a_package.module:Outer.Inner"],
    ids=["function", "class", "lazy", "lazy and nested"],
)
@pytest.mark.parametrize("name", ["mine", "m", "gelu-tanh", "a1_b.c-2", "2d"])
def test_a_valid_component_is_registered_with_all_its_fields(name: str, factory: Any) -> None:
    register = register_with(
        name=name,
        factory=factory,
        summary=" my\n own ",
        source="a  paper",
        capabilities=["padding", "exact"],
        parameters={"size": 3},
    )
    (component,) = register.components
    assert (component.kind, component.name, component.factory) == ("attention", name, factory)
    assert (component.summary, component.source) == ("my own", "a paper")
    assert component.capabilities == {"padding", "exact"}
    assert dict(component.parameters) == {"size": 3}
    assert str(component.owner) == "elsewhere 1.0"
    assert component.can("padding", "exact")
    assert not component.can("padding", "causal")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "atention"}, "no kind 'atention'; did you mean 'attention'"),
        ({"kind": ""}, "no kind ''"),
        *(
            ({"name": name}, "illegal attention name")
            for name in (
                "",
                "Mine",
                "my own",
                "my(own)",
                "my:own",
                "my,own",
                "-mine",
                "mine-",
                "my--own",
                "mine\n",
                "größe",
                3,
                None,
            )
        ),
        *(
            ({"factory": factory}, "the factory of attention 'mine' must be callable or")
            for factory in (None, 3, "", "module", ":Class", "module:", "a-b:C", "a:b:c", "a.:C")
        ),
        ({"capabilities": ["flies"]}, "'mine' declares an unknown capability 'flies'"),
        ({"capabilities": ["paddding"]}, "did you mean 'padding'"),
        ({"capabilities": ["gated"]}, "unknown capability 'gated'"),
        ({"capabilities": "exact"}, "must be a list of them, not 'exact'"),
        ({"capabilities": None}, "must be a list of them, not None"),
        ({"capabilities": [["exact"]]}, "unknown capability"),
        ({"kind": None}, "no kind None"),
        ({"summary": None}, "summary and source of attention 'mine' must be text"),
        ({"source": 3}, "summary and source of attention 'mine' must be text"),
        ({"parameters": ["size"]}, "must map names to defaults"),
        ({"parameters": {1: 2}}, "a parameter that is no Python name: 1"),
        ({"parameters": {"my size": 2}}, "a parameter that is no Python name: 'my size'"),
        ({"parameters": {"lambda": 2}}, "a parameter that is no Python name: 'lambda'"),
    ],
    ids=repr,
)
def test_an_illegal_registration_is_refused_and_leaves_nothing(
    changes: dict[str, Any], message: str
) -> None:
    register = Register(Owner("elsewhere", "1.0"))
    arguments = GOOD | changes
    with pytest.raises(ValueError, match=message):
        register(
            arguments.pop("kind"), arguments.pop("name"), arguments.pop("factory"), **arguments
        )
    assert register.components == []


def test_what_reads_texts_can_be_told_to_read_whole_ones_and_never_sees_it() -> None:
    """The harness carries it out: the factory is given its own parameters alone."""
    register = Register(Owner("elsewhere", "1.0"))
    register(
        "baseline", "words", dict, summary="words", capabilities=["texts"], parameters={"c": 1.0}
    )
    register("baseline", "counts", dict, summary="counts", capabilities=["stream"])
    registry = Registry()
    registry.admit(register)
    names = {
        "words": "elsewhere:words",
        "words(whole=False)": "elsewhere:words",
        "words(whole=True)": "elsewhere:words(whole=True)",
        "words(2.0, whole=True)": "elsewhere:words(c=2.0, whole=True)",
    }
    for text, name in names.items():
        choice = registry.choose("baseline", text)
        assert str(choice).endswith(name.partition(":")[2])
        assert str(registry.choose("baseline", str(choice))) == str(choice)
        assert "whole" not in choice.build()
    assert registry.choose("baseline", "words(2.0, whole=True)").build() == {"c": 2.0}
    with pytest.raises(ZooError, match="'whole' must be of type bool"):
        registry.choose("baseline", "words(whole=1)")
    with pytest.raises(ZooError, match="'counts' has no parameter 'whole'"):
        registry.choose("baseline", "counts(whole=True)")
    with pytest.raises(ValueError, match="'mine' has a parameter 'whole', which the zoo gives it"):
        register(
            "baseline",
            "mine",
            dict,
            summary="mine",
            capabilities=["texts"],
            parameters={"whole": True},
        )


def test_a_name_registered_twice_by_one_owner_is_refused() -> None:
    register = register_with()
    with pytest.raises(ValueError, match="attention 'mine' is registered twice"):
        register("attention", "mine", part, summary="again")
    register("pe", "mine", part, summary="another kind")
    assert [c.kind for c in register.components] == ["attention", "pe"]


def test_every_capability_has_a_description() -> None:
    assert set(CAPABILITIES) == set(KINDS)
    for meanings in CAPABILITIES.values():
        assert all(meaning.strip() for meaning in meanings.values())


def test_registered_parameters_cannot_be_changed_afterwards() -> None:
    parameters = {"size": 3}
    (component,) = register_with(parameters=parameters).components
    parameters["size"] = 4
    assert component.parameters["size"] == 3
    with pytest.raises(TypeError):
        component.parameters["size"] = 5


@pytest.mark.parametrize(
    ("factory", "reason"),
    [
        ("nowhere.at_all:Mine", "cannot be loaded from 'nowhere.at_all:Mine': ModuleNotFoundError"),
        ("zoo.registry:Mine", "cannot be loaded from 'zoo.registry:Mine': AttributeError"),
        ("zoo.registry:KINDS", "'zoo.registry:KINDS' is no factory but a tuple"),
    ],
)
def test_a_lazy_factory_is_imported_when_built_and_its_owner_named_if_that_fails(
    factory: str, reason: str
) -> None:
    registry = Registry()
    registry.admit(register_with(factory=factory))
    choice = registry.choose("attention", "mine")
    message = refusal(choice.build)
    assert message.startswith("attention 'mine' of elsewhere 1.0")
    assert reason in message


def test_a_lazy_factory_is_called_with_the_contracts_arguments_and_the_given_ones() -> None:
    registry = Registry()
    registry.admit(register_with(factory="builtins:dict", parameters={"size": 3}))
    assert registry.choose("attention", "mine(size=4)").build([("dim", 8)], heads=2) == {
        "dim": 8,
        "heads": 2,
        "size": 4,
    }
    assert registry.choose("attention", "mine").build(heads=2) == {"heads": 2}


def test_the_source_file_is_known_without_importing_it(registry: Registry) -> None:
    file = registry.get("pe", "rope").file()
    assert file is not None
    assert file.endswith("zoo/components/pe/rope.py")
    assert ONE.get("ffn", "part").file() == __file__
    (missing,) = register_with().components
    assert missing.file() is None
