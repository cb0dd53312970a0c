from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_web import HttpRequest, HttpResponse, RetryPolicy, Sleep, TransportError, send_with_retries
from dsh_web.retry import retry_after
from tests.flows import play

NOW = 1_790_000_000.0
REQUEST = HttpRequest("POST", "https://api.example/search")
OK = HttpResponse(200, {}, b"")
UNREACHABLE = TransportError("refused", is_connect_failure=True)
RETRYABLE = [408, 409, 429, 500, 501, 502, 503, 504, 520, 524, 529, 599]
FINAL = [200, 201, 204, 301, 302, 307, 308, 400, 401, 402, 403, 404, 410, 413, 422, 424, 425, 451]


def failed(status: int = 503, **headers: str) -> HttpResponse:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpResponse(status, names, b"", received_at=NOW)


def send(*answers: object, policy: RetryPolicy | None = None) -> tuple[list, HttpResponse]:
    return play(send_with_retries(REQUEST, policy or RetryPolicy()), *answers)


def wait_after(response: HttpResponse) -> Sleep:
    steps, _ = send(response, False)
    return steps[1]


def test_a_success_is_returned_at_once():
    assert ([REQUEST], OK) == send(OK)


@pytest.mark.parametrize("status", RETRYABLE)
def test_a_transient_status_is_tried_again(status):
    _, response = send(failed(status), True, OK)

    assert OK == response


@pytest.mark.parametrize("status", FINAL)
def test_any_other_status_is_final(status):
    steps, response = send(failed(status))

    assert ([REQUEST], status) == (steps, response.status)


def test_there_are_two_retries_by_default():
    steps, response = send(failed(500), True, failed(502), True, failed(503))

    assert (3, 503) == (steps.count(REQUEST), response.status)


def test_no_retries_means_one_attempt():
    steps, _ = send(failed(), policy=RetryPolicy(max_retries=0))

    assert [REQUEST] == steps


def test_five_retries_mean_six_attempts():
    answers = [answer for _ in range(5) for answer in (failed(), True)]
    steps, _ = send(*answers, failed(), policy=RetryPolicy(max_retries=5))

    assert 6 == steps.count(REQUEST)


def test_each_attempt_sends_the_very_same_request():
    steps, _ = send(failed(), True, OK)

    assert [REQUEST, REQUEST] == [step for step in steps if isinstance(step, HttpRequest)]


def test_a_wait_without_a_hint_doubles():
    steps, _ = send(failed(), True, failed(), True, OK)

    assert [0.5, 1.0] == [step.seconds for step in steps if isinstance(step, Sleep)]


def test_a_wait_of_our_own_has_jitter():
    assert 0.25 == wait_after(failed()).jitter


def test_a_wait_that_the_server_asked_for_is_not_shortened():
    assert Sleep(3.0, jitter=0.0) == wait_after(failed(retry_after="3"))


def test_no_time_left_for_a_wait_returns_the_last_response():
    _, response = send(failed(502), True, failed(503), False)

    assert 503 == response.status


def test_a_connect_failure_is_tried_again():
    _, response = send(UNREACHABLE, True, OK)

    assert OK == response


def test_a_connect_failure_counts_as_an_attempt():
    with pytest.raises(TransportError, match="refused"):
        send(UNREACHABLE, True, UNREACHABLE, True, UNREACHABLE)


def test_no_time_left_after_a_connect_failure_raises_it():
    with pytest.raises(TransportError, match="refused"):
        send(UNREACHABLE, False)


def test_a_connect_failure_and_a_status_share_one_count():
    steps, response = send(UNREACHABLE, True, failed(500), True, failed(500))

    assert (3, 500) == (steps.count(REQUEST), response.status)


def test_a_failure_after_the_request_may_have_arrived_is_never_repeated():
    with pytest.raises(TransportError, match="reset"):
        send(TransportError("reset"))


def test_another_transport_error_after_a_retry_is_final():
    with pytest.raises(TransportError, match="reset"):
        send(failed(), True, TransportError("reset"))


def test_the_vendors_veto_is_honoured():
    steps, _ = send(failed(503, x_should_retry="false"))

    assert [REQUEST] == steps


def test_a_hint_beyond_the_cap_ends_the_call():
    steps, response = send(failed(429, retry_after="61"))

    assert ([REQUEST], 429) == (steps, response.status)


def test_a_hint_at_the_cap_is_obeyed():
    assert 60.0 == wait_after(failed(429, retry_after="60")).seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "3"}, 3.0),
        ({"retry_after": "0"}, 0.0),
        ({"retry_after": "1.5"}, 1.5),
        ({"retry_after": " 2 "}, 2.0),
        ({"retry_after": "99999999"}, 99999999.0),
        ({"retry_after_ms": "250"}, 0.25),
        ({"retry_after_ms": "250", "retry_after": "9"}, 0.25),
        ({"retry_after_ms": "junk", "retry_after": "9"}, 9.0),
        ({"retry_after": formatdate(NOW + 30, usegmt=True)}, 30.0),
        ({"retry_after": formatdate(NOW - 30, usegmt=True)}, 0.0),
        ({"retry_after": "soon"}, None),
        ({"retry_after": ""}, None),
        ({"retry_after": "-3"}, None),
        ({"retry_after": "nan"}, None),
        ({"retry_after": "inf"}, None),
        ({"retry_after": "Wed, 99 Foo 2026 00:00:00 GMT"}, None),
        ({"retry_after": "Wed, 21 Oct 99999999999 07:28:00 GMT"}, None),
        ({"x_ratelimit_reset": str(NOW + 12)}, 12.0),
        ({"x_ratelimit_reset": str(NOW - 12)}, None),
        ({"x_ratelimit_reset": "12"}, None),
        ({"x_ratelimit_reset": str(NOW + 7200)}, None),
        ({"x_ratelimit_reset": "junk"}, None),
        ({"x_ratelimit_reset": str(NOW + 12), "retry_after": "5"}, 5.0),
        ({}, None),
    ],
)
def test_a_hint_is_read_from_every_header_that_may_hold_one(headers, seconds):
    assert seconds == retry_after(failed(429, **headers))


def test_a_rate_limit_reset_counts_only_for_a_429():
    assert retry_after(failed(503, x_ratelimit_reset=str(NOW + 12))) is None


def test_an_unreadable_hint_falls_back_to_our_own_wait():
    assert 0.5 == wait_after(failed(retry_after="soon")).seconds


@given(attempt=st.integers(1, 60), first=st.floats(0, 10), longest=st.floats(0, 100))
def test_backoff_stays_between_zero_and_its_cap(attempt, first, longest):
    policy = RetryPolicy(first_wait=first, longest_wait=longest)

    assert 0 <= policy.backoff(attempt) <= longest


@given(attempt=st.integers(1, 60))
def test_backoff_never_shrinks(attempt):
    policy = RetryPolicy()

    assert policy.backoff(attempt) <= policy.backoff(attempt + 1)


@given(
    text=st.text() | st.floats().map(str) | st.integers().map(str),
    name=st.sampled_from(["retry-after", "retry-after-ms", "x-ratelimit-reset"]),
)
def test_any_header_text_is_a_wait_or_no_wait(text, name):
    seconds = retry_after(HttpResponse(429, {name: text}, b"", received_at=NOW))

    assert seconds is None or 0 <= seconds < float("inf")
