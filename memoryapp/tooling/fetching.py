"""Fetches a web page whose address a model chose, so that it cannot reach what is not public (SSRF).

One parser reads the address, and what it read is what is connected to. A name is resolved once, every answer is
vetted, and the connection goes to an address that was vetted, while the name stays in ``Host``, SNI and the check of
the certificate. Each redirect starts over. Nothing of this server travels along: no cookie, no credential, no proxy
from the environment, no referrer. Everything is bounded: time, redirects, bytes on the wire and after unpacking.
"""

import logging
import re
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

import httpcore2
import httpx2

from memoryapp.errors import MemoryAppError
from memoryapp.llm.base import Cancellation
from memoryapp.llm.errors import Cancelled
from memoryapp.tooling import addresses
from memoryapp.tooling.addresses import IPAddress

logger = logging.getLogger(__name__)

HTML = ("text/html", "application/xhtml+xml")
PLAIN = ("text/plain", "text/markdown", "text/csv", "application/json", "application/ld+json")

Resolver = Callable[[str, int], Sequence[IPAddress]]

_MAX_URL_CHARS = 4_000
_LOOK_S = 0.2  # how often a silent connection looks whether the run was stopped
_MAX_RATIO = 100  # text shrinks 3 to 20 times; what unpacks to more than this was made to
_RATIO_COUNTS_FROM_BYTES = 100_000  # a short page of one repeated letter is no bomb
_MAX_ADDRESSES = 4  # tried one after another: the first families and replicas, not a whole list
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_DEFAULT_PORTS = {"http": 80, "https": 443}
_HOST_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9_][a-z0-9_-]{0,62}(\.[a-z0-9_][a-z0-9_-]{0,62})*\.?")
# What ``inet_aton`` would take for an IPv4 address: 2130706433, 0x7f.1, 017700000001.
_NUMERIC_END = re.compile(r"(^|\.)(\d+|0x[0-9a-f]*)\.?$")
_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w.:+-]+)""", re.IGNORECASE)
_HEADERS = (
    (b"User-Agent", b"Strata"),
    (b"Accept", b"text/html, application/xhtml+xml, text/plain, application/json;q=0.9, text/*;q=0.8"),
    (b"Accept-Encoding", b"gzip"),
    (b"Connection", b"close"),
)


class FetchError(MemoryAppError):
    """The page could not be had; the message says why, and nothing about this server's network."""

    code = "fetch_failed"
    http_status = 502


class AddressRefusedError(FetchError):
    """The address is none that may be fetched. Nothing was connected to."""

    code = "address_refused"
    http_status = 422


@dataclass(frozen=True, slots=True)
class Limits:
    """``total_s`` is wall-clock time over all redirects; ``max_bytes`` holds on the wire and unpacked. A body of a type
    that is not among ``media_types`` is not read.
    """

    total_s: float
    connect_s: float
    max_bytes: int
    max_redirects: int
    media_types: tuple[str, ...] = (*HTML, *PLAIN)
    ports: frozenset[int] = frozenset({80, 443})
    may_connect_to: Callable[[IPAddress], bool] = addresses.is_public


@dataclass(frozen=True, slots=True)
class Fetched:
    """A body and where it came from. ``charset`` is what the header said, "" for nothing."""

    url: str
    media_type: str
    charset: str
    body: bytes


def fetch(
    url: str,
    *,
    limits: Limits,
    cancellation: Cancellation,
    resolve: Resolver = addresses.resolve,
    tls: ssl.SSLContext | None = None,
) -> Fetched:
    """The page at ``url``, following redirects. ``tls``: whom to trust; the system's authorities when None.

    Raises ``AddressRefusedError`` before it connects to such an address, ``FetchError`` for everything that goes wrong
    afterwards, and ``Cancelled`` soon after ``cancellation`` is set.
    """
    watch = _Watch(time.monotonic() + limits.total_s, cancellation)
    for _ in range(limits.max_redirects + 1):
        target = _parsed(url, limits)
        pinned = _vetted(target, limits, watch, resolve)
        backend = _PinnedBackend(pinned, limits.connect_s, watch)
        with _requested(target, backend, tls) as response:
            headers = _as_mapping(response.headers)
            if response.status not in _REDIRECTS or "location" not in headers:
                return _read(target, response, headers, limits)
        url = _joined(target, headers["location"])
    raise FetchError(f"The page redirects more than {limits.max_redirects} times.")


@dataclass(frozen=True, slots=True)
class _Watch:
    """The end of patience: a moment on the monotonic clock, or a stop."""

    ends_at: float
    cancellation: Cancellation

    def left_s(self) -> float:
        """Seconds that are left, more than 0. Raises ``FetchError`` when there are none, and ``Cancelled``."""
        if self.cancellation.is_set:
            raise Cancelled("Stopped.")
        left_s = self.ends_at - time.monotonic()
        if left_s <= 0:
            raise FetchError("The page took too long.")
        return left_s


def _parsed(url: str, limits: Limits) -> httpx2.URL:
    """The address, canonical, when it is of a kind that is fetched."""
    if "\\" in url or any(character.isspace() for character in url):
        raise AddressRefusedError("A web address has no spaces and no backslashes.")
    try:
        target = httpx2.URL(url)
    except (httpx2.InvalidURL, UnicodeError) as error:  # UnicodeError: half a character
        raise AddressRefusedError("That is not a web address.") from error
    if target.scheme not in _DEFAULT_PORTS:
        raise AddressRefusedError("Only addresses that begin with http:// or https:// can be fetched.")
    if target.userinfo:
        raise AddressRefusedError("An address with a user name or password in it is not fetched.")
    if _port(target) not in limits.ports:
        raise AddressRefusedError("Only the usual web ports, 80 and 443, can be fetched.")
    if len(str(target)) > _MAX_URL_CHARS:
        raise AddressRefusedError(f"An address of more than {_MAX_URL_CHARS:,} characters is not fetched.")
    return target.copy_with(fragment=None)


def _port(target: httpx2.URL) -> int:
    return _DEFAULT_PORTS[target.scheme] if target.port is None else target.port


def _vetted(target: httpx2.URL, limits: Limits, watch: _Watch, resolve: Resolver) -> Sequence[IPAddress]:
    """The addresses behind the host, every one of which may be connected to."""
    host = target.raw_host.decode("ascii")
    found = _literal(host) or _resolved(host, _port(target), watch, resolve)
    if not all(limits.may_connect_to(address) for address in found):
        raise AddressRefusedError("That address is not on the public internet.")
    return found


def _literal(host: str) -> Sequence[IPAddress]:
    """The address that ``host`` spells, in the canonical spelling only; nothing for a name."""
    try:
        return [ip_address(host)]
    except ValueError:
        if not _HOST_NAME.fullmatch(host) or _NUMERIC_END.search(host):
            raise AddressRefusedError("That is not the name of a host.") from None
        return []


def _resolved(host: str, port: int, watch: _Watch, resolve: Resolver) -> Sequence[IPAddress]:
    """Resolved in a thread of its own: the system's resolver knows no deadline."""
    answers: list[Sequence[IPAddress]] = []
    is_done = threading.Event()

    def look_up() -> None:
        try:
            answers.append(resolve(host, port))
        except (OSError, ValueError):  # ValueError: a name or an answer that is none
            logger.info("A host name to fetch from was not resolved.")
        finally:
            is_done.set()

    threading.Thread(target=look_up, name="resolve", daemon=True).start()
    while not is_done.wait(min(_LOOK_S, watch.left_s())):
        pass
    if not answers or not answers[0]:
        raise FetchError("There is no host of that name.")
    return answers[0]


@contextmanager
def _requested(
    target: httpx2.URL, backend: "_PinnedBackend", tls: ssl.SSLContext | None
) -> Iterator[httpcore2.Response]:
    """The answer, its body unread; the connection ends with the block."""
    url = httpcore2.URL(
        scheme=target.raw_scheme, host=target.raw_host, port=_port(target), target=target.raw_path
    )
    request = httpcore2.Request(b"GET", url, headers=[(b"Host", _host_header(target)), *_HEADERS])
    with (
        _explained(),
        httpcore2.HTTPConnection(url.origin, ssl_context=tls, network_backend=backend) as connection,
    ):
        yield connection.handle_request(request)


def _host_header(target: httpx2.URL) -> bytes:
    """Without the default port, which ``netloc`` keeps when it was written out for the other scheme."""
    host = target.raw_host if b":" not in target.raw_host else b"[" + target.raw_host + b"]"
    port = _port(target)
    return host if port == _DEFAULT_PORTS[target.scheme] else host + b":%d" % port


@contextmanager
def _explained() -> Iterator[None]:
    """What goes wrong on the network, as a sentence."""
    try:
        yield
    except httpcore2.ConnectError as error:
        if isinstance(error.__cause__, ssl.SSLError):
            raise FetchError(
                "The server's certificate does not prove that it is the right server."
            ) from error
        raise FetchError("The server cannot be reached.") from error
    except httpcore2.TimeoutException as error:
        raise FetchError("The server does not answer.") from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
        raise FetchError("The server broke off, or did not speak proper HTTP.") from error


def _as_mapping(headers: Iterable[tuple[bytes, bytes]]) -> Mapping[str, str]:
    """The first of each, by its name in lower case."""
    first: dict[str, str] = {}
    for name, value in headers:
        first.setdefault(name.decode("latin-1").lower(), value.decode("utf-8", "replace").strip())
    return first


def _joined(base: httpx2.URL, location: str) -> str:
    try:
        return str(base.join(location))
    except httpx2.InvalidURL as error:
        raise AddressRefusedError("The page redirects to something that is not a web address.") from error


def _read(
    target: httpx2.URL, response: httpcore2.Response, headers: Mapping[str, str], limits: Limits
) -> Fetched:
    if response.status != 200:
        raise FetchError(f"The server answered with status {response.status} instead of a page.")
    content_type = headers.get("content-type", "")
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type not in limits.media_types:
        raise FetchError(
            f"The address leads to {media_type[:80] or 'something without a type'}, not to text."
        )
    charset = _CHARSET.search(content_type)
    return Fetched(
        url=str(target),
        media_type=media_type,
        charset=charset[1] if charset else "",
        body=_body(response.iter_stream(), headers.get("content-encoding", "").lower(), limits.max_bytes),
    )


def _body(chunks: Iterable[bytes], encoding: str, max_bytes: int) -> bytes:
    if encoding in {"", "identity"}:
        return b"".join(_bounded(chunks, max_bytes))
    if encoding in {"gzip", "x-gzip"}:
        return _unpacked(_bounded(chunks, max_bytes), max_bytes)
    raise FetchError("The page is compressed in a way that was not asked for.")


def _bounded(chunks: Iterable[bytes], max_bytes: int) -> Iterator[bytes]:
    received = 0
    for chunk in chunks:
        received += len(chunk)
        if received > max_bytes:
            raise _too_large(max_bytes)
        yield chunk


def _unpacked(chunks: Iterable[bytes], max_bytes: int) -> bytes:
    gzip = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    body, received = bytearray(), 0
    for chunk in chunks:
        received += len(chunk)
        try:
            body += gzip.decompress(chunk, max_bytes + 1 - len(body))
        except zlib.error as error:
            raise FetchError("The page cannot be unpacked.") from error
        if len(body) > max_bytes:
            raise _too_large(max_bytes)
        if len(body) > max(_RATIO_COUNTS_FROM_BYTES, _MAX_RATIO * received):
            raise FetchError("The page unpacks to far more than a page: it was not read.")
        if gzip.eof:
            return bytes(body)
    raise FetchError("The page ended before its end.")


def _too_large(max_bytes: int) -> FetchError:
    return FetchError(f"The page is larger than the {max_bytes:,} bytes that are read.")


class _PinnedBackend(httpcore2.NetworkBackend):
    """Connects to addresses that were vetted, whatever the name behind them says by now."""

    def __init__(self, pinned: Sequence[IPAddress], connect_s: float, watch: _Watch) -> None:
        self._pinned = pinned[:_MAX_ADDRESSES]
        self._connect_s = connect_s
        self._watch = watch

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the watch knows better, here and below
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        unreachable: Exception = httpcore2.ConnectError(f"no address for {host}")
        for address in self._pinned:
            try:
                stream = httpcore2.SyncBackend().connect_tcp(
                    str(address), port, self._patience_s(), local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                unreachable = error
            else:
                return _WatchedStream(stream, self._connect_s, self._watch)
        raise unreachable

    def _patience_s(self) -> float:
        return min(self._connect_s, self._watch.left_s())


class _WatchedStream(httpcore2.NetworkStream):
    """A connection that ends in time however slowly the other side drips, and soon after a stop."""

    def __init__(self, stream: httpcore2.NetworkStream, connect_s: float, watch: _Watch) -> None:
        self._stream = stream
        self._connect_s = connect_s
        self._watch = watch

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        while True:
            try:
                return self._stream.read(max_bytes, min(_LOOK_S, self._watch.left_s()))
            except httpcore2.ReadTimeout:
                continue

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        self._stream.write(buffer, self._watch.left_s())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore2.NetworkStream:
        patience_s = min(self._connect_s, self._watch.left_s())
        secured = self._stream.start_tls(ssl_context, server_hostname, patience_s)
        return _WatchedStream(secured, self._connect_s, self._watch)

    def get_extra_info(self, info: str) -> Any:  # as the library declares it
        return self._stream.get_extra_info(info)
