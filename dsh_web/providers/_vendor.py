"""What the providers of all vendors share: key, base url, headers, errors, retries, reading bodies.

It knows no vendor: names, addresses and where the key travels are class attributes of those
modules that do.
"""

from __future__ import annotations

import copy
import functools
import inspect
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias
from urllib.parse import urlsplit

from .._secret import Secret
from .._version import __version__
from ..config import read_env, shown_url
from ..errors import InvalidRequestError, ProviderError
from ..filters import set_filters, without_filters
from ..flow import (
    DEFAULT_MAX_BYTES,
    Flow,
    HttpHead,
    HttpRequest,
    HttpResponse,
    Resolve,
    TransportError,
)
from ..retry import RetryPolicy, is_retryable, retry_after, send_with_retries
from ..seam import SupportedFilters, WebSearchRequest, WebSearchResult
from ._shape import Reader, parse_json
from ._vendor_errors import error_message, message_of, status_of

__all__ = [
    "ApiKey",
    "Body",
    "VendorProvider",
    "is_positive_int",
    "is_text",
    "wrapped",
]

ApiKey: TypeAlias = str | Secret | Callable[[], str | Awaitable[str]]
"""A key, or a function (sync or async) that returns the key to use for one call."""

HEADERS = {
    "accept": "application/json",
    "content-type": "application/json",
    "user-agent": f"dsh-web/{__version__}",
}

STREAM_HEADERS = {**HEADERS, "accept": "text/event-stream"}
STREAM_MAX_BYTES = 50_000_000
"""Streams repeat themselves (a frame may hold all sources), so their cap is a wider one."""


@dataclass(frozen=True, slots=True)
class Body:
    """A decoded 2xx response, with the facts that its headers add."""

    data: dict[str, Any]
    request_id: str | None
    status: int


class VendorProvider:
    """The client core; a subclass adds one API's path, request body and mapping.

    Instances are immutable, so that a call cannot mix two configurations. A pickled or copied
    provider carries no key: it reads the environment again.

    Args:
        api_key: The key, or a function (sync or async) that resolves it per call. Default: the
            first of the vendor's variables that is set. Without one the provider is unavailable.
        base_url: Where the API lives; the path is appended. Default: the vendor's variable, else
            its own host.
        max_retries: Attempts after the first, for connect failures, 408, 409, 429 and 5xx.
        extra_body: Vendor-only fields, merged last into the request body.
    """

    id: ClassVar[str]
    path: ClassVar[str]
    label: ClassVar[str]
    verb: ClassVar[str] = "search"
    """What a call of this API is, for messages."""
    key_variables: ClassVar[tuple[str, ...]]
    """Environment variables that may hold the key; the first that is set wins."""
    base_url_variable: ClassVar[str]
    default_base_url: ClassVar[str]
    key_header: ClassVar[str | None] = None
    """Header that carries the key as it is; None: `authorization: Bearer`."""
    merges_objects: ClassVar[bool] = False
    """Whether an object in `extra_body` is merged into the one of that name, or replaces it."""
    supported_filters: ClassVar[SupportedFilters] = {}

    def __init__(
        self,
        *,
        api_key: ApiKey | None = None,
        base_url: str | None = None,
        max_retries: int = 2,
        extra_body: Mapping[str, Any] | None = None,
    ) -> None:
        api_key = wrapped(api_key)
        self._key: Secret | Callable[[], Any] | None = (
            self._key_from_env() if api_key is None else api_key
        )
        self.base_url: str = base_url or read_env(self.base_url_variable) or self.default_base_url
        self.max_retries = max_retries
        self._extra_body: dict[str, Any] = copy.deepcopy(dict(extra_body or {}))

    def available(self) -> bool:
        """Return whether a key is there and the settings make sense; no network."""
        return self.unavailable_reason() is None

    def unavailable_reason(self) -> str | None:
        """Return one line for people on why the provider cannot work, or None if it can."""
        return self._fault

    @functools.cached_property
    def _fault(self) -> str | None:
        # Worked out once: the settings cannot change, and every call asks.
        key = self._key
        if key is None or (isinstance(key, Secret) and not key):
            return f"no API key: set {self.key_variables[0]} or pass api_key"
        if not isinstance(key, Secret) and not callable(key):
            return f"api_key must be a text or a function, not {type(key).__name__}"
        if isinstance(key, Secret) and not key.is_usable:
            return "the API key holds a character that no HTTP header can carry"
        if not _is_base_url(self.base_url):
            return f"the base url {shown_url(self.base_url)!r} is not an http or https address"
        if not _is_int(self.max_retries) or self.max_retries < 0:
            return f"max_retries must be 0 or more, not {self.max_retries!r}"
        return self._settings_fault()

    @property
    def extra_body(self) -> dict[str, Any]:
        """A copy of the vendor-only fields."""
        return copy.deepcopy(self._extra_body)

    def search_flow(self, request: WebSearchRequest) -> Flow[WebSearchResult]:
        """Return the flow of one search."""
        wire, key = yield from self._wire_request(request, {})
        return (yield from self._exchange(wire, key, request))

    def read_body(self, data: Mapping[str, Any], *, include_raw: bool = False) -> WebSearchResult:
        """Return the result that a stored body of this API stands for; nothing is sent.

        Args:
            data: The decoded body, as `WebSearchResult.raw` keeps it.
            include_raw: Keep it again.

        Raises:
            ProviderError: The body is that of a failed run, or cannot be made sense of.
        """
        request = WebSearchRequest(query="(stored)", include_raw=include_raw)
        return self._result(Body(dict(data), None, 200), request)

    def _exchange(
        self, wire: HttpRequest, key: Secret, request: WebSearchRequest
    ) -> Flow[WebSearchResult]:
        """Send, retry, and map the answer."""
        return self._result((yield from self._answered(wire, key)), request)

    def _answered(self, wire: HttpRequest, key: Secret) -> Flow[Body]:
        """Send and retry, and return the decoded answer."""
        try:
            response = yield from send_with_retries(wire, RetryPolicy(self.max_retries))
        except TransportError as error:
            raise self._request_failed(key.mask(str(error)), error) from error
        return self._read(response, key)

    # -- what a subclass adds ------------------------------------------------------------------

    def _settings_fault(self) -> str | None:
        """Return one line on a setting of the subclass that makes it unavailable."""
        return None

    def _request_body(self, request: WebSearchRequest) -> dict[str, Any]:
        raise NotImplementedError

    def _search_result(self, body: Body, request: WebSearchRequest) -> WebSearchResult:
        raise NotImplementedError

    def _explain(self, message: str, kind: str | None) -> str:
        """Return the provider's error message with what a user should do, if we know it."""
        return message

    # -- shared steps --------------------------------------------------------------------------

    def _wire_request(
        self, request: WebSearchRequest, more: Mapping[str, Any]
    ) -> Flow[tuple[HttpRequest, Secret]]:
        """Return the request to send, and the key in it.

        Args:
            request: What is asked.
            more: Fields for the body beside those of `_request_body`; None takes one out.
        """
        self._check_combinations(request)
        body = self._request_body(request)
        self._check_extra_body(request, body)
        return (yield from self._posted({**body, **more}, is_stream="stream" in more))

    def _posted(
        self, fields: Mapping[str, Any], *, is_stream: bool = False
    ) -> Flow[tuple[HttpRequest, Secret]]:
        """Return the request that posts `fields`, without those that are None, and its key."""
        known = {name: value for name, value in fields.items() if value is not None}
        content = merged(known, self._extra_body, deeply=self.merges_objects)
        key = yield from self._resolve_key()
        wire = HttpRequest(
            method="POST",
            url=self.base_url.rstrip("/") + self.path,
            headers=STREAM_HEADERS if is_stream else HEADERS,
            bearer=key if self.key_header is None else None,
            secret_headers={} if self.key_header is None else {self.key_header: key},
            body=json.dumps(content, ensure_ascii=False).encode("utf-8", "replace"),
            max_bytes=STREAM_MAX_BYTES if is_stream else DEFAULT_MAX_BYTES,
        )
        return wire, key

    def _result(self, body: Body, request: WebSearchRequest) -> WebSearchResult:
        result = self._search_result(body, request)
        return result.model_copy(update={"raw": body.data}) if request.include_raw else result

    def _request_id(self, head: HttpHead | HttpResponse, key: Secret) -> str | None:
        request_id = head.headers.get("x-request-id")
        return key.mask(request_id) if request_id else None

    def _resolve_key(self) -> Flow[Secret]:
        key = self._key
        if isinstance(key, Secret):
            return key
        if key is None:
            raise ProviderError(f"{self.label} has no API key", provider=self.id)
        try:
            secret = _as_secret((yield Resolve(_resolver_of_secret(key))))
        except Exception as error:
            raise ProviderError(
                f"resolving the {self.label} API key failed: {type(error).__name__}",
                provider=self.id,
            ) from error
        if not secret.is_usable:
            raise ProviderError(
                f"resolving the {self.label} API key gave no usable text", provider=self.id
            )
        return secret

    def _read(self, response: HttpResponse, key: Secret) -> Body:
        request_id = self._request_id(response, key)
        status = response.status
        if 300 <= status < 400:
            raise self._request_failed(
                f"the server answered with a redirect (HTTP {status}), which is never followed",
                status_code=status,
                request_id=request_id,
            )
        if not 200 <= status < 300:
            raise self._http_error(response, key, request_id)
        try:
            data = parse_json(response.body)
        except ValueError as error:
            raise self.unprocessable(key.mask(str(error)), status, request_id) from error
        if key.may_occur_in(response.body):
            data = key.mask_value(data)
        if not isinstance(data, dict):
            raise self.unprocessable("it is not a JSON object", status, request_id)
        return Body(data, request_id, status)

    def _http_error(
        self, response: HttpResponse, key: Secret, request_id: str | None
    ) -> ProviderError:
        said = error_message(response, key.mask)
        message = said.message or f"{self.label} API error (HTTP {response.status})"
        return ProviderError(
            self._explain(message, said.kind),
            provider=self.id,
            status_code=response.status,
            request_id=request_id or said.reference,
            retry_after=retry_after(response),
            retryable=is_retryable(response),
        )

    def _request_failed(
        self, reason: str, error: TransportError | None = None, **details: Any
    ) -> ProviderError:
        return ProviderError(
            f"{self.label} {self.verb} request failed: {reason}",
            provider=self.id,
            retryable=error is not None and error.is_connect_failure,
            **details,
        )

    def unprocessable(self, reason: str, status: int, request_id: str | None) -> ProviderError:
        """Return the error for a body that cannot be made sense of."""
        return ProviderError(
            f"{self.label} returned an unprocessable response body: {reason}",
            provider=self.id,
            status_code=status,
            request_id=request_id,
        )

    def check_is_answer(self, body: Body, reader: Reader, *, is_empty: bool) -> None:
        """Raise if the body holds nothing readable and shows that it should have.

        Raises:
            ProviderError: The body is an error envelope, or has a wrong type where an answer or
                sources were due.
        """
        if not is_empty:
            return
        if body.data.get("error"):
            said = message_of(body.data)
            message = said.message or f"{self.label} API error (HTTP {body.status})"
            raise ProviderError(
                self._explain(message, said.kind),
                provider=self.id,
                status_code=status_of(body.data.get("error")) or body.status,
                request_id=body.request_id or said.reference,
            )
        if reader.wrong:
            raise self.unprocessable(reader.wrong, body.status, body.request_id)

    def _check_combinations(self, request: WebSearchRequest) -> None:
        """Refuse what this API rejects, before anything is sent, saying what to change."""

    def _check_extra_body(self, request: WebSearchRequest, body: dict[str, Any]) -> None:
        """Refuse an `extra_body` that would replace a field which carries a filter."""
        names = set_filters(request)
        if not names or self._extra_body.keys().isdisjoint(body):
            return
        bare = self._bare_body(request)
        lost = [*_replaced(body, bare, self._extra_body, deeply=self.merges_objects)]
        if lost:
            raise InvalidRequestError(
                f"extra_body replaces {lost[0]!r}, which carries a filter that is set "
                f"({', '.join(names)}): leave out the one or the other",
                provider=self.id,
            )

    def _bare_body(self, request: WebSearchRequest) -> dict[str, Any]:
        """Return the body that the request would have without its filters."""
        return self._request_body(without_filters(request))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} id={self.id!r} base_url={shown_url(self.base_url)!r}>"

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__:
            raise AttributeError(
                f"{name} cannot change: settings of a running call must not mix; "
                "make a new provider and register that"
            )
        super().__setattr__(name, value)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {n: value for n, value in self.__dict__.items() if n not in ("_key", "_fault")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _key=self._key_from_env())

    def _key_from_env(self) -> Secret | None:
        text = read_env(*self.key_variables)
        return None if text is None else Secret(text)


def merged(body: dict[str, Any], extra: dict[str, Any], *, deeply: bool) -> dict[str, Any]:
    """Return `body` with the fields of `extra`, which win; `deeply`: also within objects."""
    result = {**body, **extra}
    if deeply:
        for name in body.keys() & extra.keys():
            if isinstance(body[name], dict) and isinstance(extra[name], dict):
                result[name] = merged(body[name], extra[name], deeply=True)
    return result


def _replaced(
    body: dict[str, Any], bare: dict[str, Any], extra: dict[str, Any], *, deeply: bool
) -> Iterator[str]:
    """Yield the fields of `extra` that stand in `body` but not, or not so, in `bare`."""
    for name, value in extra.items():
        sent, plain = body.get(name), bare.get(name)
        if deeply and isinstance(value, dict) and isinstance(sent, dict):
            plain = plain if isinstance(plain, dict) else {}
            yield from (f"{name}.{n}" for n in _replaced(sent, plain, value, deeply=True))
        elif sent != plain:
            yield name


def _resolver_of_secret(function: Callable[[], Any]) -> Callable[[], Any]:
    """Return `function` with its result wrapped at once, so that no frame holds the plain key."""

    async def wait(value: Awaitable[Any]) -> Secret:
        return _as_secret(await value)

    def resolve() -> Any:
        value = function()
        return wait(value) if inspect.isawaitable(value) else _as_secret(value)

    async def resolve_async() -> Secret:
        return _as_secret(await function())

    return resolve_async if inspect.iscoroutinefunction(function) else resolve


def _as_secret(value: Any) -> Secret:
    if isinstance(value, Secret):
        return value
    return Secret(value if isinstance(value, str) else "")


def wrapped(key: ApiKey | None) -> Secret | Callable[[], Any] | None:
    """Return `key` with a text, or what a `SecretStr` holds, wrapped.

    A constructor rebinds its argument to this first, so that its frame does not show the text if
    something after it fails.
    """
    reveal = getattr(key, "get_secret_value", None)  # pydantic's SecretStr
    if callable(reveal):
        return _as_secret(reveal())
    return Secret(key) if isinstance(key, str) else key


def is_text(value: Any) -> bool:
    """Return whether `value` is text with more than white space in it."""
    return isinstance(value, str) and bool(value.strip())


def is_positive_int(value: Any) -> bool:
    """Return whether `value` is a whole number of 1 or more (True is not a number here)."""
    return _is_int(value) and value > 0


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_base_url(url: Any) -> bool:
    if not isinstance(url, str) or any(c.isspace() or not c.isprintable() for c in url):
        return False
    try:
        parts = urlsplit(url)
        return (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and parts.port != 0
            and parts.path.isascii()
            and not parts.query
            and not parts.fragment
        )
    except ValueError:
        return False
