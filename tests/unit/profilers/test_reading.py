"""What the back ends print, as stacks."""

import pytest

from streamgauge.profilers import async_profiler, jfr, perf, py_spy
from streamgauge.profilers.counters import read_counters
from streamgauge.profilers.sampler import Seen


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        (
            "[Executor task launch worker for task 1.0 in stage 3.0 (TID 7) tid=42];"
            "java.lang.Thread.run;"
            "a.B$$Lambda$204.0x00007f29c8144208.run;c.D.e 13",
            Seen(
                7,
                42,
                "Executor task launch worker for task 1.0 in stage 3.0 (TID 7)",
                ("java.lang.Thread.run", "a.B$$Lambda.run", "c.D.e"),
                13,
            ),
        ),
        (
            "[main tid=7];a.b;asm_sysvec_call_function_single_[k] 1",
            Seen(7, 7, "main", ("a.b", "asm_sysvec_call_function_single"), 1),
        ),
        ("[main tid=7];a.b;[unknown_Java] 5", Seen(7, 7, "main", (), 5)),
        ("no stack at all", None),
        ("", None),
    ],
)
def test_async_profiler(line: str, seen: Seen | None) -> None:
    assert async_profiler.read_line(7, line) == seen


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        (
            'process 1:"python -m job";process 2:"java -Dx=";y -cp z";'
            'process 3:"python -m pyspark.daemon";'
            "thread (3): MainThread;main (pyspark/daemon.py:9);udf (mine.py:3) 120",
            Seen(3, 3, "", ("main (pyspark/daemon.py:9)", "udf (mine.py:3)"), 120),
        ),
        (
            'process 3:"python x.py";thread (11);run (x.py:3) 2',
            Seen(3, 11, "", ("run (x.py:3)",), 2),
        ),
        (
            'process 3:"python x.py";thread (3);run (/srv/batch/jobs/x.py:3);'
            "read (/opt/py/lib/python3.11/socket.py:7);"
            "load (/venv/lib/python3.11/site-packages/pyspark/serializers.py:9) 1",
            Seen(
                3,
                3,
                "",
                (
                    "run (batch/jobs/x.py:3)",
                    "read (lib/socket.py:7)",
                    "load (pyspark/serializers.py:9)",
                ),
                1,
            ),
        ),
        ("", None),
        ("thread (11);run (x.py:3) 2", None),
    ],
)
def test_py_spy(line: str, seen: Seen | None) -> None:
    assert py_spy.read_line(line) == seen


def test_jfr() -> None:
    printed = """jdk.ExecutionSample {
  startTime = 12:50:21.040
  sampledThread = "Executor task launch worker 7" (javaThreadId = 12)
  state = "STATE_RUNNABLE"
  stackTrace = [
    java.lang.Long.stringSize(long) line: 601
    Burn$$Lambda/0x00007f29.run() line: 2
    java.lang.Thread.run() line: 840
  ]
}

"""
    assert list(jfr.read_lines(5, iter(printed.splitlines(keepends=True)))) == [
        Seen(
            5,
            None,
            "Executor task launch worker 7",
            ("java.lang.Thread.run", "Burn$$Lambda.run", "java.lang.Long.stringSize"),
            1,
        )
    ]


def test_perf() -> None:
    printed = """Executor task l 17489/17512
        7f842cf6c4d8 long Burn.deserialize(long)
        7f842cf6c4d0 Interpreter
        7f842cf6c000 [unknown]

rocksdb:low 17489/17600
        55 rocksdb::DBImpl::Get(rocksdb::Slice const&)

PERF_RECORD_LOST lost 12
"""
    assert list(perf.read_lines(17489, iter(printed.splitlines(keepends=True)))) == [
        Seen(17489, 17512, "Executor task l", ("[unknown]", "Interpreter", "Burn.deserialize"), 1),
        Seen(17489, 17600, "rocksdb:low", ("rocksdb::DBImpl::Get",), 1),
        Seen(17489, None, "", (), 12),
    ]


def test_counters_that_the_processor_does_not_have_are_left_out() -> None:
    printed = """# started on Thu Nov 19
12345,,cycles:u,521,100.00,,
<not supported>,,instructions,0,100.00,,
77,,branch-misses,521,100.00,3.014,K/sec
"""
    assert read_counters(printed) == {"cycles": 12345.0, "branch-misses": 77.0}
    assert read_counters("") == {}
