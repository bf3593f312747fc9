"""The fuse of conftest.py: tests cannot leave this machine."""

import os
import socket

import pytest

from tests.conftest import NetworkForbiddenError


@pytest.mark.parametrize(
    ("family", "address"),
    [
        (socket.AF_INET, ("192.0.2.1", 80)),
        (socket.AF_INET, ("example.invalid", 443)),
        (socket.AF_INET6, ("2001:db8::1", 80, 0, 0)),
    ],
)
def test_no_socket_reaches_another_machine(
    family: socket.AddressFamily, address: tuple[object, ...]
) -> None:
    with socket.socket(family) as one, pytest.raises(NetworkForbiddenError):
        one.connect(address)
    with socket.socket(family) as one, pytest.raises(NetworkForbiddenError):
        one.connect_ex(address)


def test_loopback_stays_open() -> None:
    with socket.socket() as server, socket.socket() as client:
        server.bind(("127.0.0.1", 0))
        server.listen()
        client.connect(server.getsockname())


def test_no_model_key_reaches_a_test() -> None:
    assert "OPENAI_API_KEY" not in os.environ
