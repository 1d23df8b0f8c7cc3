"""The adapter: batches, forbidden ids, begin- and end-of-text, context, and memory that runs out."""

import random
import sys

import pytest
import torch

from calipers.canvas import MASK, Canvas
from calipers.errors import ContextError, ModelError, OutOfMemory
from calipers.models import transformer
from calipers.models.base import MaskModel, Query
from calipers.models.card import Card
from calipers.models.config import Config
from calipers.models.load import load, load_folder
from calipers.models.transformer import TransformerModel
from helpers import (
    BOS,
    CHECKPOINTS,
    EOS,
    EXPAND,
    FORBIDDEN,
    MASK_ID,
    canvas,
    checkpoint,
    close,
    forwards,
    predict,
    python,
    raw,
)

each = pytest.mark.parametrize("name", CHECKPOINTS)


def ids(count, seed=0):
    """So many ordinary ids."""
    return random.Random(seed).choices(range(8, 300), k=count)


def like_lengths():
    """Canvases so near in length that one forward takes them all, three of them padded."""
    return [canvas(ids(20 + n % 2, n), 5 + n, ids(12, n + 9)) for n in (0, 3, 1, 2)]


def other_lengths():
    """Canvases of every length, a bare one and one without a suffix among them."""
    return [canvas(ids(a, a), hole, ids(b, b)) for a, hole, b in ((3, 1, 2), (0, 9, 70), (40, 64, 0), (1, 2, 1))]


def carded(folder, **facts):
    """A parity checkpoint in `folder` under a card with these facts."""
    card = Card(name="carded", id="carded", family="Dream", **{"opens": "bare", **facts})
    return load_folder(folder, card, "cpu", torch.float32)


@pytest.fixture(scope="module")
def dream(tmp_path_factory):
    return checkpoint(tmp_path_factory.mktemp("dream"), "dream")


@each
def test_a_loaded_model_is_a_mask_model(parity, name):
    assert isinstance(parity(name), MaskModel)


# Batches


@each
@pytest.mark.parametrize("make", [like_lengths, other_lengths])
def test_a_batch_gives_what_its_rows_give_alone_in_any_order(parity, name, make):
    model, canvases = parity(name), make()
    alone = [predict(model, one)[0] for one in canvases]
    for seed in range(3):
        order = random.Random(seed).sample(range(len(canvases)), len(canvases))
        together = predict(model, *(canvases[i] for i in order))
        assert len(together) == len(order)
        for i, got in zip(order, together, strict=True):
            close(got, alone[i])


def test_rows_of_like_length_share_one_padded_forward(parity):
    with forwards(parity("llada")) as shapes:
        predict(parity("llada"), *like_lengths())
    assert shapes == [(4, max(map(len, like_lengths())))]


def test_a_short_row_is_not_padded_to_a_long_one(parity):
    with forwards(parity("llada")) as shapes:
        predict(parity("llada"), canvas(ids(10), 2), canvas(ids(100), 2))
    assert shapes == [(1, 12), (1, 102)]


@each
@pytest.mark.parametrize(("budget", "limit"), [("_tokens", 1), ("_tokens", 90), ("_logits", 1)])
def test_how_much_goes_through_at_once_changes_nothing(parity, name, budget, limit, monkeypatch):
    model, canvases = parity(name), like_lengths()
    whole = predict(model, *canvases)
    monkeypatch.setattr(model, budget, limit)
    with forwards(model) as shapes:
        parts = predict(model, *canvases)
    assert len(shapes) > 1
    if budget == "_tokens":
        assert all(rows * width <= limit or rows == 1 for rows, width in shapes)
    for got, want in zip(parts, whole, strict=True):
        close(got, want)


@each
def test_positions_may_be_some_of_a_hole_in_any_order_or_none(parity, name):
    model, whole = parity(name), canvas(ids(5), 6, ids(4))
    (all_of_them,) = predict(model, whole)
    some, none = model.predict([Query(whole, (9, 5)), Query(whole, ())])
    close(some, all_of_them[[4, 0]])
    assert none.shape == (0, 320)


def test_no_query_is_no_answer(parity):
    assert list(parity("llada").predict([])) == []


@each
def test_several_holes_are_answered_in_order(parity, name):
    model = parity(name)
    two = Canvas((tuple(ids(4)), tuple(ids(3, 1)), ()), ((MASK,) * 2, (MASK, 50)))
    (got,) = predict(model, two)
    shift = int(name.startswith("dream"))
    line = [MASK_ID if i == MASK else i for i in two.ids]
    close(got, raw(model, line)[[p - shift for p in (4, 5, 9, 10)]])


# Forbidden ids and controls


@each
def test_forbidden_ids_never_come_out_and_all_others_may(parity, name):
    for logits in predict(parity(name), *other_lengths()):
        banned = logits.isneginf().any(0).nonzero().flatten().tolist()
        assert set(banned) == FORBIDDEN
        assert logits[:, banned].isneginf().all()
        assert not set(logits.argmax(-1).tolist()) & FORBIDDEN


def test_a_card_forbids_more(dream):
    model = carded(dream, forbidden=(100, 101))
    (logits,) = predict(model, canvas(ids(4), 3))
    assert set(logits.isneginf().all(0).nonzero().flatten().tolist()) == FORBIDDEN | {100, 101}


def test_only_controls_let_the_length_changing_tokens_through(dream):
    model = carded(dream, opens="always", closes=True, expand_id=EXPAND, delete_id=EOS)
    asked = canvas(ids(6), 3, ids(5))
    plain, control = model.predict([Query.whole(asked), Query(asked, asked.positions, controls=True)])
    assert plain[:, [EXPAND, EOS]].isneginf().all()
    assert control[:, [EXPAND, EOS]].isfinite().all()
    assert control[:, sorted(FORBIDDEN - {EXPAND, EOS})].isneginf().all()
    others = [i for i in range(320) if i not in (EXPAND, EOS)]
    close(control[:, others], plain[:, others])


# Begin- and end-of-text


def test_a_bare_hole_is_read_after_a_begin_of_text(dream):
    model = carded(dream, opens="bare")
    (got,) = predict(model, canvas([], 4, ids(6)))
    close(got, raw(model, [BOS, *[MASK_ID] * 4, *ids(6)])[:4])


def test_opens_bare_puts_nothing_before_a_text(dream):
    model = carded(dream, opens="bare")
    (got,) = predict(model, canvas(ids(3), 4, ids(6)))
    close(got, raw(model, [*ids(3), *[MASK_ID] * 4, *ids(6)])[2:6])


def test_opens_always_puts_a_begin_of_text_before_a_text(dream):
    model = carded(dream, opens="always")
    (got,) = predict(model, canvas(ids(3), 4, ids(6)))
    close(got, raw(model, [BOS, *ids(3), *[MASK_ID] * 4, *ids(6)])[3:7])


def test_the_cards_begin_and_end_of_text_win_over_the_configs(dream):
    model = carded(dream, opens="always", closes=True, bos_id=40, eos_id=41)
    (got,) = predict(model, canvas(ids(3), 2, ids(4)))
    want = raw(model, [40, *ids(3), *[MASK_ID] * 2, *ids(4), 41])[3:5]
    want[:, [40, 41]] = -torch.inf
    close(got, want)


@pytest.mark.parametrize(("cropped", "ends"), [((0, 0), [EOS]), ((9, 0), [EOS]), ((0, 1), [])])
def test_an_end_of_text_follows_only_what_was_not_cropped_at_its_end(dream, cropped, ends):
    model = carded(dream, closes=True)
    (got,) = predict(model, canvas(ids(3), 4, ids(6), cropped=cropped))
    close(got, raw(model, [*ids(3), *[MASK_ID] * 4, *ids(6), *ends])[2:6])


def test_bare_and_opened_rows_of_one_batch_are_what_they_are_alone(dream):
    model = carded(dream, opens="bare", closes=True)
    rows = [canvas([], 6, ids(10)), canvas(ids(2), 5, ids(9), cropped=(0, 2)), canvas([], 7, ids(9))]
    with forwards(model) as shapes:
        together = predict(model, *rows)
    assert shapes == [(3, 18)]
    for got, row in zip(together, rows, strict=True):
        close(got, predict(model, row)[0])


def test_on_a_cpu_forwards_come_in_few_shapes_and_answer_the_same(dream, monkeypatch):
    plain = load(str(dream), device="cpu", dtype="float32")
    monkeypatch.setitem(transformer._GRAIN, "cpu", 16)
    model = load(str(dream), device="cpu", dtype="float32")
    canvases = [canvas(ids(left), hole, ids(right)) for left in (0, 7, 40) for hole in (1, 5) for right in (0, 20)]
    canvases.sort(key=len)  # as the driver does
    with forwards(model) as shapes:
        together = predict(model, *canvases)
        alone = [predict(model, one)[0] for one in canvases]
    assert {width % 16 for _, width in shapes} == {0}
    assert max(rows for rows, _ in shapes) >= 4  # like widths still share a forward
    for row, one, want in zip(together, alone, predict(plain, *canvases), strict=True):
        assert row.shape == want.shape
        close(row, want)
        close(one, want)


def test_a_shifted_model_that_never_opens_is_refused(dream):
    with pytest.raises(ModelError, match=r"carded never opens.*set opens to bare or always"):
        carded(dream, opens="never")


def test_an_opening_model_without_a_begin_of_text_is_refused(tmp_path):
    folder = checkpoint(tmp_path, "dream", {"bos_token_id": None, "eos_token_id": None})
    with pytest.raises(ModelError, match=r"no bos_token_id.*add it"):
        carded(folder, opens="always")


def test_a_closing_model_without_an_end_of_text_is_refused(tmp_path):
    folder = checkpoint(tmp_path, "dream", {"eos_token_id": None, "pad_token_id": None})
    with pytest.raises(ModelError, match=r"no eos_token_id.*add it"):
        carded(folder, closes=True)


# Context


@pytest.mark.parametrize(
    ("facts", "room"),
    [({}, 511), ({"opens": "always", "closes": True}, 510), ({"context": 100}, 99), ({"closes": True}, 510)],
)
def test_context_is_what_is_left_beside_begin_and_end_of_text(dream, facts, room):
    model = carded(dream, **facts)
    assert model.context == room
    assert predict(model, canvas([], room))[0].shape == (room, 320)
    with pytest.raises(ContextError, match=rf"has {room + 1} tokens.*reads {room}; shorten"):
        predict(model, canvas([], room + 1))


def test_the_device_says_where_and_in_what(parity):
    assert parity("llada").device == "cpu/float32"


# Memory


class Cramped(torch.nn.Module):
    """A backbone on a device that holds so many tokens of activations, and no more."""

    def __init__(self, inner, room, failure):
        super().__init__()
        self.inner, self.room, self.failure, self.shape = inner, room, failure, inner.shape
        self.embed = inner.embed

    def forward(self, ids, keep=None, rows=None):
        if ids.numel() > self.room:
            raise self.failure
        return self.inner(ids, keep, rows)


FULL = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
    RuntimeError("[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory: you tried 1 bytes."),
    MemoryError(),
]


def cramped(folder, room, failure):
    """The checkpoint's model with so little room."""
    whole = load(str(folder), dtype="float32")
    config = Config.read(folder / "config.json")
    return TransformerModel(whole.card, config, Cramped(whole.backbone, room, failure), whole.tokenizer, shift=True)


@pytest.mark.parametrize("failure", FULL, ids=lambda failure: type(failure).__name__)
def test_where_a_batch_does_not_fit_smaller_ones_give_the_same(dream, failure):
    whole, small = load(str(dream), dtype="float32"), cramped(dream, 100, failure)
    canvases = like_lengths() + other_lengths()[:1] + like_lengths()
    for got, want in zip(predict(small, *canvases), predict(whole, *canvases), strict=True):
        close(got, want)
    with forwards(small) as shapes:
        predict(small, *canvases)
    assert all(rows * width <= 100 for rows, width in shapes)  # what did not fit is not tried again


@pytest.mark.parametrize("failure", FULL, ids=lambda failure: type(failure).__name__)
def test_one_row_too_large_is_out_of_memory_with_a_remedy(dream, failure):
    small = cramped(dream, 30, failure)
    with pytest.raises(OutOfMemory, match=r"one row of 41 tokens; lower context or max_length, use dtype bfloat16"):
        predict(small, canvas(ids(20), 1), canvas(ids(30), 1, ids(10)))


def test_another_failure_is_not_taken_for_memory(dream):
    small = cramped(dream, 30, RuntimeError("something else"))
    with pytest.raises(RuntimeError, match="something else"):
        predict(small, *like_lengths())


REALLY = """
import resource, sys, torch
from calipers.canvas import MASK, Canvas
from calipers.errors import OutOfMemory
from calipers.models.backbone import Shape
from calipers.models.base import Query
from calipers.models.card import Card
from calipers.models.config import Config
from calipers.models.tokenizer import Tokenizer
from calipers.models.transformer import TransformerModel
from calipers.models.weights import random_weights

# A wide MLP: a batch of 8 rows of 64 tokens takes 256 MB for each of its three matrices of activations, a row 32 MB.
# The room is between the two with much to spare on either side, for allocators keep address space of their own.
shape = Shape(vocab=320, dim=16, layers=1, heads=1, kv_heads=1, hidden=1 << 17, eps=1e-5, theta=1e4, context=4096)
backbone = random_weights(shape, "cpu", torch.float32)
config = Config({"mask_token_id": 7}, "here")
card = Card("wide", "wide", "llada")
model = TransformerModel(card, config, backbone, Tokenizer.from_json(open(sys.argv[1]).read()), False)
rows = [Query.whole(Canvas(((50 + n,) * 60, (70,)), ((MASK,) * 3,))) for n in range(8)]
whole = list(model.predict(rows))
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (400 << 20), -1))
shapes = []
backbone.register_forward_pre_hook(lambda _, args: shapes.append(tuple(args[0].shape)))
parts = list(model.predict(rows))
assert shapes[0] == (8, 64) and len(shapes) > 2, shapes
for a, b in zip(whole, parts, strict=True):
    torch.testing.assert_close(a, b, rtol=0, atol=1e-4)
try:
    next(model.predict([Query.whole(Canvas(((50,) * 600, ()), ((MASK,),)))]))
except OutOfMemory as failure:
    print(failure)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="bounds the address space")
def test_memory_that_really_runs_out_is_met_with_smaller_batches_and_then_a_message(dream):
    said = python(REALLY, dream / "tokenizer.json")
    assert "wide has no room on cpu for one row of 601 tokens; lower context" in said


def test_the_very_first_position_has_a_row_to_read_even_behind_a_prefix(parity):
    model = parity("dream")
    (logits,) = model.predict([Query(canvas([50, 51], 1, [52]), (0,))])
    close(logits, raw(model, [BOS, 50, 51, MASK_ID, 52])[:1])
