"""A bias is not evaluated on what it was fitted on.

A task was seen if the artefact names its id, the id of its twin (single-line Lk and multi-line Lk_Lk mask
the same line), or the digest of its prefix, suffix and answer, whatever it is called now.
"""

from __future__ import annotations

from collections.abc import Sequence

from calipers.bench.humaneval import fitted, twin
from calipers.bias import PAPER, Bias
from calipers.errors import BiasError
from calipers.tasks import Task, content_digest

_DERIVED = ("SingleLineInfilling/", "MultiLineInfilling/")
_NAMED = 3  # in a message


def check(bias: Bias, tasks: Sequence[Task]) -> None:
    """Refuse tasks that the bias has seen."""
    known = seen(bias, tasks)
    if not known:
        return
    first = ", ".join(task.id for task in known[:_NAMED]) + (", …" if len(known) > _NAMED else "")
    raise BiasError(
        f"Bias {bias.name!r} was fitted on {len(known)} of these {len(tasks)} tasks ({first}); "
        "evaluate on others (--split eval leaves out what the paper fits on) or with another bias (--bias)."
    )


def seen(bias: Bias, tasks: Sequence[Task]) -> list[Task]:
    """Those of the tasks that the bias was fitted on."""
    ids, digests = set(map(twin, _names(bias))), set(bias.digests)
    # The paper's bias does not carry its samples; they are the first 100 of its published shuffle.
    if bias.coefficients == PAPER.coefficients and any(task.id.startswith(_DERIVED) for task in tasks):
        for task in fitted():
            ids.add(task.id)
            digests.add(content_digest(task))
    return [task for task in tasks if twin(task.id) in ids or (digests and content_digest(task) in digests)]


def _names(bias: Bias) -> list[str]:
    """Ids that mean something outside their file: a line's number does not, where contents can be compared."""
    return [name for name in bias.samples if not (bias.digests and name.isdigit())]
