"""Tables of records, checked by hand."""

import random
from statistics import fmean

import pytest

from calipers.bench.answer import Record
from calipers.bench.report import by_task, common, compare, difference, estimate, mean, report, share
from calipers.bench.statistics import interval, paired, pass_at_k
from calipers.errors import ArgumentError


def record(name, passed, sample=0, **more):
    values = {"length": 5, "final_length": 5, "oracle_length": 5, "probes": 9, "forwards": 7, "cropped": 0} | more
    return Record(
        id=name,
        task=values.pop("task", f"digest of {name}"),
        sample=sample,
        text="x",
        stop="fixed",
        scores=values.pop("scores", {"pass": float(passed), "exact": 0.0}),
        **values,
    )


CAL = [
    record("t/1", 1, probes=9, forwards=6),
    record("t/2", 0, probes=11, forwards=8, final_length=8),
    record("t/3", 1, probes=10, forwards=7, final_length=4),
    record("t/4", 1, probes=10, forwards=7),
]
FIXED = [record("t/1", 0, probes=0), record("t/2", 0, probes=0), record("t/3", 1, probes=0), record("t/5", 1, probes=0)]


def cells(table):
    """Every row's plain values by column."""
    plain = [[getattr(cell, "value", cell) for cell in row] for row in table.rows]
    return [dict(zip(table.columns, row, strict=True)) for row in plain]


def test_a_row_says_what_a_hand_would_reckon():
    cal, fixed = cells(report({"cal:8": CAL, "fixed:5": FIXED}, "Title"))
    assert cal == {
        "method": "cal:8",
        "tasks": 4,
        "Pass@1": 75.0,
        "exact": 0.0,
        "length right": 50.0,
        "off by": 1.0,
        "probes": 10.0,
        "forwards": 7.0,
    }
    assert (fixed["Pass@1"], fixed["length right"], fixed["off by"], fixed["probes"]) == (50.0, 100.0, 0.0, 0.0)


def test_scores_have_the_interval_of_their_tasks():
    (row,) = report({"cal:8": CAL}, "Title").rows
    found = interval([1.0, 0.0, 1.0, 1.0])
    assert (row[2].low, row[2].high) == pytest.approx((100 * found.low, 100 * found.high))
    assert row[2].low < 75 < row[2].high


def test_a_task_counts_once_with_the_mean_of_its_samples():
    several = [record("t/1", n < 1, n, probes=4) for n in range(4)] + [record("t/2", 1, 0, probes=8)]
    assert estimate(several, "pass").mean == (0.25 + 1.0) / 2
    assert estimate(several, "pass").n == 2
    assert mean(several, lambda r: r.probes) == 6.0
    assert cells(report({"m": several}, "T"))[0]["tasks"] == 2


def test_pass_at_k_stands_where_there_are_k_samples():
    lot = random.Random(0)
    right = {f"t/{n}": lot.randint(0, 10) for n in range(6)}
    ten = [record(name, sample < c, sample) for name, c in right.items() for sample in range(10)]
    first, second = cells(report({"ten": ten, "one": CAL}, "T"))
    assert set(first) >= {"pass@5", "pass@10"}
    assert "pass@100" not in first
    assert first["pass@5"] == pytest.approx(100 * fmean(pass_at_k(10, c, 5) for c in right.values()))
    assert first["pass@10"] == pytest.approx(100 * fmean(c > 0 for c in right.values()))
    assert first["Pass@1"] == pytest.approx(100 * fmean(c / 10 for c in right.values()))
    assert (second["pass@5"], second["pass@10"]) == (None, None)


def test_text_has_its_own_scores_and_no_pass():
    text = [record("s/1", 0, scores={"bleu2": 0.5, "rouge_l": 0.25, "exact": 1.0})]
    (row,) = cells(report({"cal:2": text}, "T"))
    assert (row["BLEU-2"], row["ROUGE-L"], row["exact"]) == (50.0, 25.0, 100.0)
    assert "Pass@1" not in row
    both = cells(report({"cal:2": text, "cal:8": CAL}, "T"))
    assert [(row["Pass@1"], row["BLEU-2"]) for row in both] == [(None, 50.0), (75.0, None)]


def test_samples_of_text_have_no_pass_at_k():
    ten = [record("s/1", 0, n, scores={"bleu2": n / 10, "rouge_l": 0.0, "exact": 0.0}) for n in range(10)]
    (row,) = cells(report({"cal:2": ten}, "T"))
    assert row["BLEU-2"] == pytest.approx(45.0)
    assert not [name for name in row if name.startswith("pass@")]


def test_cropped_tasks_are_counted_once_whatever_the_methods_and_samples():
    cropped = [record("t/1", 1, n, cropped=3) for n in range(5)] + [record("t/2", 1, n) for n in range(5)]
    table = report({"a": cropped, "b": cropped}, "T")
    assert any(note.startswith("1 tasks did not fit") for note in table.notes)
    assert not any("did not fit" in note for note in report({"a": CAL}, "T").notes)


def test_no_records_is_an_error_that_says_what_to_do():
    for empty in ({}, {"cal:8": []}):
        with pytest.raises(ArgumentError, match="Title: there are no records; evaluate first"):
            report(empty, "Title")
    with pytest.raises(ArgumentError, match="no records"):
        mean([], lambda r: r.probes)
    assert len(report({"cal:8": CAL, "fixed:5": []}, "T").rows) == 1


def test_two_runs_are_compared_on_the_tasks_that_both_have():
    table = compare(("cal:8", CAL), ("fixed:5", FIXED))
    passed, exact = cells(table)
    found = paired([1, 0, 1], [0, 0, 1])
    assert passed == {
        "score": "Pass@1",
        "cal:8": pytest.approx(200 / 3),
        "fixed:5": pytest.approx(100 / 3),
        "difference": pytest.approx(100 / 3),
        "p": found.p,
        "wins": 1,
        "losses": 0,
        "ties": 2,
    }
    assert exact["difference"] == 0.0
    assert table.notes[0].startswith("3 tasks that both have; difference is cal:8 less fixed:5")
    back = cells(compare(("fixed:5", FIXED), ("cal:8", CAL)))[0]
    assert (back["difference"], back["wins"], back["losses"]) == (pytest.approx(-100 / 3), 0, 1)


def test_runs_without_a_task_in_common_are_not_compared():
    with pytest.raises(ArgumentError, match="a and b have no task in common; compare runs on the same set"):
        compare(("a", CAL), ("b", [record("t/9", 1)]))
    # One that asks something else is another task.
    changed = [record("t/1", 1, task="changed"), record("t/2", 1)]
    assert [name for name, _ in common(CAL, changed)] == ["t/2"]


def test_tasks_of_one_id_that_ask_different_things_are_not_samples_of_one():
    rows = [record("t/1", 1), record("t/1", 0, task="changed")]
    assert len(by_task(rows)) == 2
    assert estimate(rows, "pass").n == 2


GROUPED = [(f"Single/HumanEval/{n // 4}/L{n % 4}", float(n // 4 % 2 if n % 3 else n % 2)) for n in range(40)]


def test_intervals_are_of_the_texts_that_tasks_were_cut_from():
    values, texts = [passed for _, passed in GROUPED], [name.rsplit("/", 1)[0] for name, _ in GROUPED]
    by_id = [record(name, passed) for name, passed in GROUPED]
    said = [record(f"{n}", passed, group=f"g{n // 4}") for n, (_, passed) in enumerate(GROUPED)]
    want, alone = interval(values, groups=texts), interval(values)
    assert (want.low, want.high) != (alone.low, alone.high)
    for rows in (by_id, said):
        found = estimate(rows, "pass")
        assert (found.low, found.high) == (want.low, want.high)
        cell = share(rows, "pass", beside=40.0)
        assert (cell.value, cell.low, cell.high, cell.beside) == (
            100 * want.mean,
            100 * want.low,
            100 * want.high,
            40.0,
        )
    other = [record(r.id, 1 - r.scores["pass"]) for r in by_id]
    grouped = paired(values, [1 - v for v in values], groups=texts)
    assert difference(by_id, other, "pass") == grouped
