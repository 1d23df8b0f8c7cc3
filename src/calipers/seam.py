"""Where a fill meets the text after it: an echo is a fill that ends with what the suffix begins with.

A hole that is longer than its answer is often filled with the answer and then, over again,
with the beginning of the suffix.
"""

from __future__ import annotations

# A shared ")" or a shared newline is no echo; so much text that is not blank must be the same.
LEAST = 6


def echo(text: str, suffix: str, least: int = LEAST) -> int:
    """How many characters at the end of `text` repeat the beginning of `suffix`; 0 if too few to matter."""
    for size in range(min(len(text), len(suffix)), 0, -1):
        shared = text[-size:]
        if suffix.startswith(shared) and len("".join(shared.split())) >= least:
            return size
    return 0
