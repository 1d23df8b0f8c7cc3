"""How far a leg is, and the learning rate there."""

from __future__ import annotations

from training.settings import Schedule


def progress(schedule: Schedule, seconds: float, tokens: int, steps: int) -> float:
    """The share of the budget that is spent; 1 or more: the leg is over."""
    spent = [0.0]
    if schedule.minutes:
        spent.append(seconds / (60 * schedule.minutes))
    if schedule.tokens:
        spent.append(tokens / schedule.tokens)
    if schedule.steps:
        spent.append(steps / schedule.steps)
    return max(spent)


def learning_rate(schedule: Schedule, share: float, step: int) -> float:
    """The rate of step `step` (from 0), `share` of the budget being spent."""
    warm = min(1.0, (step + 1) / schedule.warmup) if schedule.warmup else 1.0
    if share <= schedule.flat:
        return schedule.lr * warm
    fallen = min(1.0, (share - schedule.flat) / (1 - schedule.flat))
    return schedule.lr * warm * (1 - (1 - schedule.final) * fallen)
