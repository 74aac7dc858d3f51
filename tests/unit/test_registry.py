from importlib.metadata import EntryPoint

import pytest

from streamgauge import registry
from streamgauge.errors import NotReady, UsageError


@pytest.fixture
def registered(tmp_path, monkeypatch):
    """A package of somebody else, registered in our groups."""
    package = tmp_path / "plugin_for_test"
    package.mkdir()
    (package / "__init__.py").write_text("class Flow:\n    name = 'flow'\n")
    (package / "spark.py").write_text("QUERIES = {'q': 1}\n")
    (package / "spark_facts.py").write_text("FACTS = {'q': 2}\n")
    (package / "flink.py").write_text("import package_that_is_not_there\n")
    monkeypatch.syspath_prepend(tmp_path)

    def entry(name, value):
        return EntryPoint(name, value, "streamgauge.workloads")

    entries = [
        entry("flow", "plugin_for_test:Flow"),
        entry("lame", "plugin_for_test.flink:Flow"),
        entry("gone", "plugin_for_test.gone:Flow"),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: entries)
    registry._entries.cache_clear()
    yield
    registry._entries.cache_clear()


@pytest.mark.usefixtures("registered")
class TestPlugins:
    def test_names_are_sorted_and_import_nothing(self):
        assert registry.names("workloads") == ["flow", "gone", "lame"]

    def test_load(self):
        assert registry.load("workloads", "flow").name == "flow"

    def test_unknown_name_lists_known_and_nearest(self):
        with pytest.raises(UsageError) as caught:
            registry.load("workloads", "flwo")
        assert caught.value.message == "unknown workload 'flwo'"
        assert caught.value.remedy == "Did you mean flow? Known: flow, gone, lame."

    def test_missing_package_is_named_with_its_remedy(self):
        with pytest.raises(NotReady) as caught:
            registry.load("workloads", "lame")
        assert "'package_that_is_not_there'" in caught.value.message
        assert "install package_that_is_not_there" in caught.value.remedy

    def test_registration_without_a_module_is_told_apart(self):
        with pytest.raises(NotReady, match=r"no module plugin_for_test\.gone"):
            registry.load("workloads", "gone")

    def test_implementation_is_the_file_of_that_engine(self):
        assert registry.implementation("flow", "spark").QUERIES == {"q": 1}

    def test_facts_stand_beside_it(self):
        assert registry.facts("flow", "spark").FACTS == {"q": 2}
        with pytest.raises(UsageError, match="no queries for engine 'flink'"):
            registry.facts("flow", "flink")

    def test_workload_without_queries_for_an_engine(self):
        with pytest.raises(UsageError, match="no queries for engine 'kafka-streams'"):
            registry.implementation("flow", "kafka-streams")

    def test_implementation_that_needs_a_missing_package(self):
        with pytest.raises(NotReady, match="package_that_is_not_there"):
            registry.implementation("flow", "flink")


def test_ours_are_registered():
    assert "espbench" in registry.names("workloads")
    assert "spark" in registry.names("engines")


def test_a_package_that_is_found_twice_is_one(plugins):
    for package in ("mine", "mine_again"):
        plugins.install(package, "class It: ...", {"transports": {"pigeon": "mine:It"}})
    assert registry.load("transports", "pigeon").__name__ == "It"


def test_a_name_of_ours_cannot_be_taken_silently(plugins):
    plugins.install("mine", "class It: ...", {"engines": {"spark": "mine:It"}})
    with pytest.raises(UsageError, match="two engines with the name 'spark'") as caught:
        registry.load("engines", "spark")
    assert "mine:It" in caught.value.message
    assert registry.names("engines").count("spark") == 1
    assert registry.load("engines", "noop") is not None


def test_whatever_a_package_does_when_it_is_imported_is_told(plugins):
    plugins.install("half", "1 / 0", {"services": {"store": "half:It"}})
    with pytest.raises(NotReady) as caught:
        registry.load("services", "store")
    assert caught.value.message == (
        "service 'store' does not load: ZeroDivisionError: division by zero"
    )
    assert caught.value.remedy == "Update or remove the package half."
