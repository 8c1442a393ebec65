"""A web server on the loopback that plays pages from a script, and the limits with which a test may fetch from it."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address

from memoryapp.tooling.addresses import IPAddress, is_public
from memoryapp.tooling.fetching import Limits

LOOPBACK = ip_address("127.0.0.1")
Reply = bytes | Callable[[socket.socket, threading.Event], None]


def page(
    body: bytes | str = b"", *, status: str = "200 OK", content_type: str = "text/plain", **headers: str
) -> bytes:
    """A whole reply; ``headers`` by their names with underscores, and over those that are always there."""
    body = body.encode() if isinstance(body, str) else body
    every = {"content_type": content_type, "content_length": str(len(body))} | headers
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in every.items()]
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode() + body


def redirect(location: str, status: str = "302 Found") -> bytes:
    return page(status=status, location=location)


@dataclass
class Server:
    """``requests``: what was asked for, as it came. ``replies``: by target; what is not there is a 404."""

    port: int
    replies: dict[str, Reply] = field(default_factory=dict)
    requests: list[bytes] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)  # of the server, as TLS said them
    is_over: threading.Event = field(default_factory=threading.Event)

    def url(self, target: str = "/", host: str = "page.example") -> str:
        return f"http://{host}:{self.port}{target}"

    def serve(self, connection: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            received = connection.recv(65_536)
            if not received:
                return
            head += received
        self.requests.append(head)
        reply = self.replies.get(head.split(b" ")[1].decode(), page("", status="404 Not Found"))
        if isinstance(reply, bytes):
            connection.sendall(reply)
        else:
            reply(connection, self.is_over)


@contextmanager
def serving(tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    """A server until the end of the block; its threads end with it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server(listener.getsockname()[1])
        threads: list[threading.Thread] = []

        def answer(connection: socket.socket) -> None:
            connection.settimeout(10)
            try:
                with tls.wrap_socket(connection, server_side=True) if tls else connection as secured:
                    server.serve(secured)
            except OSError:
                pass  # the client has what it wants, or wants no more
            finally:
                connection.close()

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                threads.append(threading.Thread(target=answer, args=(connection,)))
                threads[-1].start()

        if tls:
            tls.sni_callback = lambda _socket, name, _context: server.names.append(name)
        threads.append(threading.Thread(target=accept))
        threads[0].start()
        try:
            yield server
        finally:
            server.is_over.set()
            listener.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join()


def limits(server: Server, **values) -> Limits:
    """As configured, but for the one address and port of this server, which is no public one."""
    return Limits(
        **{
            "total_s": 10.0,
            "connect_s": 5.0,
            "max_bytes": 100_000,
            "max_redirects": 5,
            "ports": frozenset({80, 443, server.port}),
            "may_connect_to": lambda address: address == LOOPBACK or is_public(address),
            **values,
        }
    )


def everywhere(host: str, port: int) -> list[IPAddress]:
    """A resolver for which every name is this machine."""
    return [LOOPBACK]
