"""Weights in 4 to 8 bits: nothing is lost in storing codes, and little in choosing them."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from calipers.models.quant import BITS, CUBIC, decode, encode, group_scales, levels, pack, pack_codes, unpack

SHAPES = [(1, 64, 64), (3, 64, 16), (5, 128, 64), (2, 8, 8), (7, 192, 64), (50, 4096, 64)]

each = pytest.mark.parametrize("bits", BITS)


def random(rows, columns, seed=0):
    """A matrix like those of a model: many small values, few large ones."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(rows, columns, generator=generator) ** 3 * 0.02


@each
def test_levels_go_from_minus_one_to_one_evenly_about_zero(bits):
    steps = levels(bits)
    assert len(steps) == 2**bits
    assert (steps.diff() > 0).all()
    torch.testing.assert_close(steps, -steps.flip(0), rtol=0, atol=1e-6)
    torch.testing.assert_close(steps[[0, -1]], torch.tensor([-1.0, 1.0]), rtol=0, atol=1e-6)


@each
def test_levels_are_closer_near_zero(bits):
    gaps = levels(bits).diff()
    middle = len(gaps) // 2
    assert (gaps[middle:].diff() > -1e-6).all()
    assert gaps[middle] < gaps[-1] / 2


@each
def test_a_value_gets_its_nearest_level(bits):
    values = torch.linspace(-1.2, 1.2, 601)[None]
    scale = torch.tensor([[0.9]])
    codes = encode(values, scale, bits)
    brute = (values[0, :, None] - levels(bits) * 0.9).abs().argmin(-1)
    off = decode(codes, scale, bits) - levels(bits)[brute] * 0.9
    assert off.abs().max() < 1e-6


@each
@pytest.mark.parametrize(("rows", "columns", "group"), SHAPES)
def test_codes_and_scales_come_back_to_the_last_bit(bits, rows, columns, group):
    codes = torch.randint(2**bits, (rows, columns), dtype=torch.uint8)
    scale = torch.rand(rows, columns // group).half()
    parts = pack_codes(codes, scale, bits)
    assert parts["q"].dtype == torch.uint8
    assert parts["q"].shape == (rows, columns * bits // 8)  # no bit is wasted
    want = decode(codes.view(-1, group), scale.view(-1, 1), bits).view(rows, columns)
    assert torch.equal(unpack(parts, columns), want)


@each
@pytest.mark.parametrize(("rows", "columns", "group"), SHAPES)
def test_a_packed_matrix_is_near_the_matrix(bits, rows, columns, group):
    weight = random(rows, columns)
    error = unpack(pack(weight, bits, group), columns) - weight
    # The widest gap is between the outermost levels; a scale that covers all errs by half of it at most,
    # and the scale that is chosen is better in the mean square.
    gap = 2 / (2**bits - 1) * (1 + 3 * CUBIC) / (1 + CUBIC)
    rms = error.view(-1, group).square().mean(-1).sqrt()
    reach = weight.view(-1, group).abs().amax(-1)
    assert (rms <= reach * gap / 2 * 1.001 + 1e-6).all()


def test_each_bit_more_costs_less_error():
    weight = random(20, 512)
    errors = [(unpack(pack(weight, bits), 512) - weight).square().mean() for bits in BITS]
    assert all(more < less / 2.5 for less, more in pairwise(errors))


@given(outlier=st.floats(3, 60), bits=st.sampled_from(list(BITS)))
def test_the_scale_is_no_worse_than_one_that_covers_all(outlier, bits):
    groups = random(4, 64, seed=int(outlier * 1000))
    groups[:, 5] = outlier * groups.abs().mean()

    def cost(scale):
        return (decode(encode(groups, scale, bits), scale, bits) - groups).square().sum(-1)

    covering = groups.abs().amax(-1, keepdim=True).half()
    assert (cost(group_scales(groups, bits)) <= cost(covering) + 1e-12).all()


def test_what_is_unimportant_does_not_set_the_scale():
    groups = torch.linspace(-1, 1, 64)[None].clone()
    groups[0, 0] = -1.3
    importance = torch.ones(64)
    importance[0] = 0
    covering, clipping = group_scales(groups, 4), group_scales(groups, 4, importance)
    assert clipping < covering


@each
def test_zeros_stay_zeros(bits):
    weight = random(4, 128)
    weight[1] = 0
    weight[2, 64:] = 0
    back = unpack(pack(weight, bits), 128)
    assert (back[1] == 0).all()
    assert (back[2, 64:] == 0).all()
    assert (back[0] != 0).any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_matrix_comes_back_in_the_dtype_asked_for(dtype):
    parts = pack(random(4, 64), 6)
    got = unpack(parts, 64, dtype)
    assert got.dtype == dtype
    assert torch.equal(got, unpack(parts, 64).to(dtype))


def test_other_dtypes_can_be_packed():
    weight = random(4, 64).bfloat16()
    assert torch.equal(unpack(pack(weight, 8), 64), unpack(pack(weight.float(), 8), 64))


def test_what_cannot_be_packed_is_refused():
    with pytest.raises(ValueError, match="100 columns are not a multiple of the group of 64"):
        pack(random(2, 100), 5)
    with pytest.raises(ValueError, match="4 columns are not a multiple of 8"):
        pack(random(2, 4), 5, 4)
    for bits in (3, 9):
        with pytest.raises(ValueError, match=f"bits must be 4 to 8, not {bits}"):
            pack_codes(torch.zeros(2, 8, dtype=torch.uint8), torch.ones(2, 1), bits)
