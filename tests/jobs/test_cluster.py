"""The executor of a cluster, by a module that stands for Ray; test_cluster_nodes.py has Ray."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import NoneType

import numpy as np
import pytest
from PIL import Image

from snellen.errors import DeviceError, IncompleteError, InputError, SnellenError
from snellen.files.existing import ExistsError
from snellen.jobs import DeblurJob, MiaSettings, UpscaleJob, run_several, write_plan
from snellen.jobs.calls.job_ticket import FileTicket
from snellen.jobs.calls.pair_scores import score_pairs
from snellen.jobs.events import Silent
from snellen.jobs.sharing import cluster as cluster_module
from snellen.jobs.sharing import cluster_task
from snellen.jobs.sharing import tickets as tickets_module
from snellen.jobs.sharing.cluster import Cluster
from snellen.jobs.sharing.tickets import SegmentTicket
from snellen.video.progress import Meter
from support.cli import run as command
from support.fake_ray import fake_ray
from support.heard import Heard
from support.tickets import Doing


@pytest.fixture
def install(monkeypatch):
    """Return what puts a fake Ray with some nodes in the place of the real one, connected."""

    def put(*nodes):
        ray = fake_ray(*nodes)
        ray.connected = True
        monkeypatch.setitem(sys.modules, "ray", ray)
        monkeypatch.setitem(sys.modules, "ray.exceptions", ray.exceptions)
        return ray

    monkeypatch.setattr(cluster_task, "_workers", {})
    monkeypatch.setattr(os, "environ", dict(os.environ))
    return put


def tickets(tmp_path, *plans):
    for number, plan in enumerate(plans):
        (tmp_path / str(number)).write_text(plan)
        yield Doing(number, tmp_path / str(number))


def test_tickets_are_run_and_tried_again(install, tmp_path):
    ray = install({"CPU": 4.0}, {"CPU": 2.0})
    counts = []
    meter = Meter(4, lambda progress: counts.append(progress.frames))
    with Cluster("local", "auto", None, Silent(), meter) as cluster:
        assert cluster.needs == "2 CPUs"  # those of the smallest node
        assert (cluster.room, cluster.slots) == (3, 6)
        ray.machines.append({"Alive": True, "Resources": {"CPU": 3.0}})
        ray.machines[0]["Alive"] = False
        assert cluster.slots == 4
        for one in tickets(tmp_path, "", "memory", "device device", ""):
            cluster.submit(one)
        ray.crashes = ["a node"]
        found = sorted((done.key, done.result[0]) for done in (cluster.wait() for _ in range(4)))
    assert found == [(n, "cpu") for n in range(4)]
    assert counts[-1] == 4
    assert ("remote", {"name": "snellen", "num_cpus": 2, "num_gpus": 0, "max_retries": 2,
                       "retry_exceptions": True}) in ray.log  # fmt: skip
    assert ray.connected  # the connection was there before


@pytest.mark.parametrize(
    ("plan", "error", "words"),
    [("device device device", DeviceError, "segment 0: the GPU is lost"),
     ("input", InputError, "on .*: no such film"),
     ("crash", SnellenError, "segment 0: RayError: the node died")],
)  # fmt: skip
def test_what_fails_for_good_ends_the_work(install, tmp_path, plan, error, words):
    ray = install({"CPU": 1.0})
    with pytest.raises(error, match=words), Cluster("local", "cpu", 1, Silent()) as cluster:
        for one in tickets(tmp_path, plan, ""):
            cluster.submit(one)
        ready = {cluster_module._OFTEN: 1}
        ray.wait = lambda references, num_returns, timeout: (
            references[: ready.get(timeout, 0)], references[ready.get(timeout, 0) :],
        )  # fmt: skip
        ray.crashes = ["the node died"] * 3 if plan == "crash" else []
        cluster.wait()
    assert ("cancel", False) in ray.log  # the second one, which is not there any more
    assert ray.log[-1] == ("cancel", True)


def test_a_connection_of_our_own_is_ended_with_all_that_runs(install, tmp_path):
    """Ray may abort a process that cancels a task which ends at that moment."""
    ray = install({"CPU": 1.0})
    ray.connected = False
    with pytest.raises(KeyboardInterrupt), Cluster("local", "cpu", 1, Silent()) as cluster:
        for one in tickets(tmp_path, "", ""):
            cluster.submit(one)
        raise KeyboardInterrupt
    assert ray.log[-1] == ("shutdown",)
    assert "cancel" not in [one[0] for one in ray.log]


def test_what_hangs_is_begun_once_more_where_a_node_has_room(install, tmp_path, monkeypatch):
    ray, heard, clock, counts = install({"CPU": 3.0}), Heard(), [0.0], []
    monkeypatch.setattr(cluster_module, "now", lambda: clock[0])
    meter = Meter(None, lambda progress: counts.append(progress.frames))
    with Cluster("local", "cpu", 1, heard, meter) as cluster:
        for _ in range(tickets_module.KNOWN):
            cluster._times.add(1.0)
        for one in tickets(tmp_path, "", ""):
            cluster.submit(one)
        first = list(cluster._works)

        def wait(references, num_returns, timeout):
            clock[0] += tickets_module.LEAST  # the first one hangs
            return [one for one in references if one is not first[0]][:1], []

        ray.wait = wait
        assert [cluster.wait().key for _ in range(2)] == [1, 0]
        assert cluster._works == {} and cluster._lost == first[:1]
        ray.wait = lambda references, num_returns, timeout: ([], references)
    assert counts[-1] == 2
    assert heard.notices == ["segment 0 takes much longer than others: it is begun once more"]
    assert ray.log.count(("cancel", False)) == 1  # at the end


def test_a_first_try_takes_room_until_it_ends(install, tmp_path, monkeypatch):
    ray, clock = install({"CPU": 2.0}), [0.0]
    monkeypatch.setattr(cluster_module, "now", lambda: clock[0])
    with Cluster("local", "cpu", 1, Silent()) as cluster:
        for _ in range(tickets_module.KNOWN):
            cluster._times.add(1.0)
        for one in tickets(tmp_path, "", ""):
            cluster.submit(one)
        first, second = cluster._works
        cluster._note_beginnings()
        cluster._lose(cluster._works[first])
        clock[0] = tickets_module.LEAST
        ray.wait = lambda references, num_returns, timeout: ([], references)
        cluster._note_beginnings()
        cluster._submit_again()
        assert not cluster._works[second].is_doubled
        ray.wait = lambda references, num_returns, timeout: (references, [])
        cluster._note_beginnings()
        cluster._submit_again()
        assert cluster._works[second].is_doubled
        assert cluster._lost == []


def test_some_tickets_are_never_begun_twice(install, tmp_path):
    install({"CPU": 2.0})
    with Cluster("local", "cpu", 1, Silent()) as cluster:
        for _ in range(tickets_module.KNOWN):
            cluster._times.add(1.0)
        for is_shipped in (False, True):
            job = UpscaleJob(source=tmp_path / "a.png", target=tmp_path / "b.png")
            cluster.submit(FileTicket(0, job, is_shipped=is_shipped, together=1))
            (work,) = cluster._works.values()
            work.began = -1000.0
            cluster._submit_again()
            assert len(cluster._works) == (2 if is_shipped else 1)
            cluster._works.clear()


def test_gpus_and_nodes_that_are_not_there_yet(install, tmp_path):
    ray, heard = install({"CPU": 8.0, "GPU": 2.0}, {"CPU": 9.0, "GPU": 1.0}, {"CPU": 1.0}), Heard()
    with Cluster("local", "auto", None, heard) as cluster:
        assert cluster.needs == "4 CPUs and a GPU"
        assert cluster.room == 3
        gone, ray.machines[:] = ray.machines[:], []
        assert cluster.slots == 2
        cluster.submit(next(tickets(tmp_path, "")))

        def wait(references, num_returns, timeout):
            if ray.machines:
                return references, []
            ray.machines[:] = gone if len(heard.warnings) == 1 else []
            return [], references

        ray.wait = wait
        assert cluster.wait().key == 0
    assert heard.warnings[0] == "no node has 4 CPUs and a GPU: waiting for one"
    assert "the CPU is used" in heard.warnings[1]  # where there is no GPU, whatever Ray was told


def test_other_versions_are_refused(install, tmp_path, monkeypatch):
    install({"CPU": 1.0})
    with Cluster("local", "cpu", 1, Silent()) as cluster:
        cluster.submit(next(tickets(tmp_path, "")))
        monkeypatch.setattr(cluster_task, "PROGRAM", "Snellen 9")
        with pytest.raises(InputError, match=r"has Snellen 9, and this machine Snellen .* PyAV"):
            cluster.wait()


def test_relative_names_where_a_node_has_not_the_folder(install, tmp_path, monkeypatch):
    """A file of the same name in another folder must not be taken for the one that was meant."""
    monkeypatch.chdir(tmp_path)
    Image.fromarray(np.zeros((8, 8), np.uint8)).save("a.png")
    order = cluster_task.Order("cpu", 1, str(tmp_path / "none"))
    job = UpscaleJob(source=Path("a.png"), target=Path("b.png"), device="cpu")
    segment = SegmentTicket(1, job, is_shipped=True, film=None)
    for ticket in (FileTicket(0, job, is_shipped=True, together=1), segment):
        found = cluster_task.run_ticket(ticket, order)
        assert isinstance(found.error, InputError)
        assert f": a.png is meant from the folder {tmp_path}/none, which" in str(found.error)
    whole = UpscaleJob(source=tmp_path / "a.png", target=Path("b.png"), device="cpu")
    found = cluster_task.run_ticket(FileTicket(0, whole, is_shipped=True, together=1), order)
    assert found.error is None
    assert found.done.error is None


def test_connections(install, monkeypatch, tmp_path):
    ray = install({"CPU": 1.0})
    ray.connected = False
    with Cluster("local", "cpu", 1, Silent()):
        assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
    options = ray.log[0][2]
    assert ray.log[0][1] == "local"
    assert options["include_dashboard"] is options["log_to_driver"] is False
    assert ray.log[-1] == ("shutdown",)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    with pytest.raises(InputError, match="none was started on this machine"):
        Cluster("auto", "cpu", 1, Silent())
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray/ray_current_cluster").write_text("127.0.0.1:1")
    for address in ("auto", "127.0.0.1:1", "ray://127.0.0.1:1"):
        with pytest.raises(InputError, match="no cluster of Ray can be used") as caught:
            Cluster(address, "cpu", 1, Silent())
        assert caught.value.exit_code == 2
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"needs Ray.*snellen\[cluster\]"):
        Cluster("local", "cpu", 1, Silent())


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_cluster_that_cannot_start_is_left(install, monkeypatch, tmp_path, error):
    ray = install()
    ray.connected = False

    def init(address, **options):
        raise error("no room")

    ray.init = init
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    with pytest.raises(InputError if error is OSError else error) as caught:
        Cluster("local", "cpu", 1, Silent())
    assert ray.log[-1] == ("shutdown",)
    if error is OSError:
        assert str(caught.value) == (
            "cluster=local: Ray could not start on this machine: no room; give workers in place "
            f"of cluster, which need no Ray, or see what it has written in {tmp_path}/ray/"
            "session_latest/logs"
        )


@pytest.mark.cases(4)
@pytest.mark.parametrize("address", ["", "host", "host:", ":1", "host:99999", "http://a:1", 3])
def test_addresses_that_are_none(tmp_path, address):
    with pytest.raises(InputError, match="cluster"):
        UpscaleJob(source=tmp_path / "a.mkv", target=tmp_path / "b.mkv", cluster=address)


@pytest.mark.parametrize("scheme", ["http", "ray"])
def test_an_address_shows_no_password(tmp_path, scheme):
    address = f"{scheme}://me:secret@host:10001"
    with pytest.raises(InputError, match=f"{scheme}://host:10001") as caught:
        UpscaleJob(source=tmp_path / "a.mkv", target=tmp_path / "b.mkv", cluster=address)
    assert "secret" not in str(caught.value)


def test_what_does_not_go_with_a_cluster(install, tmp_path):
    names = {"source": tmp_path / "a.mkv", "target": tmp_path / "b.mkv", "cluster": "10.0.0.1:6379"}
    with pytest.raises(InputError, match="workers"):
        DeblurJob(**names, workers=2)
    with pytest.raises(InputError, match="are made by commands of your own; expected one of them"):
        write_plan(UpscaleJob(**names), tmp_path / "plan")
    install({"CPU": 1.0})
    with pytest.raises(InputError, match="Ray chooses the GPUs"):
        Cluster("local", "cuda:1", 1, Silent())
    assert list(score_pairs([], cluster="local")) == []


def test_outputs_of_files_are_written_by_the_driver(install, tmp_path):
    ray = install({"CPU": 2.0})
    draw = np.random.default_rng(5)
    for name in "abc":
        samples = draw.integers(0, 256, (24, 20), np.uint8)
        Image.fromarray(samples).save(tmp_path / f"{name}.png")
    Image.open(tmp_path / "b.png").resize((160, 128)).save(tmp_path / "d.jpg")
    data = (tmp_path / "d.jpg").read_bytes()
    (tmp_path / "d.jpg").write_bytes(data[: len(data) * 2 // 3])
    (tmp_path / "b.png").write_text("no image")
    mia = MiaSettings(psf_size=3, iterations=2, prior=None)

    def jobs(folder, cluster):
        return [
            DeblurJob(
                source=tmp_path / name, target=tmp_path / folder / name, mia=mia, device="cpu",
                psf_out=tmp_path / folder / "psf" / f"{name}.npy", cluster=cluster, threads=1,
            ) for name in ("a.png", "b.png", "c.png", "d.jpg")
        ]  # fmt: skip

    (tmp_path / "far").mkdir()
    (tmp_path / "far/c.png").write_text("is there")
    here, seen = run_several(jobs("here", None)), []
    far = run_several(jobs("far", "local"), done=seen.append)
    assert far == seen
    assert [one[0] for one in ray.log].count("remote") == 1
    assert [type(one.error) for one in far] == [
        NoneType, InputError, ExistsError, IncompleteError,
    ]  # fmt: skip
    assert str(far[1].error) == str(here[1].error)
    assert str(far[2].error).startswith(f"{tmp_path / 'far/c.png'} exists")
    assert str(far[3].error) == str(here[3].error).replace("/here/", "/far/")
    for name in ("a.png", "d.jpg", "psf/a.png.npy", "psf/d.jpg.npy"):
        assert (tmp_path / "far" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()
    assert (tmp_path / "far/c.png").read_text() == "is there"
    assert far[0].result.target == tmp_path / "far/a.png"
    assert far[0].result.psf_file == tmp_path / "far/psf/a.png.npy"
    assert sorted(one.name for one in (tmp_path / "far/psf").iterdir()) == [
        "a.png.npy", "d.jpg.npy",
    ]  # fmt: skip


def test_a_cluster_that_cannot_be_used_is_said_once(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "ray", None)
    for name in "ab":
        Image.fromarray(np.zeros((8, 8), np.uint8)).save(tmp_path / f"{name}.png")
    assert command("upscale", tmp_path, "--cluster", "local", "--device", "cpu") == 2
    err = capsys.readouterr().err
    assert err.count("error: ") == 1
    assert "needs Ray" in err
