"""How ``name(param=value)`` becomes a choice, and who owns a name."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import refusal, refused

from zoo.registry import KINDS, Owner, Register, Registry
from zoo.registry.catalog import layers_text, split_list, split_outside

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


REGISTER = Register(Owner("elsewhere", "1.0"))
for name in ("part", "other"):
    REGISTER("ffn", name, part, summary="a part", parameters=DEFAULTS)
ONE = Registry()
ONE.admit(REGISTER)

finite = st.floats(allow_nan=False, allow_infinity=False)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | finite | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=5,
)
VALUES = {
    "count": st.integers(),
    "rate": finite,
    "mode": st.text(),
    "flag": st.booleans(),
    "sizes": st.lists(plain, max_size=3),
    "extra": plain,
}
some_values = st.fixed_dictionaries({}, optional=VALUES)


@settings(max_examples=50, deadline=None, derandomize=True, database=None)
@given(st.lists(some_values, min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_choices_are_read_back_as_they_are_written(several, random):
    texts = []
    for values in several:
        pairs = [f"{name}={value!r}" for name, value in values.items()]
        random.shuffle(pairs)
        texts.append(f"part({', '.join(pairs)})")
    choices = [ONE.choose("ffn", text) for text in texts]
    for values, choice in zip(several, choices, strict=True):
        written = {name: values[name] for name in DEFAULTS if name in values}
        assert repr(dict(choice.parameters)) == repr(written)
        again = ONE.choose("ffn", str(choice))
        assert str(again) == str(choice)
        assert repr(again.build()) == repr(choice.build())
        assert again.build() == values
    assert split_list(" , ".join(texts)) == texts
    listed = [str(choice) for choice in ONE.choices("ffn", ",".join(texts))]
    assert listed == list(dict.fromkeys(map(str, choices)))


@pytest.mark.parametrize(
    ("text", "name", "built"),
    [
        ("part()", "part", {}),
        (" part ( count = 2 ) ", "part(count=2)", {"count": 2}),
        ("part(mode=slow)", "part(mode='slow')", {"mode": "slow"}),
        ("part(flag=True, count=2)", "part(count=2, flag=True)", {"count": 2, "flag": True}),
        ("part(rate=3)", "part(rate=3.0)", {"rate": 3.0}),
        ("part(mode=',,')", "part(mode=',,')", {"mode": ",,"}),
        ("elsewhere:part(count=2)", "part(count=2)", {"count": 2}),
    ],
)
def test_parameters_are_given_by_name_in_any_order(text, name, built):
    (choice,) = ONE.choices("ffn", text)
    assert str(choice) == name
    assert repr(choice.build()) == repr(built)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("part,,other", "--ffn 'part,,other': an empty name beside a comma"),
        ("part(sizes=[1,2]),part(mode=',,'),", "an empty name beside a comma"),
        (" , ,", "--ffn is empty. There is: part, other"),
        ("part,ohter", "no ffn 'ohter'; did you mean 'other'?"),
    ],
)
def test_a_bad_list_is_refused_in_one_line(text, message):
    assert message in refusal(lambda: ONE.choices("ffn", text))


def test_a_choice_asked_for_twice_is_taken_once_and_order_is_kept():
    choices = ONE.choices("ffn", "part(count=2),other,part( count=2 ),part,other")
    assert [str(choice) for choice in choices] == ["part(count=2)", "other", "part"]


@pytest.mark.parametrize(
    "payload",
    [
        "__import__('pathlib').Path('PROOF').touch()",
        "(lambda: open('PROOF', 'w'))()",
        "f\"{open('PROOF', 'w')}\"",
        "1 if open('PROOF', 'w') else 2",
    ],
)
def test_nothing_in_a_name_is_executed(tmp_path, monkeypatch, payload):
    monkeypatch.chdir(tmp_path)
    for form in ("(extra={})", "({})", "(*{})", "(**{})", "({})()", "(){}"):
        refusal(lambda form=form: ONE.choose("ffn", "part" + form.replace("{}", payload)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text",
    [
        "part(count=1",
        "part(count=1)(rate=2)",
        "part(2)",
        "part(\0)",
        "part(extra=" + "9" * 5000 + ")",
    ],
)
def test_text_that_cannot_be_parsed_is_refused_with_the_right_form(text):
    message = refusal(lambda: ONE.choose("ffn", text))
    assert message.startswith("cannot read ffn 'part(")
    assert message.endswith("write it as name(param=value)")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("count=2.0", "'count' must be of type int, such as 1, not 2.0"),
        ("count=True", "'count' must be of type int, such as 1, not True"),
        ("rate='high'", "'rate' must be of type float, such as 0.5, not 'high'"),
        ("flag=1", "'flag' must be of type bool, such as False, not 1"),
        ("sizes=(1, 2)", "'sizes' must be of type list, such as [1], not (1, 2)"),
        ("mode=a-b", "'mode' must be of type str, such as 'fast', not a - b"),
        ("count=one", "'count' must be of type int, such as 1, not one"),
        ("count=1, count=2", "is given 'count' twice"),
        (
            "cuont=2",
            "has no parameter 'cuont'; did you mean 'count'? "
            "There is: count, rate, mode, flag, sizes, extra",
        ),
        ("extra={[1]}", "extra"),
        ("rate=1" + "0" * 400, "rate"),  # no float can hold it
        ("rate=1e999", "rate"),  # infinity, whose repr cannot be read back
        ("extra=" + "-" * 5000 + "1", ""),
    ],
    ids=lambda text: text[:40],
)
def test_bad_parameters_are_refused_in_one_line(arguments, message):
    line = refusal(lambda: ONE.choose("ffn", f"part({arguments})"))
    assert line.endswith(message) or (len(message) < 6 and message in line)


def test_an_unknown_name_gets_the_nearest_and_the_whole_list(registry):
    assert refusal(lambda: registry.choose("pe", "roep")) == (
        "no pe 'roep'; did you mean 'rope'? There is: alibi, none, learned, rope, sin. Others come "
        "from plug-ins: plugins/README.md in the repository has those of this project, and "
        "'zoo plugins' prints those installed"
    )
    expected = f"no kind 'atention'; did you mean 'attention'? There is: {', '.join(KINDS)}"
    assert refusal(lambda: registry.components("atention")) == expected
    message = refusal(lambda: registry.choose("ffn", "relu(slope=2)"))
    assert message == "ffn 'relu' has no parameter 'slope'. There is: none"


def test_all_is_every_component_of_the_kind(registry):
    names = [str(choice) for choice in registry.choices("norm", " all ")]
    assert names == [component.name for component in registry.components("norm")]
    assert {"layer", "layer-plain", "layer-std", "rms", "none"} <= set(names)  # of the tutorials


def test_what_reads_texts_can_be_told_to_read_whole_ones_and_never_sees_it():
    """The harness carries it out: the factory is given its own parameters alone."""
    register = Register(Owner("elsewhere", "1.0"))
    texts = {"summary": "of texts", "capabilities": ["texts"]}
    register("baseline", "words", dict, parameters={"c": 1.0}, **texts)
    register("baseline", "counts", dict, summary="counts", capabilities=["stream"])
    registry = Registry()
    registry.admit(register)
    for text, name, built in (
        ("words", "words", {}),
        ("words(whole=False)", "words", {}),
        ("words(whole=True)", "words(whole=True)", {}),
        ("words(c=2.0, whole=True)", "words(c=2.0, whole=True)", {"c": 2.0}),
    ):
        choice = registry.choose("baseline", text)
        assert str(choice) == str(registry.choose("baseline", str(choice))) == name
        assert choice.build() == built
    refused("'whole' must be of type bool", registry.choose, "baseline", "words(whole=1)")
    refused("'counts' has no parameter 'whole'", registry.choose, "baseline", "counts(whole=True)")


def test_patterns_stand_in_comma_lists_and_are_read_back_as_they_are_written(registry):
    text = "rope,sin(base=5.0)/none,rope/none"
    patterns = registry.patterns("pe", text)
    assert ",".join(map(layers_text, patterns)) == text
    assert [registry.layers("pe", layers_text(pattern)) for pattern in patterns] == patterns


def test_a_slash_within_brackets_or_quotes_divides_nothing():
    pieces = split_outside("a(x='b/c')/d(y=[1, '/'])/e", "/")
    assert pieces == ["a(x='b/c')", "d(y=[1, '/'])", "e"]


@pytest.mark.parametrize(
    ("axis", "text", "line"),
    [
        ("attention", "fused/", "attention 'fused/': a pattern has a name on both sides of a '/'"),
        ("pe", "rope//none", "pe 'rope//none': a pattern has a name on both sides of a '/'"),
        ("pe", "rope/roep", "no pe 'roep'; did you mean 'rope'?"),
        ("pe", "rope(bas=3)/none", "pe 'rope' has no parameter 'bas'; did you mean 'base'?"),
        ("pool", "mean/cls", "pool 'mean/cls': a model has one pool, which takes no pattern"),
    ],
)
def test_a_bad_pattern_is_one_line(registry, axis, text, line):
    assert refusal(lambda: registry.layers(axis, text)).startswith(line)


def test_a_pattern_is_refused_where_one_component_is_expected(registry):
    refused("no attention 'fused/naive'", registry.choose, "attention", "fused/naive")
