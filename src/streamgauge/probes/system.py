"""The machine as a whole: load, stolen time and network."""

from __future__ import annotations

import os
from pathlib import Path

import psutil


class SystemUsage:
    """Turns the kernel's counters into rates since the last sample."""

    def __init__(self) -> None:
        self._last: dict[str, float] | None = None
        self._at_s = 0.0

    def sample(self, at_s: float) -> dict[str, float]:
        """Return load.1m, steal in cores, bytes and packets per second by network interface."""
        counters = _counters()
        row = {"load.1m": os.getloadavg()[0]}
        if self._last is not None and at_s > self._at_s:
            row |= {
                name: (value - self._last.get(name, value)) / (at_s - self._at_s)
                for name, value in counters.items()
            }
        self._last, self._at_s = counters, at_s
        return row


def _counters() -> dict[str, float]:
    ticks = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    counters = {"steal": int(ticks[8]) / os.sysconf("SC_CLK_TCK")}
    for interface, sums in psutil.net_io_counters(pernic=True).items():
        counters[f"network.{interface}"] = float(sums.bytes_sent + sums.bytes_recv)
        counters[f"packets.{interface}"] = float(sums.packets_sent + sums.packets_recv)
    return counters
