import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_web.turns import Turns


def test_a_turn_begins_at_once_while_there_is_room():
    turns = Turns(2)

    assert turns.ask("a").signal.cancelled
    assert turns.ask("a").signal.cancelled
    assert not turns.ask("a").signal.cancelled
    assert turns.ask("b").signal.cancelled


def test_those_who_wait_begin_in_order():
    turns = Turns(1)
    first, second, third = (turns.ask("a") for _ in range(3))

    turns.end(first)
    assert (True, False) == (second.signal.cancelled, third.signal.cancelled)
    turns.end(second)
    assert third.signal.cancelled


def test_one_who_gives_up_waiting_is_passed_over():
    turns = Turns(1)
    first, second, third = (turns.ask("a") for _ in range(3))
    with second:
        pass
    turns.end(first)

    assert (False, True) == (second.signal.cancelled, third.signal.cancelled)


def test_without_a_limit_nobody_waits():
    turns = Turns(None)

    assert all(turns.ask("a").signal.cancelled for _ in range(100))


@given(st.integers(1, 3), st.lists(st.tuples(st.sampled_from("ab"), st.booleans())))
def test_there_are_never_more_than_allowed_and_nobody_is_forgotten(limit, moves):
    turns, open_turns = Turns(limit), []
    for key, begins in moves:
        if begins or not open_turns:
            open_turns.append(turns.ask(key))
        else:
            turns.end(open_turns.pop(len(open_turns) // 2))
        for name in "ab":
            mine = [turn for turn in open_turns if turn.key == name]
            assert min(limit, len(mine)) == sum(turn.signal.cancelled for turn in mine)
    for turn in open_turns:
        turns.end(turn)

    assert not turns._taken
    assert not turns._waiting


def test_threads_share_the_turns():
    turns, most, now, lock = Turns(3), 0, 0, threading.Lock()

    def work():
        nonlocal most, now
        for _ in range(50):
            with turns.ask("a") as turn:
                begun = threading.Event()
                turn.signal.add_callback(begun.set)
                assert begun.wait(10)
                with lock:
                    now += 1
                    most = max(most, now)
                with lock:
                    now -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert 0 < most <= 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_process_does_not_wait_for_turns_of_its_parent():
    turns = Turns(1)
    turn = turns.ask("a")
    child = os.fork()
    if child == 0:
        os._exit(0 if turns.ask("a").signal.cancelled else 1)

    assert 0 == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    turns.end(turn)
