"""Limits from a file, and how many submissions fit into a machine's memory."""

from pathlib import Path

import pytest

from grader import grade_class as grader_run
from grader.base.errors import GraderError
from grader.cli import doctor
from grader.sandbox import TIERS, Limits, SandboxUnavailable
from grader.sandbox.limits import RANGES, affordable_jobs, available_memory_mib, load_limits

MIB = 1 << 20


@pytest.fixture
def limits_file(tmp_path):
    def write(text: str) -> Path:
        path = tmp_path / "limits.toml"
        path.write_text(text, "utf-8")
        return path

    return write


def test_a_file_changes_what_it_names(limits_file):
    path = limits_file("total_seconds = 30\nmemory_mib = 1024 # small machines\n")
    assert load_limits(path) == Limits(total_seconds=30.0, memory_mib=1024)
    assert load_limits(path).rlimits()["AS"] == 1024 * MIB
    assert load_limits(None) == load_limits(limits_file("")) == Limits()


def test_the_defaults_are_within_the_ranges():
    assert set(RANGES) == set(vars(Limits()))
    for name, (least, most) in RANGES.items():
        assert least <= getattr(Limits(), name) <= most


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("memory_mib = 3", r"memory_mib is 3; it must be a whole number from 512 to 1048576"),
        ("memory_mib = 1e30", r"memory_mib is 1e\+30; it must be a whole number"),
        ("cpu_seconds = 1.5", r"cpu_seconds is 1\.5; it must be a whole number from 1 to 86400"),
        ("processes = true", r"processes is True; it must be a whole number"),
        ("call_seconds = 'long'", r"call_seconds is 'long'; it must be a number from 0\.1"),
        ("call_seconds = inf", r"call_seconds is inf; it must be a number from 0\.1"),
        ("call_seconds = nan", r"call_seconds is nan; it must be a number from 0\.1"),
        ("memory = 5", r'there is no limit called "memory", only call_seconds, idle_seconds'),
        ("memory_mib 5", r"limits\.toml are not valid TOML: .*line 1"),
        ("processes = 0\nframe_mib = 0", r"processes is 0; .*; frame_mib is 0; it must be"),
    ],
)
def test_a_wrong_file_is_refused_in_a_sentence(limits_file, text, told):
    with pytest.raises(GraderError, match=told):
        load_limits(limits_file(text))


def test_an_absent_file_is_refused_in_a_sentence(tmp_path):
    with pytest.raises(GraderError, match=r"none\.toml cannot be read: No such file"):
        load_limits(tmp_path / "none.toml")
    with pytest.raises(GraderError, match=r"cannot be read: Is a directory"):
        load_limits(tmp_path)


def test_memory_decides_how_many_fit():
    limits = Limits(memory_mib=2048)
    assert affordable_jobs(limits, 16 * 1024) == 6
    assert affordable_jobs(limits, 100) == 1


def test_a_containers_memory_counts(tmp_path):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable: 8388608 kB\n")
    assert available_memory_mib(tmp_path) == 8192
    group = tmp_path / "sys" / "fs" / "cgroup"
    group.mkdir(parents=True)
    (group / "memory.max").write_text("max\n")
    (group / "memory.current").write_text(f"{512 * MIB}\n")
    assert available_memory_mib(tmp_path) == 8192
    (group / "memory.max").write_text(f"{2048 * MIB}\n")
    assert available_memory_mib(tmp_path) == 1536


def test_fewer_are_graded_at_once_than_would_fill_the_memory(monkeypatch, capsys):
    monkeypatch.setattr(grader_run, "affordable_jobs", lambda limits: 3)
    monkeypatch.setattr(grader_run, "usable_cores", lambda: 8)
    assert grader_run._jobs(None, Limits(), 2) == 2
    assert not capsys.readouterr().err
    assert grader_run._jobs(None, Limits(), 100) == 3
    assert "3 at once instead of 8, as each submission may use 2048 MiB" in capsys.readouterr().err
    assert grader_run._jobs(6, Limits(), 100) == 6
    assert "--jobs 3 would fit" in capsys.readouterr().err


def test_doctor_tells_of_each_tier(monkeypatch):
    class Here:
        tier = "jail (deep)"

        @classmethod
        def working(cls):
            return cls()

    class Absent:
        @classmethod
        def working(cls):
            raise SandboxUnavailable("jail is not installed")

    for name, kind in zip(TIERS, (Here, Absent, Here, Absent), strict=True):
        monkeypatch.setitem(TIERS, name, kind)
    checks = list(doctor._tiers())
    assert [check.name for check in checks] == [f"sandbox {name}" for name in TIERS]
    assert [check.state for check in checks] == ["ok", "info", "ok", "info"]
    assert checks[0].found == "jail (deep)" and "jail is not installed" in checks[1].found
