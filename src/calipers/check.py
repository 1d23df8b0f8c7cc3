"""Checks of arguments that several parts share; each names the argument and its value."""

from __future__ import annotations

from calipers.errors import ArgumentError


def at_least_one(**arguments: int | None) -> None:
    """Refuse counts below 1; None is a count that was not given."""
    for name, value in arguments.items():
        if value is not None and value < 1:
            raise ArgumentError(f"{name}={value} must be at least 1.")


def fraction(**arguments: float | None) -> None:
    """Refuse what is no share above 0 and up to 1; None is a share that was not given."""
    for name, value in arguments.items():
        if value is not None and not 0 < value <= 1:
            raise ArgumentError(f"{name}={value} must be above 0 and at most 1.")
