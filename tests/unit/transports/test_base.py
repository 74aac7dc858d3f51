"""What a transport of another package is told when something of it is missing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from streamgauge import registry
from streamgauge.errors import NotReady, UsageError
from tests.plugins import Plugins

BARE = """
from streamgauge.transports.base import BaseTransport

class Bare(BaseTransport):
    name = "bare"
    title = "nothing yet"

class Mute(Bare):
    def endpoint(self, services): ...
    def open(self, endpoints): ...
    def reader(self, endpoints): ...
    def outlet(self, endpoints): ...
    def read_back(self, trial, endpoints, folder, ends): ...

class Whole(Mute):
    def outgoing(self, endpoints, load, *, asks): ...
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    plugins = Plugins(tmp_path / "site")
    monkeypatch.syspath_prepend(plugins.folder)
    classes = {name.lower(): f"toy_transports:{name}" for name in ("Bare", "Mute", "Whole")}
    plugins.install("toy_transports", BARE, {"transports": classes})
    yield
    plugins.forget()


@pytest.mark.usefixtures("installed")
def test_what_is_missing_is_named_before_anything_starts() -> None:
    with pytest.raises(NotReady, match=r"'bare' is not complete: .*endpoint, open, outlet, read"):
        registry.transport("bare")
    with pytest.raises(NotReady, match="Mute has neither `outgoing` nor its own `sending`"):
        registry.transport("mute")
    assert registry.transport("whole").title == "nothing yet"


@pytest.mark.usefixtures("installed")
def test_an_engine_that_cannot_use_it_names_transports_that_it_can() -> None:
    with pytest.raises(UsageError, match="'whole' cannot be used by engine 'spark'") as raised:
        registry.implementation("whole", "spark", "transports")
    assert raised.value.remedy == "Transports that can: flight, kafka."
