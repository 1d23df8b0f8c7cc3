"""From a template to a canvas that fits: tokenise the pieces, crop the far ends."""

from __future__ import annotations

from collections.abc import Sequence

from calipers.canvas import Canvas
from calipers.errors import ContextError
from calipers.models.base import MaskModel
from calipers.template import Template

# Of a crowded context the text after the last hole may claim this share; the text before gets the rest.
_SUFFIX_SHARE = 1 / 3


def encode(
    template: Template, model: MaskModel, longest: Sequence[int], context: int | None = None, crop: bool = True
) -> Canvas:
    """A canvas with empty holes, with room for each hole to grow to its `longest`.

    context  tokens to use at most; None: all the model reads
    crop     cut the far left and far right of a longer text (never between holes), or refuse it

    What is kept does not depend on a hole's length, so all lengths are judged in one context.
    """
    limit = model.context if context is None else min(context, model.context)
    room = limit - sum(longest)
    texts = [tuple(model.encode(text)) for text in template.texts]
    total, inner = sum(map(len, texts)), sum(map(len, texts[1:-1]))
    if inner > room or room < 1:
        raise ContextError(
            f"{template.holes} hole(s) of up to {max(longest)} tokens and {inner} tokens between them do not fit a "
            f"context of {limit} tokens ({model.card.name} reads {model.context}); lower max_length, "
            "or fill fewer holes at once."
        )
    if total > room and not crop:
        raise ContextError(
            f"The text has {total} tokens and {room} fit beside the hole(s) ({model.card.name} reads "
            f"{model.context}, context is {limit}); shorten it, lower max_length, or allow cropping."
        )
    left, right = texts[0], texts[-1]
    spare = room - inner
    keep_right = min(len(right), max(spare - len(left), int(spare * _SUFFIX_SHARE)))
    keep_left = min(len(left), spare - keep_right)
    cropped = (len(left) - keep_left, len(right) - keep_right)
    texts[0], texts[-1] = left[len(left) - keep_left :], right[:keep_right]
    return Canvas(tuple(texts), ((),) * template.holes, cropped)
