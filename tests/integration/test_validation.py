"""The validator against a real broker and a real Spark; each attack is caught and counted."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from uuid import uuid4

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from streamgauge.errors import TrialInvalid
from streamgauge.jobfile import JobSpec
from streamgauge.measure.columns import RECORDS
from streamgauge.services.kafka.admin import KafkaAdmin
from streamgauge.services.kafka.embedded import EmbeddedKafka
from streamgauge.services.kafka.endpoint import KafkaEndpoint
from streamgauge.services.running import RunningService
from streamgauge.spec.answers import AnswerContext
from streamgauge.spec.records import Recorded
from streamgauge.spec.transport import Records
from streamgauge.spec.trial import Counts
from streamgauge.transports.files import FileRecords, keep
from streamgauge.transports.kafka import records
from streamgauge.transports.kafka.records import KafkaRecords
from streamgauge.validation.session import Session
from streamgauge.validation.validator import Validation, validate
from streamgauge.workloads.espbench.workload import QUERIES
from tests.integration.trials import ours

pytestmark = [pytest.mark.integration, pytest.mark.spark]

BY_NAME = {query.name: query for query in QUERIES}
BEGIN = 1_700_000_000_000


@pytest.fixture
def session(validator: Session) -> Session:
    return validator


class Topics:
    """Makes topics and fills them."""

    def __init__(self, endpoint: KafkaEndpoint) -> None:
        self.endpoint = endpoint
        self._log = logging.getLogger("tests.topics")
        self._log.addHandler(logging.NullHandler())
        self._log.propagate = False
        self._admin = AdminClient(endpoint.client_settings(), logger=self._log)
        self._producer = Producer(
            endpoint.client_settings(enable_idempotence=True), logger=self._log
        )
        self._open: list[Producer] = []

    def filled(
        self, values: Sequence[bytes | None], partitions: int = 1, stamp: str = "LogAppendTime"
    ) -> KafkaRecords:
        topic = f"t{uuid4().hex}"
        config = {"message.timestamp.type": stamp}
        for made in self._admin.create_topics(
            [NewTopic(topic, partitions, config=config)]
        ).values():
            made.result()
        self.add(topic, values, partitions)
        return KafkaRecords(self.endpoint, topic)

    def add(self, topic: str, values: Sequence[bytes | None], partitions: int = 1) -> None:
        for number, value in enumerate(values):
            self._producer.produce(topic, value, partition=number % partitions)
        self._producer.flush()

    def filled_by_transactions(
        self, transactions: Sequence[tuple[Sequence[bytes], bool | None]]
    ) -> KafkaRecords:
        """Write each list of values in a transaction that is committed, aborted or left open."""
        records = self.filled([])
        for values, committed in transactions:
            settings = self.endpoint.client_settings(transactional_id=uuid4().hex)
            producer = Producer(settings, logger=self._log)
            producer.init_transactions(30)
            producer.begin_transaction()
            for value in values:
                producer.produce(records.topic, value, partition=0)
            producer.flush()
            if committed is not None:
                producer.commit_transaction() if committed else producer.abort_transaction()
            self._open.append(producer)
        return replace(records, gaps=True)

    def add_partitions(self, topic: str, count: int) -> None:
        for made in self._admin.create_partitions([NewPartitions(topic, count)]).values():
            made.result()


@pytest.fixture
def topics(kafka: RunningService[KafkaEndpoint]) -> Topics:
    return Topics(kafka.endpoint)


def sensor_line(mf01: int, mf03: int = 8_500, workplace: int = 1) -> bytes:
    mf02 = int(1.132 * mf01) - 398
    return b"2012-02-22T16:46:28.9670000+00:00\t7\t%d\t%d\t%d\t0042\t0\t%d" % (
        mf01,
        mf02,
        mf03,
        workplace,
    )


def sensor_values(count: int, seed: int = 1) -> list[bytes]:
    rng = np.random.default_rng(seed)
    mf01 = 13_000 + rng.integers(-300, 300, count)
    mf01[::10] += 3_000
    mf03 = np.where(np.arange(count) % 7 == 0, 8_000, 8_500)
    lines = zip(mf01.tolist(), mf03.tolist(), strict=True)
    return [b"%d;%d;%s" % (i, BEGIN + i, sensor_line(*line)) for i, line in enumerate(lines)]


def check(
    session: Session,
    name: str,
    inputs: Records,
    output: Records | None,
    tables: Mapping[str, pa.Table] | None = None,
    **options: bool,
) -> Validation:
    query = BY_NAME[name]
    job = JobSpec(workload="espbench", query=name, parameters={}, partitions=1, seed=1, options={})
    recorded = Recorded({query.streams[0]: inputs}, output)
    return validate(session.get(), query, recorded, tables or {}, job, **options)


def right_outputs(
    name: str, inputs: Records, tables: Mapping[str, pa.Table] | None = None
) -> list[bytes]:
    """Answer as an engine should, from the records as they lie in the topic."""
    answers = BY_NAME[name].answers
    context = AnswerContext({}, newest(inputs), tables or {})
    parts = []
    for partition, (low, high) in enumerate(inputs.extent()):
        records = pa.Table.from_batches(inputs.read(partition, low, high), RECORDS)
        parts.append(answers.expected(records, context))
    expected = answers.merge(pa.concat_tables(parts), context)
    values = [value for value in expected["value"].to_pylist() if value is not None]
    return [printed(value) for value in values] if name == "q2" else values


def printed(value: bytes) -> bytes:
    line, _, probability = value.rpartition(b",")
    return line + b",%.2f" % float(probability)


def right(count: int) -> Counts:
    return Counts(expected=count, correct=count)


def broken(count: int, **errors: int) -> Counts:
    lost = errors.get("wrong", 0) + errors.get("missing", 0)
    return Counts(expected=count, correct=count - lost, **errors)


def swapped(values: list[bytes], separator: bytes) -> list[bytes]:
    """Exchange the values of the first two keys."""
    (key, _, value), (other_key, _, other) = (v.partition(separator) for v in values[:2])
    return [key + separator + other, other_key + separator + value, *values[2:]]


def last_digit_altered(value: bytes) -> bytes:
    return value[:-1] + b"%d" % ((int(value[-1:]) + 1) % 10)


# ---- lines: identity, q3, q4


def test_attacks_on_q3_are_counted(session: Session, topics: Topics) -> None:
    values = sensor_values(1_000)
    inputs = topics.filled(values)
    first, second, third, fourth, fifth, sixth, seventh, eighth, *others = right_outputs(
        "q3", inputs
    )
    got = [
        *(last_digit_altered(first), *swapped([second, third], b";")),  # three wrong, one missing
        *(
            b"99999" + fifth,
            b"\xff\x00",
            b"",
            values[1],
        ),  # missing, too, and four that nobody expects
        *(sixth, sixth, eighth, seventh, *others),  # one twice; their order is free
    ]
    found = check(session, "q3", inputs, topics.filled(got))
    expected = 8 + len(others)
    assert fourth not in got
    assert found.counts == broken(expected, wrong=3, missing=2, duplicate=1, unexpected=4)
    assert len(found.latencies) == expected - 2
    assert len(found.examples) == 10
    assert found.inputs == 1_000


def test_one_missing_in_100_000_is_found(session: Session, topics: Topics) -> None:
    values = sensor_values(100_000)
    inputs = topics.filled(values, partitions=2)
    output = topics.filled([*values[:77_777], *values[77_778:]], partitions=2)
    found = check(session, "identity", inputs, output)
    assert found.counts == broken(100_000, missing=1)
    assert found.examples["key"].to_pylist() == ["77777"]
    assert found.inversions == 0


def test_inversions_are_counted_and_lateness_is_told(session: Session, topics: Topics) -> None:
    values = sensor_values(10)
    inputs = topics.filled([values[1], values[0], *values[2:]])
    found = check(session, "identity", inputs, None, answers=False)
    assert found.counts == Counts()
    assert found.inversions == 1
    assert found.times["intended"].to_pylist()[:3] == [BEGIN + 1, BEGIN, BEGIN + 2]
    assert pc.all(pc.greater(found.times["appended"], found.times["intended"])).as_py()


def test_nothing_sent_and_nothing_answered_is_nothing_wrong(
    session: Session, topics: Topics
) -> None:
    found = check(session, "identity", topics.filled([]), topics.filled([]))
    assert (found.counts, found.inputs) == (Counts(), 0)


def test_q4_follows_the_downtime_in_the_table(session: Session, topics: Topics) -> None:
    values = sensor_values(700)
    begin = datetime.fromtimestamp(BEGIN / 1000, UTC)
    stamp = pa.timestamp("us", tz="UTC")
    workplace = pa.table(
        {
            "wp_id": [1],
            "wp_downtime_start": pa.array([begin + timedelta(milliseconds=140)], stamp),
            "wp_downtime_end": pa.array([begin + timedelta(milliseconds=280)], stamp),
        }
    )
    inputs = topics.filled(values)
    low = [i for i in range(0, 700, 7) if not 140 <= i <= 280]
    tables = {"workplace": workplace}
    output = topics.filled([values[i] for i in low])
    assert check(session, "q4", inputs, output, tables).counts == right(len(low))
    all_low = topics.filled([values[i] for i in range(0, 700, 7)])
    found = check(session, "q4", inputs, all_low, tables)
    assert found.counts == broken(len(low), unexpected=100 - len(low))


# ---- q1


@pytest.fixture(scope="module")
def seconds_of_records(kafka: RunningService[KafkaEndpoint]) -> KafkaRecords:
    """Send small groups of records until their append times lie in five windows."""
    topics = Topics(kafka.endpoint)
    values = iter(sensor_values(1_000_000))
    records = topics.filled(list(islice(values, 10)), partitions=2)
    first_ms = newest(records)
    while newest(records) // 1000 < first_ms // 1000 + 4:
        topics.add(records.topic, list(islice(values, 10)), partitions=2)
    return records


def newest(records: Records) -> int:
    at_ms = records.newest_ms()
    assert at_ms is not None
    return at_ms


def test_attacks_on_q1_are_counted_and_the_last_window_is_ignored(
    session: Session, topics: Topics, seconds_of_records: KafkaRecords
) -> None:
    first, second, _, *others = outputs = right_outputs("q1", seconds_of_records)
    last = b"%d,1.000000,1,1,1" % (newest(seconds_of_records) // 1000 * 1000)
    other = b"1000,1.000000,1,1,1"
    got = topics.filled([first, first, last_digit_altered(second), *others, other, last])
    found = check(session, "q1", seconds_of_records, got)
    errors = {"wrong": 1, "missing": 1, "duplicate": 1, "unexpected": 1}
    assert (found.counts, found.ignored) == (broken(len(outputs), **errors), 1)


# ---- q2


def test_attacks_on_q2_are_counted(session: Session, topics: Topics) -> None:
    inputs = topics.filled(sensor_values(2_300), partitions=2)
    first, second, third, _, *others = outputs = right_outputs("q2", inputs)
    assert len(outputs) > 20
    line, _, probability = third.rpartition(b",")
    off = line + b",%.2f" % (float(probability) - 0.01)
    got = [*swapped([first, second], b";"), off, *others]
    found = check(session, "q2", inputs, topics.filled(got))
    assert found.counts == broken(len(outputs), wrong=3, missing=1)


def test_a_window_shifted_by_one_record_is_seen(session: Session, topics: Topics) -> None:
    # Two clusters, each with one point far off at the border between the windows. In its own
    # window the far point 500 stands alone among close ones; a window of 1–500 has it as well,
    # and leaves out record 0, the far one of the first window.
    mf01 = [13_000 + i % 20 for i in range(1_000)]
    mf01[0] = mf01[500] = 19_000
    values = [b"%d;%d;%s" % (i, BEGIN + i, sensor_line(m)) for i, m in enumerate(mf01)]
    inputs = topics.filled(values)
    outputs = right_outputs("q2", inputs)
    mine = {int(value.split(b";")[0]) for value in outputs}
    shifted_inputs = topics.filled(values[1:501])
    shifted = right_outputs("q2", shifted_inputs)
    theirs = {int(value.split(b";")[0]) for value in shifted}
    assert 0 in mine and 0 not in theirs
    assert 500 in mine and 500 in theirs
    found = check(session, "q2", inputs, topics.filled(shifted))
    common = mine & theirs
    same = {v for v in shifted if v in set(outputs)}
    assert found.counts == Counts(
        expected=len(mine),
        correct=len(same),
        wrong=len(common) - len(same),
        missing=len(mine - theirs),
        unexpected=len(theirs - mine),
    )
    assert found.counts.missing > 0


# ---- q5


def order_lines(times: Mapping[tuple[int, int], datetime | None], quantity: int = 5) -> pa.Table:
    """Make a table with an order line for each (order, is end), set at that time."""
    stamp = pa.timestamp("us", tz="UTC")
    orders = sorted({order for order, _ in times})
    return pa.table(
        {
            "pol_o_id": pa.array(orders, pa.int32()),
            "pol_ol_number": pa.array([1] * len(orders), pa.int32()),
            "pol_number": pa.array([1] * len(orders), pa.int32()),
            "pol_quantity": pa.array([quantity] * len(orders), pa.int32()),
            "pol_start_ts": pa.array([times[order, 0] for order in orders], stamp),
            "pol_end_ts": pa.array([times[order, 1] for order in orders], stamp),
        }
    )


def test_attacks_on_q5_are_counted(session: Session, topics: Topics) -> None:
    places = [(order, end) for order in range(50) for end in (0, 1)]
    sent = [b"%d;%d;%d\t1\t1\t%d" % (i, BEGIN, o, e) for i, (o, e) in enumerate(places)]
    inputs = topics.filled(sent)
    now = datetime.fromtimestamp(newest(inputs) / 1000 + 1, UTC)
    untouched: dict[tuple[int, int], datetime | None] = dict.fromkeys([*places, (99, 0), (99, 1)])
    early = datetime.fromtimestamp(BEGIN / 1000, UTC)
    set_at = untouched | dict.fromkeys(places, now) | {(7, 1): None, (8, 1): early, (99, 0): now}
    tables = {
        "production_order_line.pristine": order_lines(untouched),
        "production_order_line": order_lines(set_at),
    }
    found = check(session, "q5", inputs, None, tables)
    assert found.counts == broken(100, missing=1, wrong=1, unexpected=1)


# ---- reading back


def test_kept_records_give_the_same_verdict(
    session: Session, topics: Topics, tmp_path: Path
) -> None:
    inputs = topics.filled(sensor_values(1_000), partitions=3)
    output = topics.filled(right_outputs("q3", inputs)[1:])
    keep(inputs, tmp_path / "sensor1.parquet")
    keep(output, tmp_path / "out.parquet")
    kept = [FileRecords(tmp_path / f"{name}.parquet") for name in ("sensor1", "out")]
    live, again = check(session, "q3", inputs, output), check(session, "q3", *kept)
    assert live.counts == again.counts
    assert live.counts.missing == 1
    assert live.latencies.sort_by("key") == again.latencies.sort_by("key")


@pytest.mark.parametrize("kept", [False, True])
def test_transactions_of_an_engine_leave_gaps_and_what_they_took_back_is_missing(
    session: Session, topics: Topics, tmp_path: Path, kept: bool
) -> None:
    values = sensor_values(10)
    inputs = topics.filled(values)
    output: Records = topics.filled_by_transactions(
        [(values[:3], True), (values[3:5], False), (values[5:9], True), (values[9:], False)]
    )
    if kept:
        keep(output, tmp_path / "out.parquet")
        output = FileRecords(tmp_path / "out.parquet", gaps=True)
    found = check(session, "identity", inputs, output)
    assert found.counts == broken(10, missing=3)


def test_a_transaction_that_is_still_open_is_no_output(session: Session, topics: Topics) -> None:
    values = sensor_values(10)
    inputs = topics.filled(values)
    output = topics.filled_by_transactions([(values[:6], True), (values[6:], None)])
    assert check(session, "identity", inputs, output).counts == broken(10, missing=4)


def test_an_input_with_a_gap_is_no_verdict(session: Session, topics: Topics) -> None:
    values = sensor_values(10)
    inputs = replace(
        topics.filled_by_transactions([(values[:6], True), (values[6:], True)]), gaps=False
    )
    with pytest.raises(TrialInvalid, match="has a gap after offset"):
        check(session, "identity", inputs, topics.filled(values))


def test_partitions_that_an_engine_added_do_not_count(session: Session, topics: Topics) -> None:
    values = sensor_values(10)
    inputs, output = topics.filled(values), topics.filled(values[:6])
    topics.add_partitions(output.topic, 2)
    newcomer = Topics(topics.endpoint)  # who wrote before does not hear of it at once
    newcomer.add(output.topic, values[6:], 2)
    found = check(session, "identity", inputs, replace(output, ends=(6,)))
    assert found.counts == broken(10, missing=4)


def test_a_topic_that_is_gone_is_no_verdict(session: Session, topics: Topics) -> None:
    inputs = topics.filled(sensor_values(10))
    with pytest.raises(TrialInvalid, match="nowhere cannot be read back"):
        check(session, "q3", inputs, replace(inputs, topic="nowhere"))


def test_times_of_the_sender_are_refused(session: Session, topics: Topics) -> None:
    inputs = topics.filled(sensor_values(10), stamp="CreateTime")
    with pytest.raises(TrialInvalid, match="do not carry the broker's append time"):
        check(session, "q3", inputs, topics.filled([]))


def test_an_input_that_is_no_message_of_ours_is_no_verdict(
    session: Session, topics: Topics
) -> None:
    with pytest.raises(TrialInvalid, match="does not begin with id;intended;"):
        check(session, "q3", topics.filled([b"what is this"]), topics.filled([]))


def test_a_broker_that_died_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "KafkaAdmin", partial(KafkaAdmin, limit_s=1.0))
    with EmbeddedKafka().up() as broker:
        inputs = replace(Topics(broker.endpoint).filled(sensor_values(10)), patience_s=1.0)
        for pid in broker.processes():
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(TrialInvalid, match="nothing came for 1 s"):
            list(inputs.read(0, 0, 10))
        with pytest.raises(TrialInvalid, match="cannot be read back"):
            inputs.extent()


def test_a_validator_that_died_is_no_verdict_and_is_started_again(
    session: Session, topics: Topics
) -> None:
    inputs, output = topics.filled(sensor_values(10)), topics.filled([])
    job = JobSpec(
        workload="espbench", query="identity", parameters={}, partitions=1, seed=1, options={}
    )
    spark = session.get()
    (jvm,) = ours("SparkSubmit")
    jvm.kill()
    with pytest.raises(TrialInvalid, match="Spark failed while validating"):
        validate(spark, BY_NAME["identity"], Recorded({"sensor1": inputs}, output), {}, job)
    assert check(session, "identity", inputs, output).counts.missing == 10


# ---- the session

CHILD = """
import sys, time
from pathlib import Path
from streamgauge.process import end_on_signals
from streamgauge.validation.session import Session

def work(batches, begun=sys.argv[2]):
    Path(begun).write_text("now")
    time.sleep(60)
    return batches

end_on_signals()
with Session(Path(sys.argv[1]), cores=1) as session:
    spark = session.get()
    spark.range(1).mapInArrow(work, "id long").collect()
"""


@pytest.mark.parametrize(
    ("moment", "number"),
    [("starting", signal.SIGINT), ("working", signal.SIGINT), ("working", signal.SIGKILL)],
)
def test_no_jvm_outlives_its_session(tmp_path: Path, moment: str, number: signal.Signals) -> None:
    begun = tmp_path / "begun"
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path), str(begun)], stderr=subprocess.PIPE
    ) as child:
        ours = psutil.Process(child.pid)
        while not (begun.exists() if moment == "working" else _starts_spark(ours)):
            assert child.poll() is None, child.communicate()
            time.sleep(0.02)
        started = ours.children(recursive=True)
        child.send_signal(number)
        child.communicate(timeout=60)
    assert child.returncode == (1 if number == signal.SIGINT else -number)
    assert psutil.wait_procs(started, timeout=20)[1] == []


def _starts_spark(process: psutil.Process) -> bool:
    """Tell whether there is the JVM of Spark, beside others that only tell their version."""
    for child in process.children():
        with suppress(psutil.Error):  # it may have ended meanwhile
            if "org.apache.spark.deploy.SparkSubmit" in child.cmdline():
                return True
    return False
