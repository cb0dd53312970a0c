import gc
import threading
import weakref

import pytest

from dsh_web import CancelReason, CancelToken


def test_a_fresh_token_is_live():
    assert not CancelToken().cancelled


def test_a_cancelled_token_stays_cancelled():
    token = CancelToken()
    token.cancel()

    assert token.cancelled


def test_the_first_cancel_says_that_it_did_it():
    assert CancelToken().cancel() is True


def test_a_second_cancel_says_that_it_came_late():
    token = CancelToken()
    token.cancel()

    assert token.cancel() is False


def test_the_first_reason_is_kept():
    token = CancelToken()
    token.cancel("first")
    token.cancel("second")

    assert "first" == token.reason


def test_a_reason_that_is_an_exception_is_the_cause_itself():
    reason = TimeoutError("lunch")
    token = CancelToken()
    token.cancel(reason)

    assert reason is token.cause


@pytest.mark.parametrize(("reason", "text"), [("user left", "user left"), (7, "7")])
def test_another_reason_is_wrapped_for_chaining(reason, text):
    token = CancelToken()
    token.cancel(reason)

    assert (CancelReason, reason, text) == (
        type(token.cause),
        token.cause.reason,
        str(token.cause),
    )


def test_no_reason_still_has_a_cause_that_reads():
    token = CancelToken()
    token.cancel()

    assert "cancelled" == str(token.cause)


def test_a_callback_runs_once():
    calls = []
    token = CancelToken()
    token.add_callback(lambda: calls.append("called"))
    token.cancel()
    token.cancel()

    assert ["called"] == calls


def test_a_callback_added_after_the_cancel_runs_at_once():
    calls = []
    token = CancelToken()
    token.cancel()
    token.add_callback(lambda: calls.append("called"))

    assert ["called"] == calls


def test_callbacks_run_in_order():
    calls = []
    token = CancelToken()
    for number in range(3):
        token.add_callback(lambda number=number: calls.append(number))
    token.cancel()

    assert [0, 1, 2] == calls


def test_an_unsubscribed_callback_does_not_run():
    calls = []
    token = CancelToken()
    token.add_callback(lambda: calls.append("called"))()
    token.cancel()

    assert [] == calls


def test_unsubscribing_twice_leaves_other_callbacks():
    calls = []
    token = CancelToken()
    unsubscribe = token.add_callback(lambda: calls.append("gone"))
    unsubscribe()
    token.add_callback(lambda: calls.append("stays"))
    unsubscribe()
    token.cancel()

    assert ["stays"] == calls


def test_a_callback_sees_the_token_cancelled_and_its_reason():
    seen = []
    token = CancelToken()
    token.add_callback(lambda: seen.append((token.cancelled, token.reason)))
    token.cancel("why")

    assert [(True, "why")] == seen


def test_a_callback_may_use_the_token():
    token = CancelToken()
    token.add_callback(lambda: token.add_callback(token.cancel))
    token.cancel()

    assert token.cancelled


def test_callbacks_run_in_the_cancelling_thread():
    threads = []
    token = CancelToken()
    token.add_callback(lambda: threads.append(threading.current_thread().name))
    canceller = threading.Thread(target=token.cancel, name="canceller")
    canceller.start()
    canceller.join()

    assert ["canceller"] == threads


def test_of_many_threads_exactly_one_cancels():
    token, barrier, outcomes = CancelToken(), threading.Barrier(16), []

    def race(number: int) -> None:
        barrier.wait()
        outcomes.append(token.cancel(number))

    threads = [threading.Thread(target=race, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert 1 == outcomes.count(True)


@pytest.mark.parametrize("which", [0, 1])
def test_any_is_cancelled_by_each_of_its_tokens(which):
    parents = [CancelToken(), CancelToken()]
    child = CancelToken.any(*parents)
    parents[which].cancel("why")

    assert (True, "why") == (child.cancelled, child.reason)


def test_any_of_a_cancelled_token_is_cancelled():
    parent = CancelToken()
    parent.cancel("early")

    assert "early" == CancelToken.any(CancelToken(), parent).reason


def test_any_skips_none():
    assert not CancelToken.any(None, CancelToken()).cancelled


def test_any_of_nothing_is_live():
    assert not CancelToken.any().cancelled


def test_cancelling_a_child_leaves_its_parents():
    parent = CancelToken()
    CancelToken.any(parent).cancel()

    assert not parent.cancelled


def test_any_keeps_the_first_reason():
    first, second = CancelToken(), CancelToken()
    child = CancelToken.any(first, second)
    second.cancel("second")
    first.cancel("first")

    assert "second" == child.reason


def test_any_of_any_follows():
    parent = CancelToken()
    grandchild = CancelToken.any(child := CancelToken.any(parent))
    parent.cancel("why")

    assert ("why", "why") == (child.reason, grandchild.reason)


def test_a_parent_does_not_keep_its_child_alive():
    parent = CancelToken()
    child = weakref.ref(CancelToken.any(parent))
    gc.collect()

    assert child() is None
    assert not parent.cancelled


def test_a_parent_keeps_nothing_of_children_that_are_gone():
    parent = CancelToken()

    def followers() -> int:
        gc.collect()
        return sum(type(thing).__module__ == "dsh_web.cancel" for thing in gc.get_objects())

    before = followers()
    for _ in range(50):
        CancelToken.any(parent)

    assert before == followers()
    assert not parent.cancelled


def test_a_repr_tells_the_state():
    token = CancelToken()
    live = repr(token)
    token.cancel("why")

    assert ("<CancelToken live>", "<CancelToken cancelled, reason='why'>") == (live, repr(token))
