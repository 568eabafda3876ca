"""Slots: no two submissions at once on one machine share one, whoever grades them."""

import multiprocessing
import os
import stat

import pytest

from grader.base.errors import GraderError
from grader.running import slots
from grader.running.slots import hold_slot, locks_folder

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="slots are locked as root only")


@pytest.fixture(autouse=True)
def places(monkeypatch, tmp_path):
    places = (tmp_path / "first", tmp_path / "second")
    for place in places:
        place.mkdir()
    monkeypatch.setattr(slots, "PLACES", places)
    return places


def _hold(preferred: int, pipe) -> None:
    with hold_slot(preferred) as slot:
        pipe.send(slot)
        pipe.recv()


@as_root
def test_two_graders_get_different_slots_and_a_dead_one_frees_its_own():
    context = multiprocessing.get_context("fork")
    other, far = context.Pipe()
    grader = context.Process(target=_hold, args=(0, far), daemon=True)
    grader.start()
    taken = other.recv()
    with hold_slot(0) as mine, hold_slot(0) as another:
        assert len({taken, mine, another}) == 3
        assert 0 not in {taken, mine, another}  # the user of slot 0 tries sandboxes out
        grader.kill()
        grader.join()
        with hold_slot(0) as freed:
            assert freed == taken


@as_root
def test_a_slot_is_free_after_an_error():
    with pytest.raises(ZeroDivisionError), hold_slot(3) as slot:
        raise ZeroDivisionError
    with hold_slot(3) as again:
        assert again == slot == 4


@as_root
def test_all_taken_is_a_sentence(monkeypatch):
    monkeypatch.setattr(slots, "MAX_SLOTS", 2)
    with (
        hold_slot(0),
        hold_slot(0),
        pytest.raises(GraderError, match="All 2 slots of this machine are taken"),
        hold_slot(0),
    ):
        pass


@as_root
def test_a_folder_that_others_can_write_to_is_not_trusted(places, tmp_path):
    first, second = places
    (first / slots.FOLDER).mkdir()
    (first / slots.FOLDER).chmod(0o777)
    assert locks_folder() == second / slots.FOLDER
    assert stat.S_IMODE((second / slots.FOLDER).stat().st_mode) == 0o700
    os.chown(second / slots.FOLDER, 12345, 12345)
    with pytest.raises(GraderError, match="Make one of these writable for root"):
        locks_folder()
    (second / slots.FOLDER).rmdir()
    (second / slots.FOLDER).symlink_to(tmp_path)
    with pytest.raises(GraderError, match="not a folder that only this user can write to"):
        locks_folder()


def test_without_root_the_callers_number_serves(monkeypatch, places):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with hold_slot(5) as slot, hold_slot(5) as again:
        assert slot == again == 5
    assert not any(list(place.iterdir()) for place in places)
