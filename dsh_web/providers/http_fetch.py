"""The fetch provider `http`: a page straight from its server, guarded against private addresses.

Rules: RFC 9110 for statuses, redirects and codings; the URL and Encoding standards (WHATWG) for
addresses and charsets. What must not be reached is decided in `dsh_web.addresses`.
"""

from __future__ import annotations

import functools
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from .._version import __version__
from ..addresses import refusal_of
from ..domains import normalize_domains
from ..errors import (
    WEB_REDIRECT_BLOCKED,
    BlockedUrlError,
    InvalidUrlError,
    ProviderError,
)
from ..fetch_urls import (
    DEFAULT_MAX_LENGTH,
    PageUrl,
    matches_domain,
    read_page_url,
    redirect_target,
    shown_page,
)
from ..flow import (
    Flow,
    Guard,
    HttpHead,
    HttpRequest,
    OpenStream,
    ReadChunk,
    Resolve,
    TransportError,
)
from ..page_cache import PageCache
from ..seam_fetch import WebFetchRequest, WebFetchResult
from ..turns import Stay, Turns
from ._page_bodies import BodyReader

if TYPE_CHECKING:
    from ..page_rules import Asking, Kept

__all__ = ["HttpFetchProvider"]

_ACCEPT = (
    "text/html, application/xhtml+xml, application/pdf;q=0.9, text/*;q=0.9, "
    "application/json;q=0.8, application/xml;q=0.8, */*;q=0.1"
)
_REDIRECTS = (301, 302, 303, 307, 308)
_HINT = " unless a developer sets HttpFetchProvider(allow_private_hosts=True)"
_OWN = ("_guard", "_turns", "_bodies")
_POSITIVE = ("max_url_length", "max_response_bytes", "max_body_chars")


class HttpFetchProvider:
    """Fetches pages over http and https; an address that is not public is never connected to.

    Every address of the host must be public, and the connection goes to one of the addresses that
    were checked. There are no cookies, no credentials, and no proxy of the environment. Redirects
    within the origin are followed and checked like the first address. Instances are immutable.

    Args:
        max_url_length: Characters of an address. Default 2048.
        max_response_bytes: Decompressed bytes of a page. A server that announces more is refused
            (`WEB_FETCH_TOO_LARGE`); a page that grows beyond is cut, and `truncated` says so.
        max_body_chars: Characters of the result's `content`. A longer one is cut; an HTML page
            loses first what no reader sees of it, such as scripts, styles and comments.
        timeout: Seconds for the whole fetch, redirects included (`WEB_FETCH_TIMEOUT`); None: only
            the call's own `timeout` holds.
        max_redirects: Redirects to follow, within the origin only.
        user_agent: Sent as it is. Default: this product's name and version.
        allow_private_hosts: Also fetch from loopback, private and other addresses that are not
            public, except for the metadata services of clouds. Only for hosts that whoever writes
            the addresses (a model, say) may read everything from.
        allow_domains: If given, only these sites, subdomains included: `example.com`, `.gov`,
            `example.com/docs`.
        deny_domains: Never these sites; wins over `allow_domains`.
        max_connections_per_host: Fetches from one host at the same time; more wait for their turn.
            Default: no limit.
        resolve: Returns the addresses of a host name in place of the system's resolver; may block.
            What it returns is checked like everything else.
        dial: Returns where a connection to a checked address and port is really made, for example
            the entrance of a tunnel. Its answer is not checked.
        cache: Keeps responses as their own headers allow (`Cache-Control` and the like), and
            answers from them without a connection where those say so. Default: nothing is kept.

    Raises:
        InvalidRequestError: A domain is not one.
    """

    id: ClassVar[str] = "http"
    label: ClassVar[str] = "HTTP"

    def __init__(
        self,
        *,
        max_url_length: int = DEFAULT_MAX_LENGTH,
        max_response_bytes: int = 5_000_000,
        max_body_chars: int = 100_000,
        timeout: float | None = 30.0,
        max_redirects: int = 5,
        user_agent: str = f"dsh-web/{__version__}",
        allow_private_hosts: bool = False,
        allow_domains: str | Iterable[str] | None = None,
        deny_domains: str | Iterable[str] | None = (),
        max_connections_per_host: int | None = None,
        resolve: Callable[[str], Sequence[str]] | None = None,
        dial: Callable[[str, int], tuple[str, int]] | None = None,
        cache: PageCache | None = None,
    ) -> None:
        self.max_url_length = max_url_length
        self.max_response_bytes = max_response_bytes
        self.max_body_chars = max_body_chars
        self.timeout = timeout
        self.max_redirects = max_redirects
        self.user_agent = user_agent
        self.allow_private_hosts = allow_private_hosts
        # `www.github.io` must not come to mean all that anybody publishes under `github.io`.
        self.allow_domains = None if allow_domains is None else _sites(allow_domains, keep_www=True)
        self.deny_domains = _sites(deny_domains or ())
        self.max_connections_per_host = max_connections_per_host
        self._resolve = resolve
        self._dial = dial
        self.cache = cache
        # What came from elsewhere than the public web must not answer for it.
        self._scope = "private" if allow_private_hosts else "public"
        if resolve is not None or dial is not None:
            self._scope += f" {uuid.uuid4().hex}"  # only this provider knows where these lead
        self._prepare()

    def _prepare(self) -> None:
        # Connections are used again under the same guard only, so there is one for life.
        self._guard = Guard(admit=self._admit, resolve=self._resolve, dial=self._dial)
        self._turns = Turns(self.max_connections_per_host)
        self._bodies = BodyReader(self.max_response_bytes, self.max_body_chars)

    def available(self) -> bool:
        """Return whether the settings make sense; no network."""
        return self.unavailable_reason() is None

    def unavailable_reason(self) -> str | None:
        """Return one line for people on why the provider cannot work, or None if it can."""
        return self._fault

    @functools.cached_property
    def _fault(self) -> str | None:
        # Worked out once: the settings cannot change, and every call asks.
        for name in _POSITIVE:
            if not _is_int(getattr(self, name)) or getattr(self, name) < 1:
                return f"{name} must be 1 or more, not {getattr(self, name)!r}"
        if not _is_int(self.max_redirects) or self.max_redirects < 0:
            return f"max_redirects must be 0 or more, not {self.max_redirects!r}"
        if not isinstance(self.allow_private_hosts, bool):
            # A text such as "false" would open what it was meant to close.
            return f"allow_private_hosts must be True or False, not {self.allow_private_hosts!r}"
        limit = self.max_connections_per_host
        if limit is not None and (not _is_int(limit) or limit < 1):
            return f"max_connections_per_host must be 1 or more, or None, not {limit!r}"
        timeout = self.timeout
        if timeout is not None and not timeout > 0:
            return f"timeout must be more than 0 seconds, or None, not {timeout!r}"
        agent = self.user_agent
        if not agent.strip() or not agent.isascii() or not agent.isprintable():
            return "user_agent must be printable ASCII text"
        if self.cache is not None and not isinstance(self.cache, PageCache):
            return f"cache must be a PageCache, or None, not {type(self.cache).__name__}"
        return None

    # -- the flow ------------------------------------------------------------------------------

    def fetch_flow(self, request: WebFetchRequest) -> Flow[WebFetchResult]:
        """Return the flow of one fetch."""
        page = read_page_url(request.url, max_length=self.max_url_length)
        self._check_name(page)
        with Stay(self._turns, page.host) as stay:
            page, answer = yield from self._open(page, stay)
            head = answer.head
            media_type = self._bodies.readable_type(page, head)
            data = (yield from self._body(page, answer)) if media_type else bytearray()
        # The host's turn is over; what follows concerns nobody else.
        is_whole = len(data) <= self.max_response_bytes
        if is_whole and (media_type is None or _is_delimited(head)):
            yield from self._keep(answer, data)
        body, is_cut = yield from self._bodies.read(page, head, media_type, data)
        return WebFetchResult(
            url=page.url,
            status_code=head.status,
            body=body,
            # 206 without a range asked for: the server itself sends a part only.
            truncated=is_cut or head.status == 206,
            cached=answer.kept is not None,
        )

    def _open(self, page: PageUrl, stay: Stay) -> Flow[tuple[PageUrl, _Answer]]:
        """Return the page at the end of all redirects, and the answer for it."""
        for hops in range(self.max_redirects + 1):
            try:
                answer = yield from self._answer(page, stay)
            except BlockedUrlError as error:
                if hops == 0:
                    raise
                # The name of the origin has come to mean another address since the first hop.
                raise BlockedUrlError(error.message, code=WEB_REDIRECT_BLOCKED) from error
            except TransportError as error:
                raise _failed(page, error) from error
            head = answer.head
            location = head.headers.get("location")
            if head.status not in _REDIRECTS or location is None:
                return page, answer
            yield from self._keep(answer, b"")
            page = self._followed(page, head.status, location)
        raise BlockedUrlError(
            f"{shown_page(page.url)} is the end of {self.max_redirects} redirects, which is as "
            "many as are followed",
            code=WEB_REDIRECT_BLOCKED,
            status_code=head.status,
        )

    def _answer(self, page: PageUrl, stay: Stay) -> Flow[_Answer]:
        """Return the answer for one address: a kept one, or the head of what the server sends."""
        asking = yield from self._look_up(page)
        if asking is None:
            yield from stay.begin()
            return _Answer((yield OpenStream(self._wire(page))))
        if asking.fresh is None and (yield from stay.begin()):
            # One of those who went before may have fetched this very page.
            asking = (yield from self._look_up(page)) or asking
        if asking.fresh is not None:
            return _Answer(asking.fresh.head, kept=asking.fresh)
        head: HttpHead = yield OpenStream(self._wire(page, asking.conditions))
        if head.status == 304 and asking.conditions:
            # Nothing follows; hearing so sets the connection free for others.
            yield ReadChunk()
            kept = asking.refreshed(head)
            to_keep = None if kept is None else asking.worth_keeping(kept)
            yield from self._keep(_Answer(head, to_keep=to_keep, outdated=asking.kept))
            if kept is not None:
                return _Answer(kept.head, kept=kept)
            # It is about another page than the kept one, which helps nobody: once more, plainly.
            asking = asking.afresh()
            head = yield OpenStream(self._wire(page))
        return _Answer(head, to_keep=asking.to_keep(head), outdated=asking.kept)

    def _look_up(self, page: PageUrl) -> Flow[Asking | None]:
        cache = self.cache
        if cache is None:
            return None
        ask = functools.partial(cache.asking, page.url, self._sent, scope=self._scope)
        asking: Asking = (yield Resolve(ask)) if cache.may_block else ask()
        return asking

    def _body(self, page: PageUrl, answer: _Answer) -> Flow[bytearray]:
        if answer.kept is not None:
            # Another provider, with another limit, may have kept it.
            return bytearray(answer.kept.body[: self.max_response_bytes + 1])
        try:
            return (yield from self._bodies.received())
        except TransportError as error:
            raise _failed(page, error) from error

    def _keep(self, answer: _Answer, body: bytes | bytearray | None = None) -> Flow[None]:
        """Keep an answer that may be kept; one that it has replaced goes.

        Args:
            answer: What came.
            body: The whole body; None: that of `answer.to_keep` itself.
        """
        cache, kept, outdated = self.cache, answer.to_keep, answer.outdated
        if cache is None:
            return
        if kept is not None:
            kept = kept if body is None else replace(kept, body=bytes(body))
            change = functools.partial(cache.keep, kept, scope=self._scope)
        elif outdated is not None and answer.head.status < 500:
            change = functools.partial(cache.drop, outdated, scope=self._scope)
        else:
            return
        if cache.may_block:
            yield Resolve(change)
        else:
            change()

    @property
    def _sent(self) -> dict[str, str]:
        return {"accept": _ACCEPT, "user-agent": self.user_agent}

    def _wire(self, page: PageUrl, conditions: Mapping[str, str] | None = None) -> HttpRequest:
        return HttpRequest(
            "GET",
            page.url,
            headers={**self._sent, **(conditions or {})},
            # One more than is kept shows whether there was more.
            max_bytes=self.max_response_bytes + 1,
            when_too_large="cut",
            guard=self._guard,
        )

    def _followed(self, page: PageUrl, status: int, location: str) -> PageUrl:
        """Return where a redirect leads, if it may be followed."""
        try:
            target = redirect_target(page, location, max_length=self.max_url_length)
            self._check_name(target)
        except (InvalidUrlError, BlockedUrlError) as error:
            raise BlockedUrlError(
                f"{shown_page(page.url)} redirects to an address that cannot be followed: "
                f"{error.message}",
                code=WEB_REDIRECT_BLOCKED,
                status_code=status,
            ) from error
        if target.origin != page.origin:
            # In full: whoever asked can only go on with the very address.
            raise BlockedUrlError(
                f"{shown_page(page.url)} redirects to another site, which is not followed: fetch "
                f"{target.url} instead if that is what you want",
                code=WEB_REDIRECT_BLOCKED,
                status_code=status,
            )
        return target

    # -- the guard -----------------------------------------------------------------------------

    def _check_name(self, page: PageUrl) -> None:
        denied = matches_domain(page, self.deny_domains)
        if denied is not None:
            raise BlockedUrlError(f"{shown_page(page.url)} is blocked: {denied} is not allowed")
        if self.allow_domains is not None and matches_domain(page, self.allow_domains) is None:
            sites = ", ".join(self.allow_domains[:10]) or "none"
            raise BlockedUrlError(
                f"{shown_page(page.url)} is blocked: only these sites are allowed: {sites}"
            )

    def _admit(self, host: str, addresses: Sequence[str]) -> None:
        for address in addresses:
            reason = refusal_of(address, allow_private=self.allow_private_hosts)
            if reason is not None:
                is_same = host == address
                what = f"{host} is" if is_same else f"{host} resolves to {address}, which is"
                # Not offered where it would change nothing.
                hint = "" if refusal_of(address, allow_private=True) else _HINT
                raise BlockedUrlError(f"{what} {reason}: it is not fetched{hint}")

    def __getstate__(self) -> dict[str, Any]:
        # Connections and turns belong to this process.
        return {name: value for name, value in vars(self).items() if name not in _OWN}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._prepare()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"


@dataclass(frozen=True, slots=True)
class _Answer:
    """What answers a request: the head, and what the cache has to do with it."""

    head: HttpHead
    kept: Kept | None = None
    """Set if a kept response is the answer, body and all; else the body is still to be read."""
    to_keep: Kept | None = None
    """What to keep once the body is whole."""
    outdated: Kept | None = None
    """What was kept until now."""


def _is_delimited(head: HttpHead) -> bool:
    """Return whether the body says where it ends: else it may have been cut on its way."""
    return "content-length" in head.headers or "transfer-encoding" in head.headers


def _failed(page: PageUrl, error: TransportError) -> ProviderError:
    # Cut: what a server sends instead of a response may be part of the reason.
    return ProviderError(
        f"fetching {shown_page(page.url)} failed: {str(error)[:300]}",
        retryable=error.is_connect_failure,
    )


def _sites(domains: str | Iterable[str], *, keep_www: bool = False) -> tuple[str, ...]:
    listed = [domains] if isinstance(domains, str) else domains
    return normalize_domains(listed, keep_www=keep_www)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
