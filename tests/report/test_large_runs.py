"""Of hundreds of rows none are ranked, and effects are tested."""

from situations import many_rows


def test_of_very_many_rows_effects_alone_are_tested():
    run = many_rows()
    assert (run.verdicts.limited, run.verdicts.ranks(), run.verdicts.tied()) == (True, {}, [])
    assert run.verdicts.verdict(run.rows[0].name, run.rows[-1].name) is None
    assert run.verdicts.tests == len(run.effects.main) == 33
    assert any(effect.difference.real for effect in run.effects.main)
    assert "Of more than 200 rows none are ranked: effects alone are tested." in run.notes
    assert len(run.table.frame) == 250
