"""Which addresses on the network a tool may connect to: those of the public internet, and no other.

The standard library's ``is_global`` alone lets multicast through and does not look into addresses that carry another
one (IPv4-mapped, NAT64), so what it says is only part of the answer.
"""

import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

IPAddress = IPv4Address | IPv6Address

_GLOBAL_UNICAST = IPv6Network("2000::/3")  # the only part of IPv6 that is given out (RFC 4291)
_NAT64 = IPv6Network("64:ff9b::/96")  # what an IPv6-only network's resolver answers for IPv4 hosts (RFC 6052)
# Looks public and is not: a cloud's platform service, anycast and tunnels into IPv4, documentation and test ranges
# that this version of the standard library does not know.
_NOT_PUBLIC = [
    ip_network(network)
    for network in (
        "168.63.129.16/32",  # Azure's platform service
        "192.0.0.0/24",  # special purposes (RFC 6890), among them a cloud's metadata
        "192.88.99.0/24",  # 6to4 relays (RFC 7526)
        "2001::/23",  # special purposes (RFC 2928), among them Teredo, which carries IPv4
        "2002::/16",  # 6to4, which carries IPv4
        "3fff::/20",  # documentation (RFC 9637)
    )
]


def is_public(address: IPAddress) -> bool:
    """Whether everyone on the internet reaches the same host at this address.

    An address that carries an IPv4 address is judged by that one; one with a zone is never public.
    """
    if isinstance(address, IPv6Address):
        if address.scope_id:
            return False
        if carried := _carried(address):
            return is_public(carried)
        if address not in _GLOBAL_UNICAST:
            return False
    if any(address in network for network in _NOT_PUBLIC):
        return False
    return address.is_global and not address.is_multicast


def resolve(host: str, port: int) -> Sequence[IPAddress]:
    """Every address of ``host``, in the system's order. Raises ``OSError`` when there is none."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [ip_address(address[0]) for *_, address in found]


def _carried(address: IPv6Address) -> IPv4Address | None:
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped
