"""Everything calipers raises on purpose.

CalipersError                      exit code 1
├── ArgumentError (ValueError)     2   an argument has a value that makes no sense
├── MissingExtra (ImportError)     2   an optional part is not installed
├── TemplateError (ValueError)     3   no hole, too many holes, a place that is not in the text
├── TargetError (OSError)          3   a file that cannot be read as text, or not be written
├── ModelError                     4   a checkpoint cannot be found, read or trusted
├── ContextError (ValueError)      5   the text does not fit the model's context
├── BiasError (ValueError)         6   a bias artefact is missing, broken or was fitted on too little
└── OutOfMemory (MemoryError)      7   one single row does not fit the device

Every message names the argument, the value and the remedy. The command line
prints the message without a traceback and leaves with the exit code.
"""

from __future__ import annotations


class CalipersError(Exception):
    """Base of all errors that are meant for the user to read."""

    exit_code = 1


class ArgumentError(CalipersError, ValueError):
    """An argument has a value that makes no sense."""

    exit_code = 2


class MissingExtra(CalipersError, ImportError):
    """An optional part is needed and not installed."""

    exit_code = 2

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs an optional part that is not installed. Install it with: pip install 'calipers[{extra}]'"
        )


class TemplateError(CalipersError, ValueError):
    """The text has no hole, too many, or not at the place that was named."""

    exit_code = 3


class TargetError(CalipersError, OSError):
    """A file cannot be read as UTF-8 text or cannot be written."""

    exit_code = 3


class ModelError(CalipersError):
    """A checkpoint cannot be found, read or trusted."""

    exit_code = 4


class ContextError(CalipersError, ValueError):
    """The text and its holes do not fit the model's context."""

    exit_code = 5


class BiasError(CalipersError, ValueError):
    """A bias artefact is missing, broken, or was fitted on too little."""

    exit_code = 6


class OutOfMemory(CalipersError, MemoryError):
    """One row alone does not fit the device's memory."""

    exit_code = 7


class CalipersWarning(UserWarning):
    """Something was done that the user may want to know: text cropped, a foreign bias used."""
