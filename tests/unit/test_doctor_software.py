from pathlib import Path

import pytest

from streamgauge.doctor import services, software
from streamgauge.errors import NotReady
from streamgauge.services import jars
from streamgauge.services.java import Java
from streamgauge.services.running import RunningService


def no_java():
    raise NotReady("Java 17 or newer is needed: java is version 11.0.2", "install Java 17")


def test_java_that_is_too_old_is_missing_with_its_version_and_remedy():
    finding = software.java(no_java)
    assert finding.state == "missing"
    assert "11.0.2" in finding.value
    assert finding.remedy == "install Java 17"


def test_java_that_is_there_tells_where():
    found = Java(Path("/opt/j"), Path("/opt/j/bin/java"), "21.0.1", "JAVA_HOME")
    assert software.java(lambda: found).value == "21.0.1 (JAVA_HOME: /opt/j/bin/java)"


@pytest.mark.parametrize("component", software.components())
def test_jars_that_are_not_cached_are_a_warning(component, tmp_path, monkeypatch):
    monkeypatch.setenv("STREAMGAUGE_CACHE_DIR", str(tmp_path / "cache"))
    finding = software.jars_of(component)
    count = len(jars.locked_jars(component))
    assert (finding.state, finding.value) == ("warn", f"{count} of {count} not cached yet")


class Imaginary:
    name = "imaginary"
    needs = ()

    def __init__(self, error=None):
        self.error = error
        self.log = []

    def begin(self, stack, needed):
        if self.error:
            raise self.error
        self.log.append("up")
        stack.callback(self.log.append, "down")
        return lambda: RunningService(self.name, "toy", None)


def test_a_service_is_started_and_stopped():
    service = Imaginary()
    finding = services.startable("imaginary", [service], clock=iter([1.0, 3.5]).__next__)
    assert finding.value == "ready in 2.5 s, stopped again"
    assert service.log == ["up", "down"]


def test_a_service_that_does_not_start_is_missing_with_its_reason():
    finding = services.startable("imaginary", [Imaginary(NotReady("no room", "Free some."))])
    assert (finding.state, finding.value, finding.remedy) == ("missing", "no room", "Free some.")


def test_leftovers_are_named():
    assert services.leftovers([]).value == "none"
    assert services.leftovers(["kafka-12ab"]).state == "warn"
    assert services.removed_leftovers([]).value == "none"
    assert services.removed_leftovers(["kafka-12ab"]).value == "removed: kafka-12ab"
