"""Which addresses are public: everything that an attacker could name instead is not."""

from ipaddress import ip_address

import pytest

from memoryapp.tooling.addresses import is_public, resolve


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "93.184.215.14",
        "2606:4700::1111",
        "2001:4860:4860::8888",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",  # 8.8.8.8 on a network that has IPv6 only
    ],
)
def test_an_address_that_everyone_reaches_is_public(address):
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "127.0.0.1",
        "127.255.255.254",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "169.254.169.254",
        "192.0.0.192",
        "192.0.2.1",
        "192.88.99.1",
        "198.18.0.1",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "168.63.129.16",
        "100.100.100.200",
        "::",
        "::1",
        "::7f00:1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::ffff:100.64.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::808:808",
        "2002:7f00:1::",
        "2002:808:808::1",
        "2001:0:7f00:1::",
        "2001:db8::1",
        "3fff::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fe80::1%lo",
        "2606:4700::1111%eth0",
        "fec0::1",
        "ff02::1",
        "100::1",
    ],
)
def test_an_address_that_means_something_else_to_others_is_not(address):
    assert not is_public(ip_address(address))


def test_a_name_has_all_its_addresses():
    assert ip_address("127.0.0.1") in resolve("localhost", 80)


def test_a_name_that_is_none_has_no_address():
    with pytest.raises(OSError):
        resolve("no-such-host.invalid", 80)
