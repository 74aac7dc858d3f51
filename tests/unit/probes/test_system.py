"""The machine as a whole, from the kernel's own counters."""

import socket

from streamgauge.probes.system import SystemUsage


def test_bytes_and_packets_through_loopback_are_counted_per_second() -> None:
    usage = SystemUsage()
    usage.sample(100.0)
    with socket.socket(type=socket.SOCK_DGRAM) as to, socket.socket(type=socket.SOCK_DGRAM) as by:
        to.bind(("127.0.0.1", 0))
        for _ in range(200):
            by.sendto(b"x" * 100, to.getsockname())
    row = usage.sample(102.0)
    assert row["packets.lo"] >= 200  # sent and received, in two seconds
    assert row["network.lo"] >= 200 * 100
    assert row["load.1m"] >= 0
