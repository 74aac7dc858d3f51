"""The business tables through a real Spark and a real PostgreSQL, for one warehouse."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamgauge.errors import NotReady, TrialInvalid, UsageError
from streamgauge.services.postgres.embedded import EmbeddedPostgres
from streamgauge.services.postgres.endpoint import PostgresEndpoint
from streamgauge.validation.session import Session
from streamgauge.workloads.espbench import tables
from streamgauge.workloads.espbench.rows import Part
from streamgauge.workloads.espbench.schema import TABLES

SEED = 4
POL = "production_order_line"

pytestmark = [pytest.mark.integration, pytest.mark.spark]


@pytest.fixture(scope="module")
def spark(validator: Session) -> SparkSession:
    return validator.get()


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tables.generate(spark, 1, SEED, tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresEndpoint]:
    with EmbeddedPostgres().up() as service:
        yield service.endpoint


@pytest.fixture(scope="module")
def loaded(postgres: PostgresEndpoint, folder: Path) -> PostgresEndpoint:
    endpoint = replace(postgres, schema="Own schema")
    tables.load(endpoint, folder)
    return endpoint


@pytest.fixture
def connection(loaded: PostgresEndpoint) -> Iterator[psycopg.Connection]:
    options = '-c search_path="Own\\ schema"'
    with psycopg.connect(**loaded.connection(), options=options, autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize("name", TABLES)
def test_spark_writes_the_rows_that_the_rules_give(folder: Path, name: str) -> None:
    assert tables.pristine(folder, name).equals(Part(name, 0, 10, 1, SEED).make())


def test_cached_tables_are_taken_as_they_are(folder: Path) -> None:
    no_session = None
    assert tables.generate(no_session, 1, SEED, folder.parent) == folder


def test_nothing_but_the_tables_is_left_in_the_cache(folder: Path) -> None:
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    files = {path.suffix for path in folder.rglob("*") if path.is_file()}
    assert files == {".parquet", ".json"}


def test_two_at_once_do_not_harm_each_other(spark: SparkSession, tmp_path: Path) -> None:
    found: list[Path] = []

    def generate() -> None:
        found.append(tables.generate(spark, 1, SEED + 1, tmp_path))

    threads = [threading.Thread(target=generate) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [tables.folder(tmp_path, 1, SEED + 1)] * 2
    assert list(tmp_path.iterdir()) == found[:1]
    assert tables.pristine(found[0], "item").num_rows == 100_000


def test_failed_job_leaves_no_folder(spark: SparkSession, tmp_path: Path) -> None:
    class Broken:
        def range(self, *_: int) -> None:
            raise RuntimeError("executor lost")

    with pytest.raises(RuntimeError, match="executor lost"):
        tables.generate(Broken(), 1, SEED, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", TABLES)
def test_tables_read_back_as_generated(loaded: PostgresEndpoint, folder: Path, name: str) -> None:
    assert tables.read(loaded, name).equals(tables.pristine(folder, name))


def test_loaded_tables_are_known_and_verified(loaded: PostgresEndpoint, folder: Path) -> None:
    assert tables.is_loaded(loaded, folder)
    assert not tables.is_loaded(loaded, tables.folder(folder.parent, 2, SEED))
    assert not tables.is_loaded(replace(loaded, schema="nowhere"), folder)
    tables.verify(loaded, folder)


def test_keys_are_enforced(connection: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        connection.execute('UPDATE "order" SET o_c_id = 0 WHERE o_id = 1')
    with pytest.raises(psycopg.errors.UniqueViolation):
        connection.execute("INSERT INTO workplace VALUES (1)")


def test_missing_row_is_found(
    loaded: PostgresEndpoint, folder: Path, connection: psycopg.Connection
) -> None:
    connection.execute("DELETE FROM production_order_line WHERE pol_o_id = 7")
    with pytest.raises(NotReady, match=r"production_order_line has .* rows instead of"):
        tables.verify(loaded, folder)
    tables.reset(loaded, folder, [POL])
    tables.verify(loaded, folder)


def test_missing_key_is_found(
    loaded: PostgresEndpoint, folder: Path, connection: psycopg.Connection
) -> None:
    key = "production_order_line_workplace_fkey"
    connection.execute(f"ALTER TABLE production_order_line DROP CONSTRAINT {key}")
    with pytest.raises(NotReady, match=f"{key} is not declared"):
        tables.verify(loaded, folder)
    tables.reset(loaded, folder, [POL])
    tables.verify(loaded, folder)


def test_reset_undoes_whatever_was_done(
    loaded: PostgresEndpoint, folder: Path, connection: psycopg.Connection
) -> None:
    connection.execute(
        "UPDATE production_order_line SET pol_start_ts = now(), pol_quantity = 9"
        " WHERE pol_o_id < 1000"
    )
    connection.execute("INSERT INTO production_order_line VALUES (1, 1, 2, 1, 1, 1)")
    connection.execute("INSERT INTO workplace VALUES (999)")
    connection.execute("UPDATE workplace SET wp_downtime_start = now() WHERE wp_id IN (1, 2)")
    assert not tables.read(loaded, "workplace").equals(tables.pristine(folder, "workplace"))
    tables.reset(loaded, folder, ["workplace", POL])
    for name in ("workplace", POL):
        assert tables.read(loaded, name).equals(tables.pristine(folder, name))
    tables.verify(loaded, folder)


def test_reset_says_so_when_another_client_holds_the_table(
    loaded: PostgresEndpoint, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from streamgauge.workloads.espbench import database

    monkeypatch.setattr(database, "_SETTINGS", "-c lock_timeout=50ms")
    lock = 'LOCK TABLE "Own schema".production_order_line'
    with psycopg.connect(**loaded.connection()) as other:
        other.execute(lock)
        with pytest.raises(TrialInvalid, match="lock timeout") as caught:
            tables.reset(loaded, folder, [POL])
    assert loaded.password not in str(caught.value)


def test_downtime_is_written_to_the_millisecond(loaded: PostgresEndpoint, folder: Path) -> None:
    start_ms, end_ms = 1_700_000_000_123, 1_700_000_009_999
    tables.set_downtime(loaded, 3, start_ms, end_ms)
    row = tables.read(loaded, "workplace").slice(2, 1)
    assert row["wp_downtime_start"].cast(pa.int64()).to_pylist() == [start_ms * 1000]
    assert row["wp_downtime_end"].cast(pa.int64()).to_pylist() == [end_ms * 1000]
    tables.reset(loaded, folder, ["workplace"])


def test_downtime_of_an_unknown_workplace_is_refused(loaded: PostgresEndpoint) -> None:
    with pytest.raises(UsageError, match="no workplace 12"):
        tables.set_downtime(loaded, 12, 0, 1)


def test_times_are_set_when_each_of_them_is(
    loaded: PostgresEndpoint, folder: Path, connection: psycopg.Connection
) -> None:
    events = [b"1\t1\t1\t0", b"2\t3\t1\t1"]
    update = "UPDATE production_order_line SET {} = now() WHERE pol_o_id = %s"
    assert tables.times_set(loaded, [])
    assert not tables.times_set(loaded, events)
    connection.execute(update.format("pol_start_ts"), [1])
    assert not tables.times_set(loaded, events)
    connection.execute(update.format("pol_start_ts"), [2])
    assert not tables.times_set(loaded, events)
    connection.execute(update.format("pol_end_ts"), [2])
    assert tables.times_set(loaded, events)
    tables.reset(loaded, folder, [POL])


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("infinity", "9999-12-31"),
        ("-infinity", "0001-01-01"),
        ("4713-01-01 BC", "0001-01-01"),
        ("29999-01-01", "9999-12-31"),
    ],
)
def test_times_that_only_the_database_knows_are_read_as_far_as_ours_go(
    loaded: PostgresEndpoint,
    folder: Path,
    connection: psycopg.Connection,
    written: str,
    read: str,
) -> None:
    connection.execute(
        "UPDATE production_order_line SET pol_start_ts = %s::timestamptz"
        " WHERE (pol_o_id, pol_ol_number) = (1, 1)",
        [written],
    )
    first = tables.read(loaded, POL).slice(0, 2).to_pylist()
    assert [str(row["pol_start_ts"])[:10] for row in first] == [read, "None"]
    tables.reset(loaded, folder, [POL])


def test_a_table_that_was_read_says_when(
    loaded: PostgresEndpoint, connection: psycopg.Connection
) -> None:
    def now_ms() -> int:
        (at,) = connection.execute("SELECT clock_timestamp()").fetchone() or (None,)
        return int(at.timestamp() * 1000)

    before_ms = now_ms()
    metadata = tables.read(loaded, "workplace").schema.metadata
    assert before_ms <= int(metadata[b"read_ms"]) <= now_ms()


def test_a_table_that_is_gone_is_no_verdict(
    loaded: PostgresEndpoint, folder: Path, connection: psycopg.Connection
) -> None:
    connection.execute("ALTER TABLE production_order_line RENAME TO hidden")
    with pytest.raises(TrialInvalid, match=r"production_order_line.* does not exist"):
        tables.read(loaded, POL)
    connection.execute("ALTER TABLE hidden RENAME TO production_order_line")
    tables.verify(loaded, folder)


def test_loading_again_replaces_what_is_there(postgres: PostgresEndpoint, folder: Path) -> None:
    tables.load(postgres, folder)
    tables.load(postgres, folder)
    tables.verify(postgres, folder)


def test_database_that_is_gone_is_named(loaded: PostgresEndpoint, folder: Path) -> None:
    gone = replace(loaded, port=1)
    with pytest.raises(TrialInvalid, match=r"127\.0\.0\.1:1/"):
        tables.is_loaded(gone, folder)
