"""Many jobs, one model: what is asked side by side goes in one call, and everyone gets their own answer."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers import MASK, Query
from calipers.canvas import Canvas
from calipers.drive import Ask, Done, drive
from calipers.errors import ArgumentError
from pretend import Chaotic


def masks(length):
    return Canvas(((1,), (2,)), ((MASK,) * length,))


def job(lengths, closed=None):
    """Ask for all these lengths in one go, then each alone; return all answers."""
    answers = []
    try:
        for some in (lengths, *([n] for n in lengths)):
            queries = tuple(Query.whole(masks(n)) for n in some)
            here = {}
            yield Ask(queries, here.__setitem__, "search")
            answers.append([here[index] for index in range(len(queries))])
    finally:
        if closed is not None:
            closed.append(lengths)
    return answers


def results(model, jobs, **options):
    return {number: event.result for number, event in drive(model, jobs, **options) if isinstance(event, Done)}


batches = st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=3), max_size=6)


@settings(max_examples=40)
@given(batches, st.integers(1, 7))
def test_every_job_gets_the_answers_to_its_own_queries(jobs, at_once):
    got = results(Chaotic(), map(job, jobs), at_once=at_once)
    assert sorted(got) == list(range(len(jobs)))
    for number, lengths in enumerate(jobs):
        together, *alone = got[number]
        for n, shared, (single,) in zip(lengths, together, alone, strict=True):
            (direct,) = Chaotic().predict([Query.whole(masks(n))])
            assert torch.equal(shared, direct)
            assert torch.equal(single, direct)


@settings(max_examples=40)
@given(batches, st.integers(1, 7))
def test_no_more_than_at_once_share_a_call_and_no_fewer_while_there_are_jobs(jobs, at_once):
    model = Chaotic()
    results(model, (job([n]) for lengths in jobs for n in lengths), at_once=at_once)
    jobs_in_all = sum(map(len, jobs))
    assert [len(call) for call in model.asked] == [
        min(at_once, jobs_in_all - done) for done in range(0, jobs_in_all, at_once) for _ in range(2)
    ]


def test_queries_of_like_length_lie_side_by_side():
    model = Chaotic()
    results(model, [job([5, 1]), job([2, 4])])
    assert [len(query.canvas) for query in model.asked[0]] == [3, 4, 6, 7]


def test_jobs_begin_only_when_there_is_room():
    begun = []

    def jobs():
        for number in range(5):
            begun.append(number)
            yield job([1])

    running = drive(Chaotic(), jobs(), at_once=2)
    next(running)
    assert begun == [0, 1]
    list(running)
    assert begun == [0, 1, 2, 3, 4]


def test_an_ask_is_told_of_before_the_model_hears_of_it():
    model = Chaotic()
    number, event = next(drive(model, [job([3])]))
    assert (number, event.stage, model.asked) == (0, "search", [])


def test_leaving_early_closes_every_job():
    closed = []
    running = drive(Chaotic(), [job([1], closed), job([2], closed)])
    next(running)
    next(running)
    running.close()
    assert sorted(closed) == [[1], [2]]


def test_a_job_that_fails_closes_the_others():
    def failing():
        yield Ask((Query.whole(masks(1)),), lambda *_: None, "search")
        raise ZeroDivisionError

    closed = []
    with pytest.raises(ZeroDivisionError):
        results(Chaotic(), [job([1, 2], closed), failing()])
    assert closed == [[1, 2]]


def test_no_jobs_ask_nothing():
    model = Chaotic()
    assert results(model, []) == {}
    assert model.asked == []


def test_at_once_must_be_positive():
    with pytest.raises(ArgumentError, match="at_once=0 must be at least 1"):
        list(drive(Chaotic(), [], at_once=0))
