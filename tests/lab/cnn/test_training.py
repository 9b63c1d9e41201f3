"""Training by PyTorch: merged branches, patches, and a run that goes on with the same numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest

from snellen.cnn.model import TENSORS, read
from snellen_lab.sources import pack
from support.cnn import reference

torch = pytest.importorskip("torch")

from snellen_lab.cnn import data, network, run  # noqa: E402
from snellen_lab.cnn.__main__ import CHECKPOINT, main  # noqa: E402

MASKS = np.array(network.MASKS, np.float64)


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def correlated(values, weight):
    return torch.nn.functional.conv2d(values, torch.as_tensor(weight, dtype=torch.float64))


def test_merged_is_the_sum_of_the_branches():
    draws = torch.Generator().manual_seed(1)
    layer = network.Convolutions(
        2, 6, 6, branches=True, gain=1.0, random=draws, identity=True
    ).double()
    values = torch.randn(1, 6, 11, 13, generator=draws).double()
    merged = layer.merged()
    for k in range(2):
        wanted = correlated(values, layer.plain[k]) + values[:, :, 1:-1, 1:-1]
        wide = correlated(values, layer.into[k][:, :, None, None])
        wanted = wanted + correlated(wide, layer.out[k])
        for edge in range(3):
            mixed = correlated(values, layer.edges[k, edge][:, :, None, None])
            each = [
                float(layer.strength[k, edge, c].detach())
                * correlated(mixed[:, c : c + 1], MASKS[edge][None, None])
                for c in range(6)
            ]
            wanted = wanted + torch.cat(each, 1)
        # Float64 both ways; the masks are float32 with whole values.
        assert torch.allclose(correlated(values, merged[k]), wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("branches", [False, True])
def test_the_model_computes_what_was_trained(random, branches):
    net = network.Network(3, 2, 8, side=5, branches=branches, seed=4)
    with torch.no_grad():
        net.skip += 0.01
    model = net.model({})
    codes = random.integers(0, 256, (20, 30)).astype(np.float32)
    plane = torch.from_numpy(np.pad(codes, 4, mode="edge") / 128 - 1)[None, None]
    with torch.no_grad():
        wanted = torch.pixel_shuffle(net(plane), 3)[0, 0].numpy() * 128
    # Weights are rounded to 11 bits: 2⁻¹² of each product, of which |r| < 0.5 holds.
    np.testing.assert_allclose(reference.residual(codes, model), wanted, rtol=0, atol=0.1)


def test_patches_are_those_of_the_pictures(random):
    highs = [random.integers(0, 256, shape, dtype=np.uint8) for shape in ((40, 52), (47, 38))]
    lows = [random.integers(0, 256, (h.shape[0] // 3, h.shape[1] // 3), np.uint8) for h in highs]
    items = [pack.Item("", high, {3: low}) for high, low in zip(highs, lows, strict=True)]
    found = data.pairs(items, 3, (1.0, 0.8))
    assert len(found) == 2  # coded pictures are not shrunk again
    patches = data.Patches(found, 3, 5, 2, torch.device("cpu"))
    places = patches.places(np.random.default_rng(1), 64)
    given, wanted = patches.cut(torch.from_numpy(places))
    assert given.shape == (64, 1, 9, 9) and wanted.shape == (64, 9, 5, 5)
    seen = set()
    for place, one, detail in zip(places, given[:, 0].numpy(), wanted, strict=True):
        turn = int(place[4])
        large = torch.pixel_shuffle(detail[None], 3)[0, 0].numpy()
        small, large = (_unturned(plane, turn) for plane in (one, large))
        at = [
            (n, y, x)
            for n, p in enumerate(found)
            for y in range(p.low.shape[0] - 4)
            for x in range(p.low.shape[1] - 4)
            if np.array_equal(np.pad(p.low, 2, "edge")[y : y + 9, x : x + 9], small)
        ]
        assert len(at) == 1
        n, y, x = at[0]
        inner = (slice(3 * y, 3 * (y + 5)), slice(3 * x, 3 * (x + 5)))
        # Stored in half precision, in units of 128 codes: |detail| < 2.
        np.testing.assert_allclose(
            large, ((found[n].truth - found[n].mid) / 128)[inner], rtol=0, atol=2**-10
        )
        seen.add((n, turn))
    assert len(seen) > 12


def test_groups_of_pictures_are_equally_likely(random):
    """Four small pictures of one group, two large ones of the other, in turn."""
    sides = ((20, 0), (60, 1), (20, 0), (20, 0), (64, 1), (20, 0), (9, 0))
    items = [
        pack.Item(str(n), np.full((side, side), 10 * n, np.uint8), group=f"group {group}")
        for n, (side, group) in enumerate(sides)
    ]
    patches = data.Patches(data.pairs(items, 2, (1.0,)), 2, 8, 1, torch.device("cpu"))
    given, _ = patches.cut(torch.from_numpy(patches.places(random, 4000)))
    codes, counts = np.unique(np.rint((given[:, 0, 0, 0].numpy() + 1) * 128), return_counts=True)
    assert list(codes) == [0, 10, 20, 30, 40, 50]  # the last is too small
    few = counts[[0, 2, 3, 5]]
    # Five standard deviations of binomial counts.
    assert abs(few.sum() - 2000) < 5 * 1000**0.5 and abs(few - 500).max() < 5 * 440**0.5


def _unturned(plane, turn):
    plane = plane[:: -1 if turn & 1 else 1, :: -1 if turn & 2 else 1]
    return plane.T if turn & 4 else plane


@pytest.fixture
def drawn(tmp_path):
    random = np.random.default_rng(5)
    y, x = np.mgrid[:64, :72]
    planes = [
        np.clip(128 + 90 * np.sin(a * x + b * y) + random.normal(0, 4, x.shape), 0, 255)
        for a, b in random.uniform(0.1, 0.8, (4, 2))
    ]
    items = [
        pack.Item(f"{n}", plane.astype(np.uint8), held_out=n == 3, group="waves")
        for n, plane in enumerate(planes)
    ]
    pack.write(tmp_path / "drawn.pack", items, {"source": "clean", "attribution": "nobody"})
    return tmp_path / "drawn.pack"


def trained(folder, drawn, *more):
    settings = ("chunk=2", "batch=2", "patch=8", "sizes=[1.0]", "precision=float32", "rising=2")
    tasks = (f"fast-x2=2x8@{drawn}", f"tiny-x3=1x4p@{drawn}")
    arguments = ["train", str(folder), "--device", "cpu", "--test", str(drawn)]
    for name, values in (("--set", settings), ("--task", tasks)):
        for value in values:
            arguments += [name, value]
    assert main([*arguments, *more]) == 0
    return [read(folder / f"{name}.safetensors") for name in ("fast-x2", "tiny-x3")]


def test_a_run_that_goes_on_has_the_same_numbers(tmp_path, drawn, capsys, monkeypatch):
    once = trained(tmp_path / "once", drawn, "--steps", "8")
    chunk = run.Run._chunk

    def killed(self, number, steps):
        if number == 3:
            raise KeyboardInterrupt
        chunk(self, number, steps)

    with monkeypatch.context() as patched:
        patched.setattr(run.Run, "_chunk", killed)
        patched.setattr(run, "KEEP", -1.0)
        with pytest.raises(KeyboardInterrupt):
            trained(tmp_path / "twice", drawn, "--steps", "8")
    capsys.readouterr()
    twice = trained(tmp_path / "twice", drawn)  # the checkpoint knows the number of steps
    assert '"event": "continued"' in capsys.readouterr().out
    for a, b in zip(once, twice, strict=True):
        assert a.digest == b.digest
    facts = twice[0].about
    assert facts["steps"] == "8 of 8" and facts["attribution"] == "nobody"
    assert json.loads(facts["task"])["channels"] == 8
    assert json.loads(facts["held_out_psnr"]) == json.loads(once[0].about["held_out_psnr"])
    assert all(np.isfinite(getattr(once[0], name)).all() for name in TENSORS)
    with pytest.raises(AssertionError):
        trained(tmp_path / "once", drawn, "--set", "seed=1")
    assert "other tasks, settings or data" in capsys.readouterr().err


def test_a_network_begins_with_the_weights_of_another(tmp_path, drawn, capsys):
    first, _ = trained(tmp_path / "first", drawn, "--steps", "4")
    checkpoint = tmp_path / "first" / CHECKPOINT
    arguments = [
        "train",
        str(tmp_path / "next"),
        "--device",
        "cpu",
        "--steps",
        "2",
        "--minutes",
        "0",
    ]
    arguments += ["--set", "patch=8", "--set", "precision=float32", "--task"]
    assert main([*arguments, f"film-x2=2x8@{drawn},{checkpoint}#fast-x2"]) == 0
    assert read(tmp_path / "next" / "film-x2.safetensors").digest == first.digest
    capsys.readouterr()
    assert main([*arguments, f"soft-x2=2x8@{drawn},{checkpoint}#slow-x2"]) == 2
    assert "expected CHECKPOINT#NAME" in capsys.readouterr().err


def test_a_longer_network_begins_as_the_shorter_one(tmp_path, drawn, capsys):
    first, _ = trained(tmp_path / "first", drawn, "--steps", "4")
    start = f"{tmp_path / 'first' / CHECKPOINT}#fast-x2"
    arguments = ["train", str(tmp_path / "next"), "--device", "cpu", "--steps", "2", "--set"]
    arguments += ["patch=8", "--set", "precision=float32", "--minutes", "0", "--task"]
    assert main([*arguments, f"deep-x2=4x8@{drawn},{start}"]) == 0
    deep = read(tmp_path / "next" / "deep-x2.safetensors")
    assert (deep.layers, first.layers) == (4, 2)
    codes = np.random.default_rng(0).integers(0, 256, (20, 30)).astype(np.float32)
    np.testing.assert_array_equal(*(reference.residual(codes, m) for m in (first, deep)))
    for other in ("deep-x3=4x8", "short-x2=1x8", "wide-x2=2x16", "plain-x2=3x8p"):
        capsys.readouterr()
        assert main([*arguments, f"{other}@{drawn},{start}"]) == 2
        assert "fast-x2 has another shape" in capsys.readouterr().err


def test_a_run_without_time_writes_what_there_is(tmp_path, drawn):
    first, _ = trained(tmp_path, drawn, "--steps", "8", "--minutes", "0")
    assert first.about["steps"] == "0 of 8"


@pytest.mark.slow
def test_steps_are_as_many_as_fit(tmp_path, drawn):
    trained(tmp_path, drawn, "--minutes", "0.4", "--set", "chunk=20")
    events = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    (steps,) = (event["steps"] for event in events if event["event"] == "steps")
    assert steps >= 20 and steps % 20 == 0
    assert [e for e in events if e["event"] == "progress"][-1]["step"] == steps


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no GPU")
@pytest.mark.parametrize("precision", ["bf16", "fp16", "tf32"])
def test_a_gpu_repeats_itself(tmp_path, drawn, precision):
    on_gpu = ("--device", "cuda", "--set", f"precision={precision}", "--steps", "60")
    a, b = (trained(tmp_path / name, drawn, *on_gpu) for name in "ab")
    for one, other in zip(a, b, strict=True):
        assert one.digest == other.digest
    (cpu, _) = trained(tmp_path / "cpu", drawn, "--steps", "60")
    # Not the same sums; but both have learnt the same picture from the same patches.
    gains = [json.loads(m.about["held_out_psnr"])[-1]["all"] for m in (a[0], cpu)]
    assert gains[0] == pytest.approx(gains[1], abs=0.2)
