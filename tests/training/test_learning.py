"""The loop's parts: settings, rates, rounding, one step."""

import copy
import itertools
from pathlib import Path

import pytest
import torch
from passages import ROOT
from training.architecture import CONFIG, shape_of
from training.muon import Muon
from training.optimiser import optimiser_of
from training.schedule import learning_rate, progress
from training.settings import Optimiser, Rounding, Run, Schedule, build, read_run
from training.trainer import losses_of

from calipers.models import quant
from calipers.models.weights import random_weights
from training import rounding

RUNS = ROOT / "training" / "runs"


@pytest.mark.parametrize("path", sorted(RUNS.glob("*.toml")), ids=lambda p: p.stem)
def test_every_run_in_the_repository_is_read(path):
    if path.stem == "common":
        pytest.skip("shared settings, no run")
    run = read_run(path)
    assert run.name == path.stem
    assert run.config["mask_token_id"] == CONFIG["mask_token_id"]


def test_a_comparison_changes_one_table_of_what_it_extends():
    base = read_run(RUNS / "short-0.toml")
    for path in RUNS.glob("short-*.toml"):
        run = read_run(path)
        changed = [f for f in Run.__dataclass_fields__ if getattr(run, f) != getattr(base, f) and f != "name"]
        # Both mixes are one change, and the prototype's data and spans are what the prototype was.
        # The mean stands in for the decay, and another optimiser has a rate of its own.
        both = path.stem in ("short-mean", "short-muon-high")
        assert len(changed) <= 1 or set(changed) <= {"code", "prose", "source"} or both


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('tokenizer = "t"\nsource = []\n[schedule]\nsteps = 1\n[rows]\ntoken = 5\n', "token"),
        ('tokenizer = "t"\nsource = []\n[schedule]\nlr = 1.0\n', "budget"),
        ('tokenizer = "t"\nsource = []\n[schedule]\nsteps = 1.5\n', "int"),
        ('tokenizer = "t"\nsource = []\n[schedule]\nsteps = 1\n[start]\nkind = "moon"\n', "moon"),
        ('tokenizer = "t"\n[schedule]\nsteps = 1\n', "source"),
    ],
)
def test_what_a_run_cannot_mean_is_an_error(tmp_path: Path, text, says):
    (tmp_path / "r.toml").write_text(text)
    with pytest.raises(ValueError, match=says):
        read_run(tmp_path / "r.toml")


def test_unknown_keys_of_the_model_are_refused():
    run = build(Run, {"name": "x", "tokenizer": "t", "source": [], "schedule": {"steps": 1}, "model": {"dim": 3}}, "x")
    with pytest.raises(ValueError, match="dim"):
        _ = run.config


def test_the_rate_rises_stays_and_falls():
    schedule = Schedule(lr=2.0, warmup=10, flat=0.5, final=0.1, steps=100)
    rates = [learning_rate(schedule, progress(schedule, 0, 0, step), step) for step in range(101)]
    assert rates[0] == pytest.approx(0.2)
    assert rates[10:51] == [2.0] * 41
    assert all(a > b for a, b in itertools.pairwise(rates[50:]))
    assert rates[100] == pytest.approx(0.2)


def test_a_flat_leg_never_falls():
    schedule = Schedule(flat=1.0, warmup=0, minutes=1)
    assert learning_rate(schedule, progress(schedule, 60, 0, 9), 9) == schedule.lr


def test_the_first_budget_that_is_spent_ends_a_leg():
    schedule = Schedule(minutes=10, tokens=1000, steps=10)
    assert progress(schedule, 60, 100, 9) == 0.9
    assert progress(schedule, 60, 2000, 0) == 2.0


@pytest.mark.parametrize("bits", [4, 5, 6, 7])
def test_rounding_in_training_is_the_packed_files_to_the_bit(bits):
    weight = torch.randn(24, 128, generator=torch.Generator().manual_seed(bits))
    parts = quant.pack(weight, bits)
    groups = weight.view(-1, quant.GROUP)
    scale = rounding.scales(groups, bits)
    assert torch.equal(scale.view(24, -1), parts["scale"])
    assert torch.equal(rounding.nearest(groups, scale, bits).view(24, 128), quant.unpack(parts, 128))


def tiny():
    config = {
        **CONFIG, "num_hidden_layers": 1, "hidden_size": 64, "num_attention_heads": 2,
        "num_key_value_heads": 1, "intermediate_size": 64, "vocab_size": 100,
    }  # fmt: skip
    return random_weights(shape_of(config), "cpu", torch.float32).requires_grad_(True)


def step_of(model, optimiser, seed, rate=0.1):
    lot = torch.Generator().manual_seed(seed)
    for p in model.parameters():
        p.grad = torch.randn(p.shape, generator=lot)
    optimiser.step(rate)


def test_muon_takes_steps_of_the_blocks_matrices_that_are_nearly_orthogonal_and_of_adamws_size():
    model = tiny()
    before = copy.deepcopy(dict(model.named_parameters()))
    step_of(model, optimiser_of(model, Optimiser(kind="muon", decay=0.0), False), 0)
    for name, p in model.named_parameters():
        moved = (p - before[name]).detach()
        if p.dim() == 2 and name.startswith("blocks"):
            spread = torch.linalg.svdvals(moved)
            # A square matrix of chance has a direction next to nothing, which five iterations do not lift.
            assert spread.max() / spread.quantile(0.1) < 2
            assert moved.square().mean().sqrt() == pytest.approx(0.1 * 0.2, rel=0.3)
        else:
            assert moved.abs().max() == pytest.approx(0.1, rel=1e-3)  # AdamW's first step
        assert p.grad is None


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="this torch has no Muon to compare with")
def test_muon_steps_as_torchs_own_does():
    one, other = tiny(), tiny()
    with torch.no_grad():
        for p, q in zip(one.parameters(), other.parameters(), strict=True):
            q.copy_(p)
    names = [name for name, p in one.named_parameters() if p.dim() == 2 and name.startswith("blocks")]
    mine = Muon([one.get_parameter(name) for name in names], 0.1)
    theirs = torch.optim.Muon(
        [other.get_parameter(name) for name in names], lr=1e-3, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"
    )
    before = {name: one.get_parameter(name).detach().clone() for name in names}
    for seed in range(4):
        lot = torch.Generator().manual_seed(seed)
        for name in names:
            gradient = torch.randn(one.get_parameter(name).shape, generator=lot)
            one.get_parameter(name).grad, other.get_parameter(name).grad = gradient, gradient.clone()
        mine.step()
        theirs.step()
    for name in names:
        moved, wanted = ((m.get_parameter(name) - before[name]).detach() for m in (one, other))
        assert (moved - wanted).norm() < 0.02 * wanted.norm(), name  # products in bfloat16 round in their own order


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_an_optimiser_read_back_goes_on_to_the_bit(kind):
    settings = Optimiser(kind=kind)
    one, other = tiny(), tiny()
    alone, begun = optimiser_of(one, settings, False), optimiser_of(other, settings, False)
    for seed in range(2):
        step_of(one, alone, seed)
        step_of(other, begun, seed)
    again = optimiser_of(other, settings, False)
    again.load_state_dict(copy.deepcopy(begun.state_dict()))
    for seed in range(2, 4):
        step_of(one, alone, seed)
        step_of(other, again, seed)
    for p, q in zip(one.parameters(), other.parameters(), strict=True):
        assert torch.equal(p, q)


def test_within_the_rounding_weights_are_rounded_and_gradients_reach_the_full_ones():
    model, settings = tiny(), Rounding(begin=0.0)
    before = copy.deepcopy(dict(model.named_parameters()))
    rounder = rounding.Rounder(model, settings)
    ids, targets = torch.randint(17, 100, (2, 8)), torch.tensor([20, 30])
    with rounder.rounded():
        inside = model.blocks[0].v.weight.detach().clone()
        assert torch.equal(inside, quant.unpack(quant.pack(before["blocks.0.v.weight"].detach(), 6), 64))
        losses_of(model(ids, None, torch.tensor([3, 9])), targets).sum().backward()
    assert all(torch.equal(p, before[name]) for name, p in model.named_parameters())
    other = tiny()
    with torch.no_grad():
        for name, p in other.named_parameters():
            if p.dim() == 2:
                bits = rounding.bits_of(name, settings)
                p.copy_(quant.unpack(quant.pack(p.detach(), bits), p.shape[1]))
    losses_of(other(ids, None, torch.tensor([3, 9])), targets).sum().backward()
    for (name, p), q in zip(model.named_parameters(), other.parameters(), strict=True):
        assert torch.equal(p.grad, q.grad), name


def test_an_error_within_the_rounding_leaves_the_weights_as_they_were():
    model = tiny()
    before = copy.deepcopy(dict(model.named_parameters()))

    def fail():
        with rounding.Rounder(model, Rounding()).rounded():
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert all(torch.equal(p, before[name]) for name, p in model.named_parameters())
