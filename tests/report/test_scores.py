"""Tables and effects of tasks whose score is no accuracy, and may be better the lower it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import factory
import pytest
from zoo.report.tables.report_data import make_facts
from zoo.report.tables.sentences import effects_data, effects_text, sentence
from zoo.tasks.score import ACCURACY, BITS_PER_BYTE

from zoo.errors import ZooError
from zoo.report.compare.change import other_settings
from zoo.report.html.run_summary import run_sentence
from zoo.report.stats.effects import make_effects
from zoo.report.stats.paired import Comparisons
from zoo.report.tables.rows import make_rows
from zoo.report.tables.table import as_text, caption, make_table
from zoo.sweep.records import Record

NOISE = (0.001, -0.002, 0.0005, 0.0015, -0.001)


def lm(subject: Mapping[str, str], bits: float, noises: Sequence[float] = NOISE) -> list[Record]:
    config = {**factory.CONFIG, "task": "lm"}
    return [
        factory.record(
            "trial",
            cell=dict(subject),
            seed=seed,
            config=config,
            metrics={"bits_per_byte": bits + noise, "validation_loss": 4.5},
        )
        for seed, noise in enumerate(noises)
    ]


def seq2seq(subject: Mapping[str, str], wrong: int, beam: float) -> list[Record]:
    config = {**factory.CONFIG, "task": "seq2seq"}
    metrics = {
        "exact_match": 1 - wrong / 100,
        "exact_match_beam": beam,
        "token_accuracy": 0.99,
        "documents": 100,
        "errors": [[row] for row in range(wrong)],
    }
    return [
        factory.record("trial", cell=dict(subject), seed=seed, config=config, metrics=metrics)
        for seed in range(3)
    ]


ROPE, SIN, NONE = (factory.cell(pe=pe) for pe in ("rope", "sin", "none"))


def test_fewer_bits_rank_first_and_equal_ones_tie() -> None:
    table = make_table([*lm(NONE, 2.5), *lm(SIN, 2.0), *lm(ROPE, 2.0001, NOISE[::-1])])
    assert list(table["pe"]) == ["sin", "rope", "none"]
    assert list(table["rank"]) == [1, 1, 3]
    assert list(table["tie"]) == [True, True, False]
    assert table["bits_per_byte_mean"][0] == pytest.approx(2.0)
    assert "accuracy_mean" not in table.columns
    # No share: nothing cuts the interval at 1, and no documents have a say.
    assert table["bits_per_byte_low"][0] < 2.0 < table["bits_per_byte_high"][0]
    assert table["bits_per_byte_sampling_error"].isna().all()


def test_the_verdict_of_a_pair_is_for_the_lower_one() -> None:
    compared = Comparisons(make_rows([*lm(NONE, 2.5), *lm(SIN, 2.0)]))
    assert compared.verdict(factory.name(pe="sin"), factory.name(pe="none")) == 1
    assert compared.verdict(factory.name(pe="none"), factory.name(pe="sin")) == -1


def test_the_front_of_bits_and_speed_holds_the_lower_and_the_faster() -> None:
    reference = factory.name(pe="none")
    config = {**factory.CONFIG, "task": "lm"}
    records = [*lm(NONE, 2.5), *lm(SIN, 2.0), *lm(ROPE, 2.2)]
    for subject, speed in ((NONE, 1.0), (SIN, 2.0), (ROPE, 1.0)):
        rounds = [speed * wobble for wobble in (1.0, 1.001, 0.999, 1.002, 0.998)]
        records.append(factory.probe(subject, rounds, reference, config=config))
    table = make_table(records).set_index("pe")
    assert dict(table["pareto_speed"]) == {"sin": "front", "rope": "dominated", "none": "dominated"}


def test_a_table_of_bits_names_them_and_says_which_way_is_up() -> None:
    records = [*lm(NONE, 2.5), *lm(SIN, 2.0)]
    table = make_table(records)
    shown, said = as_text(table), caption(records, table)
    assert "bits/byte" in shown
    assert "nats/token" in shown
    assert "2.000 ± 0.002" in shown
    assert "Fewer bits per byte are better." in said
    assert "McNemar" not in said
    assert "Test set" not in said


def test_what_is_scored_has_the_name_it_has_in_its_task() -> None:
    records = [*seq2seq(NONE, 9, 0.9), *seq2seq(SIN, 2, 0.99)]
    held_out = [
        {**r.config, "training": {**r.config["training"], "validation": 0.1}} for r in records
    ]
    records = [r.model_copy(update={"config": c}) for r, c in zip(records, held_out, strict=True)]
    said = caption(records)
    assert "McNemar's over the pairs on which two disagree" in said
    assert "Test set: 100 pairs;" in said
    assert "scored on 10% of the training pairs" in run_sentence(
        make_facts(records, make_table(records))
    )
    assert "10% of the training pairs against" in other_settings(
        records[0], seq2seq(NONE, 9, 0.9)[0]
    )
    bits = lm(NONE, 2.5)[0]
    fewer = bits.model_copy(
        update={"config": {**bits.config, "data": {**bits.config["data"], "train": 7}}}
    )
    assert other_settings(fewer, bits).startswith("other training split: 7 tokens against")


def test_an_effect_in_bits_is_told_in_bits() -> None:
    effects = make_effects(make_rows([*lm(SIN, 2.0), *lm(NONE, 2.5)]))
    (effect,) = effects.main
    assert sentence(effect) == "`sin` against `none`: -0.500 ± 0.000 bits per byte"
    assert "Fewer bits per byte are better." in effects_text(effects)
    assert effects_data(effects)["effects"][0]["bits_per_byte"]["mean"] == pytest.approx(-0.5)


def test_exact_matches_are_paired_by_document_and_stand_beside_the_beams() -> None:
    records = [*seq2seq(ROPE, 2, 0.99), *seq2seq(SIN, 40, 0.7)]
    rows = make_rows(records)
    assert rows[1].documents == 100
    assert rows[1].wrong[0].sum() == 40
    table = make_table(records)
    assert list(table["pe"]) == ["rope", "sin"]
    assert list(table["rank"]) == [1, 2]
    assert list(table["exact_match_beam_mean"]) == pytest.approx([0.99, 0.7])
    assert "McNemar" in caption(records, table)
    assert "exact, beam" in as_text(table)


def test_records_of_two_tasks_stand_in_no_common_table() -> None:
    with pytest.raises(ZooError, match="records of classify and lm: one table holds one task"):
        make_rows([factory.trial(SIN, 0, 10), *lm(ROPE, 2.0)])


def test_a_record_of_a_task_unknown_here_is_refused() -> None:
    record = factory.record("trial", cell=SIN, seed=0, config={**factory.CONFIG, "task": "lmm"})
    with pytest.raises(ZooError, match="no task 'lmm'; did you mean 'lm'"):
        make_rows([record])


def test_differences_are_told_in_their_own_unit() -> None:
    assert ACCURACY.told(0.004, 0.003) == "+0.4 ± 0.3 points"
    assert ACCURACY.told(-0.0123) == "-1.2 points"
    assert BITS_PER_BYTE.told(-0.0123, 0.002) == "-0.012 ± 0.002 bits per byte"
    assert BITS_PER_BYTE.better(-0.5) > 0 > ACCURACY.better(-0.5)
