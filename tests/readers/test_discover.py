"""Finding runs: folders, patterns, standard input, parts and copies of one run."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from triage.options import Limits, Options
from triage.readers import _discover
from triage.readers._discover import discover, may_be_input
from triage.readers._groups import group, is_eval_file, newest_states, run_folder
from triage.readers._refused import FOLDERS
from triage.readers._walk import Walk, files_below, natural


def names_below(root: Path, most: int = 1000) -> tuple[list[str], Walk]:
    walk = Walk()
    return [path.relative_to(root).as_posix() for path in files_below(root, most, walk)], walk


def touch(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")


# ── walking ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_walk_offers_what_could_be_a_log_in_natural_order(tmp_path: Path) -> None:
    touch(tmp_path, "run10/m.csv", "run9/m.csv", "a.py", "model.safetensors", ".git/x.csv", "__pycache__/x.csv")
    touch(tmp_path, "config.json", "events.out.tfevents.1.host.py", ".hidden.csv", "log")
    found, walk = names_below(tmp_path)
    assert found == ["events.out.tfevents.1.host.py", "log", "run9/m.csv", "run10/m.csv"]
    assert walk.looked == 4


def test_a_walk_ends(tmp_path: Path) -> None:
    touch(tmp_path, *(f"{i}.csv" for i in range(20)))
    found, walk = names_below(tmp_path, most=7)
    assert len(found) == 7
    assert walk.is_cut


def test_links_out_of_the_folder_and_loops_are_not_followed(tmp_path: Path) -> None:
    touch(tmp_path, "in/a.csv", "out/b.csv")
    (tmp_path / "in/loop").symlink_to(tmp_path / "in")
    (tmp_path / "in/away").symlink_to(tmp_path / "out")
    (tmp_path / "in/again.csv").symlink_to(tmp_path / "in/a.csv")
    (tmp_path / "in/gone").symlink_to(tmp_path / "in/nothing")
    found, walk = names_below(tmp_path / "in")
    assert found == ["a.csv"]
    assert walk.outside == 1


def test_a_folder_that_cannot_be_opened_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(tmp_path, "a/m.csv", "b/m.csv")
    real = os.scandir

    def scandir(path: Path):
        if Path(path).name == "a":
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found, walk = names_below(tmp_path)
    assert found == ["b/m.csv"]
    assert [path.name for path in walk.not_permitted] == ["a"]


def test_folders_that_are_a_log_as_a_whole(tmp_path: Path) -> None:
    touch(tmp_path, ".aim/meta/x", ".aim/seqs/x", "mlruns/0/abc/meta.yaml", "mlruns/0/abc/metrics/loss", "m.csv")
    found, walk = names_below(tmp_path)
    assert found == ["m.csv"]
    assert [mark.name for _, mark in walk.marked] == ["aim"]
    assert [path.name for path in walk.runs] == ["abc"]
    assert {mark.name for mark in FOLDERS} == {"aim"}


def test_natural_order() -> None:
    assert sorted(["c-100", "c-20", "c-3", "b"], key=natural) == ["b", "c-3", "c-20", "c-100"]


# ── grouping ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def grouped(*names: str) -> list[tuple[tuple[str, ...], tuple[int | None, ...]]]:
    return [(tuple(str(p) for p in g.paths), g.ranks) for g in group([Path(name) for name in names])]


def test_one_file_a_rank_is_one_run() -> None:
    assert grouped("a/metrics_rank10.jsonl", *(f"a/metrics_rank{i}.jsonl.gz" for i in range(10))) == [
        ((*(f"a/metrics_rank{i}.jsonl.gz" for i in range(10)), "a/metrics_rank10.jsonl"), tuple(range(11)))
    ]
    assert len(grouped("a/rank0.csv", "b/rank0.csv", "a/rank1.csv", "b/rank1.csv")) == 2
    assert grouped("a/rank0/m.csv", "a/rank1/m.csv")[0][1] == (0, 1)


def test_ranks_of_adapters_are_runs() -> None:
    assert grouped("rank8.csv", "rank16.csv", "rank32.csv") == [
        (("rank8.csv",), (None,)),
        (("rank16.csv",), (None,)),
        (("rank32.csv",), (None,)),
    ]
    assert grouped("rank0.csv") == [(("rank0.csv",), (None,))]


def test_downloads_of_one_run() -> None:
    assert grouped("run-a-tag-loss.csv", "run-a-tag-loss.json", "run-a-tag-lr.json", "run-b-tag-loss.csv") == [
        (("run-a-tag-loss.csv", "run-a-tag-lr.json"), (None, None)),
        (("run-b-tag-loss.csv",), (None,)),
    ]


def test_event_files_below_one_another_are_one_run() -> None:
    event = "events.out.tfevents"
    files = (f"r/{event}.1.h.1.0", f"r/{event}.2.h.1.0", f"r/loss_train/{event}.1.h.1.1")
    found = grouped(*files, f"s/{event}.1", "s/m.csv")
    assert [paths for paths, _ in found] == [
        files,
        (f"s/{event}.1",),
        ("s/m.csv",),
    ]
    both = group([Path(f"tb/train/{event}.1"), Path(f"tb/validation/{event}.1")])
    assert [(len(g.paths), g.top) for g in both] == [(2, Path("tb"))]


def test_a_resumed_wandb_run_is_one_run() -> None:
    first, second = "w/offline-run-20260101_000000-ab1/run-ab1.wandb", "w/offline-run-20260102_000000-ab1/run-ab1.wandb"
    other = "w/offline-run-20260102_000000-cd2/run-cd2.wandb"
    assert [paths for paths, _ in grouped(second, other, first)] == [(first, second), (other,)]


def test_only_the_newest_checkpoint_is_read() -> None:
    paths = [Path(f"o/checkpoint-{i}/trainer_state.json") for i in (500, 1500, 1000)]
    assert newest_states([*paths, Path("o/trainer_state.json"), Path("p/checkpoint-2/trainer_state.json")]) == [
        paths[1],
        Path("o/trainer_state.json"),
        Path("p/checkpoint-2/trainer_state.json"),
    ]


def test_folders_of_frameworks_belong_to_the_run_above() -> None:
    root = Path("x")
    assert run_folder(Path("x/run1/checkpoint-20/trainer_state.json"), root) == Path("x/run1")
    assert run_folder(Path("x/run1/runs/Nov30_18-05-15_vm/events.1"), root) == Path("x/run1")
    assert run_folder(Path("x/m.csv"), root) == root
    assert is_eval_file(Path("x/val.csv"))
    assert is_eval_file(Path("x/eval/metrics.jsonl"))
    assert not is_eval_file(Path("test_runs/metrics.jsonl"))


# ── paths and standard input ─────────────────────────────────────────────────────────────────────────────────────────


def find(*paths: str, stdin: io.BytesIO | None = None, options: Options | None = None) -> _discover.Found:
    from triage.readers import sniff

    return discover(paths, options or Options(), stdin, sniff)


CSV = "step,loss\n0,2.5\n1,2.4\n"


def test_a_pattern_and_a_name_that_looks_like_one(tmp_path: Path) -> None:
    for name in ("b[1].csv", "a1.csv", "a10.csv", "a9.csv"):
        (tmp_path / name).write_text(CSV)
    assert [c.name for c in find(str(tmp_path / "a*.csv")).candidates] == ["a1.csv", "a9.csv", "a10.csv"]
    assert [c.name for c in find(str(tmp_path / "b[1].csv")).candidates] == ["b[1].csv"]
    missing = find(str(tmp_path / "z*.csv")).candidates
    assert [c.name for c in missing] == ["z*.csv"], "reading it will say that it is not there"


def test_every_file_once(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(CSV)
    (tmp_path / "l.csv").symlink_to(tmp_path / "m.csv")
    assert len(find(str(tmp_path / "m.csv"), str(tmp_path / "." / "m.csv"), str(tmp_path / "l.csv")).candidates) == 1


def test_a_folder_with_runs_and_other_files(tmp_path: Path) -> None:
    touch(tmp_path, "notes.txt", "empty/x")
    (tmp_path / "a").mkdir()
    (tmp_path / "a/m.csv").write_text(CSV)
    (tmp_path / "b.csv").write_text(CSV)
    (tmp_path / "c.csv").touch()
    found = find(str(tmp_path))
    assert [c.name for c in found.candidates] == ["b.csv", "a"] or [c.name for c in found.candidates] == [
        tmp_path.name,
        "a",
    ]
    assert found.is_search
    assert found.faults == ()


def test_a_folder_without_a_log(tmp_path: Path) -> None:
    touch(tmp_path, "notes.txt")
    found = find(str(tmp_path))
    assert found.candidates == ()
    assert "1 files looked at" in found.faults[0][1].message


def test_limits_of_a_search_are_told(tmp_path: Path) -> None:
    for i in range(5):
        (tmp_path / f"{i}.csv").write_text(CSV)
    found = find(str(tmp_path), options=Options(limits=Limits(files=3)))
    assert len(found.candidates) == 3
    assert [n.id for n in found.candidates[0].notices] == ["files-over-limit"]


def test_without_a_path_the_current_folder_is_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m.csv").write_text(CSV)
    monkeypatch.chdir(tmp_path)
    with Path(os.devnull).open("rb") as nothing:
        found = find(stdin=nothing)
    assert [c.name for c in found.candidates] == [tmp_path.name]
    assert found.is_search


def test_standard_input(tmp_path: Path) -> None:
    assert [c.name for c in find(stdin=io.BytesIO(CSV.encode())).candidates] == ["stdin"]
    assert find(stdin=io.BytesIO(b"")).faults[0][1].message == "standard input is empty"
    assert find("-", stdin=io.BytesIO(CSV.encode())).candidates[0].parts[0].shown == "-"
    closed = io.BytesIO()
    closed.close()
    assert find("-", stdin=closed).faults[0][1].message == "standard input is closed"
    with Path(os.devnull).open("rb") as nothing:
        assert not may_be_input(nothing)
        assert find("-", stdin=nothing).faults[0][1].message == "standard input is empty"
    (tmp_path / "m.csv").write_text(CSV)
    with (tmp_path / "m.csv").open("rb") as file:
        assert may_be_input(file)


def test_a_silent_pipe_does_not_hold_the_run_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_discover, "SILENCE_S", 0.05)
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stdin, os.fdopen(writing, "wb") as pipe:
        assert find(stdin=stdin).faults[0][1].message == "nothing came on standard input"
        pipe.write(CSV.encode())
        pipe.close()
        assert [c.name for c in find(stdin=stdin).candidates] == ["stdin"]
