import copy
import json
import pickle

import pytest

from dsh_web import (
    InvalidRequestError,
    ProviderError,
    SelectionError,
    UnsupportedFilterError,
    WebCancelledError,
    WebError,
    WebTimeoutError,
)

ALL = [
    WebError("m", code="WEB_SOMETHING_LATER"),
    SelectionError("m", code="WEB_PROVIDER_AMBIGUOUS"),
    InvalidRequestError("m"),
    UnsupportedFilterError("m"),
    ProviderError("m"),
    WebTimeoutError("m"),
    WebCancelledError("m"),
]
FULL = {
    "code": "WEB_PROVIDER_ERROR",
    "provider": "p",
    "status_code": 429,
    "request_id": "r-1",
    "retry_after": 2.5,
    "retryable": True,
}


def names(errors):
    return [type(error).__name__ for error in errors]


each_error = pytest.mark.parametrize("error", ALL, ids=names(ALL))


@each_error
def test_every_error_is_a_web_error(error):
    assert isinstance(error, WebError)


@each_error
def test_no_error_is_a_runtime_error(error):
    assert not isinstance(error, RuntimeError)


@each_error
def test_no_error_is_a_value_error_that_pydantic_would_swallow(error):
    assert not isinstance(error, ValueError)


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (InvalidRequestError, "WEB_INVALID_REQUEST"),
        (UnsupportedFilterError, "WEB_UNSUPPORTED_FILTER"),
        (ProviderError, "WEB_PROVIDER_ERROR"),
        (WebTimeoutError, "WEB_TIMEOUT"),
        (WebCancelledError, "WEB_ABORTED"),
    ],
)
def test_a_leaf_has_its_own_code(kind, code):
    assert code == kind("m").code


def test_an_unsupported_filter_is_an_invalid_request():
    assert issubclass(UnsupportedFilterError, InvalidRequestError)


def test_a_provider_error_is_no_invalid_request():
    assert not issubclass(ProviderError, InvalidRequestError)


def test_an_unknown_code_is_kept():
    assert "WEB_SOMETHING_LATER" == ProviderError("m", code="WEB_SOMETHING_LATER").code


def test_what_is_not_known_is_none():
    error = ProviderError("m")

    assert (None, None, None, None, False) == (
        error.provider,
        error.status_code,
        error.request_id,
        error.retry_after,
        error.retryable,
    )


@each_error
def test_the_text_of_an_error_is_its_message(error):
    assert "m" == str(error)


def test_a_repr_shows_kind_message_and_code():
    assert "ProviderError('m', code='WEB_PROVIDER_ERROR')" == repr(ProviderError("m"))


@each_error
@pytest.mark.parametrize("again", [copy.copy, lambda e: pickle.loads(pickle.dumps(e))])
def test_an_error_survives_copy_and_pickle(error, again):
    twin = again(error)

    assert (type(error), error.to_dict()) == (type(twin), twin.to_dict())


def test_all_details_survive_pickling():
    error = pickle.loads(pickle.dumps(ProviderError("m", **FULL)))

    assert {"message": "m", **FULL} == error.to_dict()


def test_the_dict_of_an_error_leaves_out_what_is_unknown():
    expected = {"code": "WEB_TIMEOUT", "message": "m", "retryable": False}

    assert expected == WebTimeoutError("m").to_dict()


def test_the_dict_of_an_error_is_json():
    text = json.dumps(ProviderError("m", **FULL).to_dict())

    assert {"message": "m", **FULL} == json.loads(text)


def test_a_cause_stays_chained():
    cause = OSError("disk")

    with pytest.raises(ProviderError) as caught:
        raise ProviderError("m") from cause

    assert cause is caught.value.__cause__
