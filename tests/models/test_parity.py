"""The published architectures, against logits of their reference implementations."""

import pytest
import torch

from calipers.canvas import MASK
from calipers.models.load import load
from helpers import ALLOWED, CHECKPOINTS, FORBIDDEN, MASK_ID, canvas, checkpoint, close, expected, predict

SHIFT = {"llada": 0, "llada_gqa": 0, "dream": 1, "dream_tied": 1}

each = pytest.mark.parametrize("name", CHECKPOINTS)


@each
def test_a_row_alone_has_the_references_logits(parity, name):
    backbone = parity(name).backbone
    for ids, want in expected(name):
        close(backbone(torch.tensor([ids])), want)


@each
def test_a_right_padded_batch_has_the_references_logits(parity, name):
    rows = expected(name)
    width = max(len(ids) for ids, _ in rows)
    ids = torch.tensor([ids + [0] * (width - len(ids)) for ids, _ in rows])
    keep = torch.arange(width) < torch.tensor([len(ids) for ids, _ in rows])[:, None]
    got = parity(name).backbone(ids, keep).view(len(rows), width, -1)
    for row, (real, want) in zip(got, rows, strict=True):
        close(row[: len(real)], want)


@each
def test_what_stands_in_the_padding_does_not_matter(parity, name):
    ids, want = expected(name)[1]
    keep = torch.arange(len(ids) + 6)[None] < len(ids)
    for padding in (0, MASK_ID, 99):
        close(parity(name).backbone(torch.tensor([ids + [padding] * 6]), keep)[: len(ids)], want)


@each
def test_only_the_rows_asked_for_are_unembedded_and_they_are_the_same(parity, name):
    ids, want = expected(name)[0]
    rows = torch.tensor([12, 3, 3])
    close(parity(name).backbone(torch.tensor([ids]), rows=rows), want[rows])


@each
def test_hole_positions_have_the_references_logits_wherever_its_rows_are(parity, name):
    model = parity(name)
    for ids, want in expected(name):
        texts = [MASK if i == MASK_ID else i for i in ids]
        # The hole is all but the first position: masks, and between them tokens already committed.
        (got,) = predict(model, canvas(texts[:1], texts[1:]))
        rows = torch.arange(1, len(ids)) - SHIFT[name]
        close(got[:, ALLOWED], want[rows][:, ALLOWED])
        assert got[:, sorted(FORBIDDEN)].isneginf().all()


@each
def test_a_hole_between_texts_has_the_references_logits(parity, name):
    ids, want = expected(name)[0]
    (got,) = predict(parity(name), canvas(ids[:7], 6, ids[13:]))
    close(got[:, ALLOWED], want[7 - SHIFT[name] : 13 - SHIFT[name]][:, ALLOWED])


def successor(tensors, embed, unembed, outputs):
    """Make the row of token t predict token t + 1, whatever stands around it."""
    for name in tensors:
        if name.endswith(outputs):
            tensors[name].zero_()  # nothing is added to the residual stream: a row knows its own token only
    tensors[embed] = torch.nn.functional.normalize(tensors[embed])
    tensors[unembed] = tensors[embed].roll(1, 0).contiguous()


LLADA = ("model.transformer.wte.weight", "model.transformer.ff_out.weight", ("attn_out.weight", "ff_out.weight"))
DREAM = ("model.embed_tokens.weight", "lm_head.weight", ("o_proj.weight", "down_proj.weight"))


@pytest.mark.parametrize(("name", "names"), [("llada", LLADA), ("dream", DREAM)])
def test_a_position_is_predicted_by_its_familys_row(tmp_path, name, names):
    bos = 5  # one whose successor may come out
    edited = checkpoint(tmp_path, name, {"bos_token_id": bos}, lambda tensors: successor(tensors, *names))
    model = load(str(edited), dtype="float32")
    hole = [10, 90, 33, 170]
    for prefix in ([200, 50], []):
        (got,) = predict(model, canvas(prefix, hole, [60, 61]))
        read = hole if name == "llada" else [[bos, *prefix][-1], *hole[:-1]]
        assert got.argmax(-1).tolist() == [token + 1 for token in read]
