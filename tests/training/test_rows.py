"""Rows and batches: the pieces are the text, targets are in holes, and a batch hangs on its number alone."""

import random
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from passages import CODE, PROSE
from training.architecture import BOS, MASK, SPECIAL
from training.examples.batch import Batch, Maker, Recipe, Source, buckets
from training.examples.row import KIND, SHORT, Cut, choose, crop, fit, make_row, tokens, window
from training.examples.shelf import Shelf, write_shelf
from training.examples.spans import KINDS, Mix, draw
from training.examples.stream import stream
from training.feed import SHARES, feed, row_weights
from training.settings import Loss, Rows

EVERY = Mix(dict.fromkeys(KINDS, 1.0))


@pytest.fixture(scope="session")
def decode(tokenizer_json):
    import tokenizers

    inner = tokenizers.Tokenizer.from_str(tokenizer_json)
    return lambda ids: inner.decode(list(ids), skip_special_tokens=False)


@pytest.fixture
def recipe(tmp_path, tokenizer_json):
    (tmp_path / "tokenizer.json").write_text(tokenizer_json)
    for part in ("train", "held"):
        write_shelf(tmp_path / "code" / part, [CODE * 3, CODE + "\n# another\n"])
        write_shelf(tmp_path / "prose" / part, [PROSE, PROSE * 2])
    sources = (Source("code", (str(tmp_path / "code"),), 0.7), Source("prose", (str(tmp_path / "prose"),), 0.3, True))
    return Recipe(sources, str(tmp_path / "tokenizer.json"), EVERY, EVERY, Cut(), (64, 128), (0.5, 0.5), 1024)


def test_the_pieces_join_to_the_text_and_kinds_stand_where_the_holes_are(encode, decode):
    for seed in range(60):
        text, spans = draw(CODE, EVERY, random.Random(seed))
        ids, kinds = tokens(text, spans, encode)
        assert decode(ids.tolist()) == text
        holes = [text[s.start : s.end] for s in spans]
        at = 0
        for span, hole in zip(spans, holes, strict=True):
            while kinds[at] == 0:
                at += 1
            own = []
            while at < len(kinds) and kinds[at] == KIND[span.kind]:
                own.append(int(ids[at]))
                at += 1
            assert decode(own) == hole


def test_rows_fit_open_with_the_begin_token_and_never_ask_for_a_special_one(encode):
    rng = random.Random(3)
    for length in (32, 64, 200):
        for _ in range(40):
            row = make_row([CODE * 2, CODE + "<|endoftext|><reponame>"], False, length, EVERY, Cut(), encode, rng, BOS)
            assert len(row.ids) == len(row.kinds) <= length
            assert row.ids[0] == BOS
            assert row.kinds[0] == 0
            targets = row.ids[row.kinds > 0]
            assert len(targets) > 0
            assert (targets >= SPECIAL).all()


def test_only_a_window_that_reaches_the_end_is_closed(encode):
    rng = random.Random(4)
    closed = {
        bool(make_row([CODE], False, 1000, EVERY, Cut(top=1.0), encode, rng, BOS).ids[-1] == BOS) for _ in range(5)
    }
    assert closed == {True}
    long = [CODE * 50]
    ends = [make_row(long, False, 64, EVERY, Cut(top=1.0), encode, rng, BOS).ids[-1] for _ in range(20)]
    assert BOS not in ends


def test_documents_that_are_all_too_short_are_an_error(encode):
    with pytest.raises(ValueError, match="short"):
        make_row(["x"], False, 64, EVERY, Cut(), encode, random.Random(0), BOS)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.integers(1, 60), st.integers(0, 999))
def test_cropping_keeps_every_hole(kinds, room, seed):
    array = np.array(kinds, np.uint8)
    kept = crop(array, room, random.Random(seed))
    holes = np.flatnonzero(array)
    if kept is None:
        assert holes[-1] - holes[0] + 1 > room
    else:
        assert kept.stop - kept.start == min(len(array), room)
        assert (array[kept] > 0).sum() == len(holes) or not len(holes)


@given(
    st.lists(st.integers(0, 1), min_size=1, max_size=500), st.integers(16, 400), st.sampled_from([1, 32, 64]),
    st.booleans(), st.integers(0, 99),
)  # fmt: skip
def test_fitted_rows_have_a_multiple_of_the_step_and_every_hole(kinds, length, step, at_end, seed):
    array = np.array(kinds, np.uint8)
    kept = fit(array, length, step, at_end, random.Random(seed))
    if kept is None:
        return
    closed = at_end and kept.stop == len(array)
    size, whole = 1 + kept.stop - kept.start + closed, 1 + len(array) + at_end
    assert size <= length
    assert array[kept].sum() == array.sum()
    if min(whole, length) < SHORT:
        assert size == min(whole, length)
    else:
        assert size % step == 0
        assert min(whole, length) - size < step


def test_rows_of_a_step_are_batched_without_padding_but_the_short_ones(recipe):
    made = Maker(replace(recipe, lengths=(64, 320), tokens=16384, step=64)).batch(0)
    found = list(buckets(made, 2048, BOS, 64))
    assert sum(len(bucket.sizes) for bucket in found) == len(made.sizes)
    widths = {bucket.ids.shape[1] for bucket in found if bucket.ids.shape[1] >= SHORT}
    assert len(widths) > 2
    for bucket in found:
        assert bucket.ids.size <= 2048
        if bucket.ids.shape[1] >= SHORT:
            assert (bucket.sizes == bucket.ids.shape[1]).all()
            assert bucket.ids.shape[1] % 64 == 0
            assert feed(bucket, Rows(), Loss()).keep is None
    assert min(made.sizes) < SHORT


@given(st.lists(st.sampled_from([0, 1, 2]), min_size=1, max_size=80), st.integers(0, 999))
def test_targets_are_in_holes_and_never_none(kinds, seed):
    array = np.array(kinds, np.uint8)
    chosen = choose(array, Cut(), random.Random(seed))
    assert (chosen > 0).any()
    if (array > 0).any():
        assert (chosen[chosen > 0] == array[chosen > 0]).all()
        assert (choose(array, Cut(full=1.0), random.Random(seed)) == array).all()
    else:
        assert set(chosen.tolist()) <= {0, KIND["random"]}


@given(st.integers(0, 999), st.integers(8, 300))
def test_a_window_is_part_of_its_document(seed, length):
    text, at_end = window(CODE * 4, length, Cut(), random.Random(seed))
    assert text in CODE * 4
    assert not at_end or (CODE * 4).endswith(text)


def test_a_batch_hangs_on_its_number_alone(recipe):
    first, second = Maker(recipe), Maker(recipe)
    forward = [first.batch(n) for n in range(4)]
    backward = [second.batch(n) for n in reversed(range(4))][::-1]
    for one, other in zip(forward, backward, strict=True):
        assert (one.ids == other.ids).all()
        assert (one.kinds == other.kinds).all()
    assert not np.array_equal(forward[0].ids, forward[1].ids)
    assert all(recipe.tokens <= batch.sizes.sum() < recipe.tokens + 128 for batch in forward)


@pytest.mark.slow
def test_workers_hand_out_what_one_would(recipe):
    alone = list(islice(stream(recipe, 3, 0), 5))
    batches = stream(recipe, 3, 2)
    together = list(islice(batches, 5))
    batches.close()
    for one, other in zip(alone, together, strict=True):
        assert one.number == other.number
        assert np.array_equal(one.ids, other.ids)


def test_a_source_without_text_is_named(recipe, tmp_path):
    write_shelf(tmp_path / "code" / "held", [])
    with pytest.raises(ValueError, match="code"):
        Maker(recipe, "held")


@given(st.lists(st.integers(1, 90), min_size=1, max_size=40), st.integers(32, 400))
def test_buckets_hold_every_row_once_and_little_padding(sizes, room):
    rng = np.random.default_rng(0)
    ids = rng.integers(17, 1000, sum(sizes)).astype(np.uint16)
    batch = Batch(0, ids, np.ones(sum(sizes), np.uint8), np.array(sizes, np.int64))
    found, rows = [], 0
    for bucket in buckets(batch, room, 0):
        assert bucket.ids.size <= max(room, bucket.ids.shape[1])
        assert bucket.ids.shape[1] - bucket.sizes.max() < 32
        found += [tuple(row[:size].tolist()) for row, size in zip(bucket.ids, bucket.sizes, strict=True)]
        rows += len(bucket.ids)
    ends = np.cumsum(sizes)
    wanted = [tuple(ids[end - size : end].tolist()) for size, end in zip(sizes, ends, strict=True)]
    assert rows == len(sizes)
    assert sorted(found) == sorted(wanted)


def test_a_feed_masks_its_targets_and_asks_one_row_before(recipe):
    batch = Maker(recipe).batch(0)
    for bucket in buckets(batch, 512, BOS):
        one = feed(bucket, Rows(), Loss())
        flat, masked = bucket.ids.reshape(-1).astype(int), bucket.kinds.reshape(-1) > 0
        assert (one.ids.reshape(-1).numpy()[masked] == MASK).all()
        assert (one.ids.reshape(-1).numpy()[~masked] == flat[~masked]).all()
        assert (one.targets.numpy() == flat[one.asked.numpy() + 1]).all()
        assert ((one.asked.numpy() + 1) % bucket.ids.shape[1] > 0).all()
        if one.keep is not None:
            assert (one.keep.sum(1).numpy() == bucket.sizes).all()


def test_weights_of_rows_are_one_over_their_masked_share_up_to_the_most():
    shares = np.array([1.0, 0.25, 0.001])
    assert row_weights(shares, Loss()).tolist() == [1, 1, 1]
    assert row_weights(shares, Loss("share", 20)).tolist() == [1, 4, 20]
    assert row_weights(shares, Loss("root", 20)).tolist() == [1, 2, 20]
    assert SHARES[-1] == 1.0


def test_a_shelf_gives_back_its_texts(tmp_path: Path):
    texts = ["", "aé\n", "漢字", "x" * 1000]
    write_shelf(tmp_path / "s", texts)
    shelf = Shelf(tmp_path / "s")
    assert [shelf[i] for i in range(len(shelf))] == texts
    assert len(Shelf(tmp_path / "s")) == 4
