"""Fetching what a model names: nowhere but the public web, and never for longer or more than allowed."""

import datetime as dt
import gzip
import random
import socket
import ssl
import threading
import time
import tracemalloc
import zlib
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from memoryapp.llm.base import Cancellation
from memoryapp.llm.errors import Cancelled
from memoryapp.tooling.addresses import resolve
from memoryapp.tooling.fetching import AddressRefusedError, FetchError, Limits, fetch
from tests.tooling.serving import LOOPBACK, everywhere, limits, page, redirect, serving

PUBLIC, PRIVATE = ip_address("93.184.215.14"), ip_address("10.0.0.7")
STRICT = Limits(total_s=5, connect_s=5, max_bytes=100_000, max_redirects=5)


@pytest.fixture
def connected(monkeypatch) -> list[tuple]:
    """Where a connection was tried; it is refused at once."""
    tried = []

    def connect(_self, address):
        tried.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket.socket, "connect", connect)
    return tried


@pytest.fixture
def server():
    with serving() as server:
        yield server


def get(url: str, allowed: Limits = STRICT, *, resolver=resolve, cancellation=None, tls=None):
    return fetch(url, limits=allowed, cancellation=cancellation or Cancellation(), resolve=resolver, tls=tls)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "169.254.169.254",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "127.1",
        "017700000001",
        "0177.0.0.1",
        "127.0.0.1.",
        "１２７.0.0.1",
        "[64:ff9b::7f00:1]",
        "100.64.0.1",
        "[fe80::1%lo]",
        "[fe80::1%25lo]",
        "10.0.0.1",
        "192.168.0.1",
        "[fd00:ec2::254]",
        "168.63.129.16",
    ],
)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_s1_a_host_that_is_not_public_is_never_connected_to(connected, scheme, host):
    with pytest.raises(AddressRefusedError):
        get(f"{scheme}://{host}/")

    assert connected == []


@pytest.mark.parametrize("host", ["localhost", "localhost.", "LOCALHOST", "printer", "127.0.0.1.nip.example"])
def test_s1_a_name_for_a_host_that_is_not_public_is_never_connected_to(connected, host):
    with pytest.raises(AddressRefusedError):
        get(f"http://{host}/", resolver=everywhere)

    assert connected == []


@pytest.mark.parametrize("port", [0, 22, 25, 81, 5432, 6379, 8000, 8443, 65_536, 99_999])
def test_s1_other_ports_than_those_of_the_web_are_refused(connected, port):
    with pytest.raises(AddressRefusedError):
        get(f"http://page.example:{port}/", resolver=lambda *_: [PUBLIC])

    assert connected == []


@pytest.mark.parametrize(
    "answers",
    [
        [PRIVATE],
        [PUBLIC, PRIVATE],
        [PRIVATE, PUBLIC],
        [PUBLIC, ip_address("::1")],
        [PUBLIC, ip_address("::ffff:10.0.0.7")],
    ],
)
def test_s2_one_address_that_is_not_public_spoils_all(connected, answers):
    with pytest.raises(AddressRefusedError):
        get("http://page.example/", resolver=lambda *_: answers)

    assert connected == []


def test_s2_a_name_that_changes_its_mind_is_still_connected_to_where_it_was_vetted(connected):
    answers = [[PUBLIC], [PRIVATE], [LOOPBACK]]

    with pytest.raises(FetchError, match="cannot be reached"):
        get("http://page.example/", resolver=lambda *_: answers.pop(0))

    assert connected == [(str(PUBLIC), 80)]
    assert len(answers) == 2


def test_the_next_address_is_tried_when_one_is_down(server):
    server.replies["/"] = page("here")
    down = ip_address("127.0.0.2")

    found = get(
        server.url(),
        limits(server, may_connect_to=lambda address: address in (LOOPBACK, down)),
        resolver=lambda *_: [down, LOOPBACK],
    )

    assert found.body == b"here"


@pytest.mark.parametrize(
    "status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"]
)
@pytest.mark.parametrize(
    "location",
    [
        "http://10.0.0.7/",
        "http://169.254.169.254/latest/meta-data/",
        "//10.0.0.7/",
        "http://internal.example/",
        "http://page.example:6379/",
        "file:///etc/passwd",
        "http://user@page.example/",
        "http:\\\\10.0.0.7",
        "http://[",
    ],
)
def test_s3_a_redirect_is_vetted_like_the_first_address(server, status, location):
    server.replies["/"] = redirect(location, status)
    names = {"page.example": [LOOPBACK], "internal.example": [PRIVATE]}

    with pytest.raises(AddressRefusedError):
        get(server.url(), limits(server), resolver=lambda host, _: names[host])

    assert len(server.requests) == 1


def test_s3_every_hop_is_resolved_and_vetted_anew(server):
    server.replies |= {"/": redirect("/two"), "/two": page("never")}
    answers = [[LOOPBACK], [PRIVATE]]

    with pytest.raises(AddressRefusedError):
        get(server.url(), limits(server), resolver=lambda *_: answers.pop(0))

    assert len(server.requests) == 1


def test_s3_a_refresh_is_not_followed(server):
    server.replies["/"] = page("as it is", refresh="0; url=/secret")

    found = get(server.url(), limits(server), resolver=everywhere)

    assert found.body == b"as it is"
    assert len(server.requests) == 1


@pytest.mark.parametrize("allowed", [0, 1, 5])
def test_s3_redirects_end(server, allowed):
    server.replies["/"] = redirect("/")

    with pytest.raises(FetchError, match=f"more than {allowed} times"):
        get(server.url(), limits(server, max_redirects=allowed), resolver=everywhere)

    assert len(server.requests) == allowed + 1


def test_a_chain_within_the_limit_ends_at_its_last_address(server):
    server.replies |= {f"/{n}": redirect(f"{n + 1}") for n in range(5)}
    server.replies["/5"] = page("there")

    found = get(server.url("/0#top"), limits(server), resolver=everywhere)

    assert (found.url, found.body) == (server.url("/5"), b"there")


@pytest.mark.parametrize(
    "url",
    [
        "http://a@127.0.0.1",
        "http://page.example@127.0.0.1/",
        "http://127.0.0.1@page.example/",
        "http://127.0.0.1:80\\@page.example",
        "http://127.0.0.1\\@page.example/",
        "http://page.example\\.internal/",
        "http://127.0.0.1\t.page.example/",
        "http://page.exa\nmple/",
        " http://page.example/",
        "http://page.example/ x",
        "http://page.example\u00a0/",
        "http://page.example/\x00",
        "http://page.example/\ud800",
        "../../etc/passwd",
        "http://127。0。0。1/",
        "http://127.0.0.1%2f@page.example/",
        "http://127.0.0.1%00.page.example/",
        "http://exam%70le.com/",
        "http://page..example/",
        "http://-page.example/",
        f"http://{'a' * 64}.example/",
        "http://[v1.page.example]/",
        "http://[::1/",
        "http:///path",
        "http:page.example",
        "//page.example",
        "page.example",
        "http://",
        "",
        "http://page.example/" + "a" * 4_000,
    ],
)
def test_s4_an_address_that_two_parsers_could_read_differently_is_refused(connected, url):
    with pytest.raises(AddressRefusedError):
        get(url, resolver=lambda *_: [PUBLIC])

    assert connected == []


def test_s4_what_comes_after_the_hash_is_no_host(server):
    server.replies["/"] = page("the page")

    found = get(server.url("#@127.0.0.1"), limits(server), resolver=everywhere)

    assert server.requests[0].startswith(b"GET / HTTP/1.1\r\n")
    assert found.url == server.url("")


def test_s4_the_name_that_is_resolved_is_the_one_that_was_parsed():
    asked = []

    with pytest.raises(FetchError):
        get("http://STRASSE。bücher.example/", resolver=lambda host, port: asked.append((host, port)))

    assert asked == [("strasse.xn--bcher-kva.example", 80)]


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "gopher://page.example/",
        "ftp://page.example/",
        "data:text/plain,hello",
        "ws://page.example/",
        "wss://page.example/",
        "javascript:alert(1)",
        "unix:///var/run/docker.sock",
    ],
)
def test_s5_other_schemes_are_refused(connected, url):
    with pytest.raises(AddressRefusedError):
        get(url, resolver=lambda *_: [PUBLIC])

    assert connected == []


def zipped(data: bytes) -> bytes:
    return page(gzip.compress(data), content_encoding="gzip")


def test_a_compressed_page_is_unpacked(server):
    text = random.Random(1).randbytes(40_000).hex().encode()
    server.replies["/"] = zipped(text)

    assert get(server.url(), limits(server), resolver=everywhere).body == text


def test_s6_a_small_body_that_unpacks_to_a_huge_one_is_not_unpacked(server):
    layer = zlib.compressobj(9, wbits=31)
    bomb = b"".join([layer.compress(bytes(1_000_000)) for _ in range(100)]) + layer.flush()
    assert len(bomb) < 100_000
    server.replies["/"] = page(bomb, content_encoding="gzip")

    tracemalloc.start()
    with pytest.raises(FetchError, match="larger than the 100,000 bytes"):
        get(server.url(), limits(server), resolver=everywhere)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak_bytes < 5_000_000


def test_s6_a_body_that_shrank_too_well_is_none_of_a_page(server):
    server.replies["/"] = zipped(bytes(150_000))

    with pytest.raises(FetchError, match="far more than a page"):
        get(server.url(), limits(server, max_bytes=1_000_000), resolver=everywhere)


def test_s6_empty_blocks_without_end_are_too_large(server):
    header, empty_block = b"\x1f\x8b\x08" + bytes(6) + b"\xff", b"\x00\x00\x00\xff\xff"
    server.replies["/"] = page(header + 30_000 * empty_block, content_encoding="gzip")

    with pytest.raises(FetchError, match="larger than"):
        get(server.url(), limits(server), resolver=everywhere)


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (page(gzip.compress(b"hello")[:-9], content_encoding="gzip"), "ended before its end"),
        (page(b"hello", content_encoding="gzip"), "cannot be unpacked"),
        (page(b"hello", content_encoding="br"), "was not asked for"),
        (page(gzip.compress(gzip.compress(b"x")), content_encoding="gzip, gzip"), "was not asked for"),
    ],
)
def test_s6_what_cannot_be_unpacked_is_said_so(server, reply, problem):
    server.replies["/"] = reply

    with pytest.raises(FetchError, match=problem):
        get(server.url(), limits(server), resolver=everywhere)


def test_s6_a_body_without_end_is_left_at_the_limit(server):
    sent = []

    def endless(connection, is_over):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        while not is_over.is_set():
            sent.append(connection.send(b"x" * 10_000))

    server.replies["/"] = endless

    with pytest.raises(FetchError, match="larger than"):
        get(server.url(), limits(server), resolver=everywhere)


def test_a_body_of_just_the_allowed_size_is_read(server):
    server.replies["/"] = page(b"x" * 100_000)

    assert len(get(server.url(), limits(server), resolver=everywhere).body) == 100_000


def drip(head: bytes):
    """A byte now and then, for 10 s, so that the connection is never silent for long."""

    def reply(connection, is_over):
        connection.sendall(head)
        for _ in range(500):
            if is_over.wait(0.02):
                return
            connection.sendall(b"x")

    return reply


def stall(head: bytes):
    def reply(connection, is_over):
        connection.sendall(head)
        is_over.wait(10)

    return reply


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000000\r\n"
SLOW = {
    "a body that drips": drip(HEAD + b"\r\n"),
    "a body that stalls": stall(HEAD + b"\r\nx"),
    "headers that drip": drip(HEAD + b"X-Slow: "),
    "headers that stall": stall(b""),
}


@pytest.mark.parametrize("reply", SLOW.values(), ids=SLOW)
def test_s6_a_slow_page_ends_with_the_time(server, reply):
    server.replies["/"] = reply
    started_at = time.monotonic()

    with pytest.raises(FetchError, match="took too long"):
        get(server.url(), limits(server, total_s=0.3), resolver=everywhere)

    assert time.monotonic() - started_at < 5


def test_s6_redirects_share_one_time(server):
    def slow_redirect(connection, is_over):
        is_over.wait(0.2)
        connection.sendall(redirect("/"))

    server.replies["/"] = slow_redirect

    with pytest.raises(FetchError, match="took too long"):
        get(server.url(), limits(server, total_s=0.5), resolver=everywhere)


def test_s6_a_resolver_that_never_answers_ends_with_the_time():
    is_over = threading.Event()

    with pytest.raises(FetchError, match="took too long"):
        get("http://page.example/", Limits(0.3, 0.3, 1_000, 0), resolver=lambda *_: is_over.wait(10))

    is_over.set()


@pytest.mark.parametrize("reply", SLOW.values(), ids=SLOW)
def test_a_stop_ends_a_fetch_that_waits(server, reply):
    cancellation = Cancellation()

    def reply_then_stop(connection, is_over):
        cancellation.set()
        reply(connection, is_over)

    server.replies["/"] = reply_then_stop

    with pytest.raises(Cancelled):
        get(server.url(), limits(server), resolver=everywhere, cancellation=cancellation)


@pytest.mark.parametrize(
    "reply",
    [
        HEAD + b"\r\nshort",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/plain\r\n\r\n5\r\nhel",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/plain\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\nContent-Type: text/plain\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000,
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"",
    ],
)
def test_s6_a_broken_reply_is_an_error(server, reply):
    server.replies["/"] = reply

    with pytest.raises(FetchError, match="broke off"):
        get(server.url(), limits(server), resolver=everywhere)


def test_s6_what_follows_the_announced_length_is_not_read(server):
    server.replies["/"] = page("hello, and more", content_length="5")

    assert get(server.url(), limits(server), resolver=everywhere).body == b"hello"


def test_s7_nothing_of_this_server_travels_along(server, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://proxy.invalid:3128")
    server.replies |= {"/?q=1": redirect("/next", "302 Found\r\nSet-Cookie: id=1"), "/next": page("done")}

    get(server.url("/?q=1"), limits(server), resolver=everywhere)

    for target, request in zip(["/?q=1", "/next"], server.requests, strict=True):
        assert request.decode().split("\r\n") == [
            f"GET {target} HTTP/1.1",
            f"Host: page.example:{server.port}",
            "User-Agent: Strata",
            "Accept: text/html, application/xhtml+xml, text/plain, application/json;q=0.9, text/*;q=0.8",
            "Accept-Encoding: gzip",
            "Connection: close",
            "",
            "",
        ]


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (page(status="404 Not Found"), "status 404"),
        (page(status="500 Oops"), "status 500"),
        (page(status="204 No Content"), "status 204"),
        (page(status="302 Found"), "status 302"),
        (page(content_type="application/pdf"), "leads to application/pdf, not to text"),
        (page(content_type="image/svg+xml"), "image/svg"),
        (page(content_type=""), "something without a type"),
    ],
)
def test_what_is_no_page_is_said_so(server, reply, problem):
    server.replies["/"] = reply

    with pytest.raises(FetchError, match=problem):
        get(server.url(), limits(server), resolver=everywhere)


@pytest.mark.parametrize(
    ("content_type", "media_type", "charset"),
    [
        ("text/html", "text/html", ""),
        ("Text/HTML; Charset=UTF-8", "text/html", "UTF-8"),
        ('text/html;x=1; charset = "iso-8859-1"', "text/html", "iso-8859-1"),
        ("text/plain; charset=", "text/plain", ""),
    ],
)
def test_the_type_is_told(server, content_type, media_type, charset):
    server.replies["/"] = page("x", content_type=content_type)

    found = get(server.url(), limits(server), resolver=everywhere)

    assert (found.media_type, found.charset) == (media_type, charset)


@pytest.mark.parametrize("answer", [None, []])
def test_a_name_without_an_address_is_said_so(answer):
    with pytest.raises(FetchError, match="no host of that name"):
        get("http://page.example/", resolver=lambda *_: answer)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A file with a certificate for page.example, its own authority, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "page.example")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("page.example")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "page.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path


@pytest.fixture
def secured(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with serving(context) as server:
        server.replies["/"] = page("secret")
        yield server


def test_the_name_stays_in_tls_while_the_connection_goes_to_the_vetted_address(secured, certificate):
    trusting = ssl.create_default_context(cafile=certificate)

    found = get(f"https://page.example:{secured.port}/", limits(secured), resolver=everywhere, tls=trusting)

    assert found.body == b"secret"
    assert secured.names == ["page.example"]
    assert f"Host: page.example:{secured.port}".encode() in secured.requests[0]


@pytest.mark.parametrize("is_trusted", [True, False])
def test_a_certificate_for_another_name_or_of_a_stranger_is_refused(secured, certificate, is_trusted):
    host = "other.example" if is_trusted else "page.example"
    tls = ssl.create_default_context(cafile=certificate) if is_trusted else None

    with pytest.raises(FetchError, match="certificate"):
        get(f"https://{host}:{secured.port}/", limits(secured), resolver=everywhere, tls=tls)

    assert secured.requests == []


def test_a_handshake_that_stalls_ends_with_the_time():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        allowed = Limits(
            0.3, 5, 1_000, 0, ports=frozenset({port}), may_connect_to=lambda address: address == LOOPBACK
        )

        with pytest.raises(FetchError):
            get(f"https://page.example:{port}/", allowed, resolver=everywhere)
