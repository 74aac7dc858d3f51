import pyarrow as pa

from streamgauge.workloads.espbench.spark_times import columns_by_line


def test_enter_and_leave_of_a_line_become_one_row() -> None:
    records = pa.table(
        {
            "o_id": [1, 1, 2, 3],
            "ol_number": [1, 1, 1, 4],
            "pol_number": [1, 1, 1, 1],
            "is_end": [0, 1, 0, 1],
        }
    )
    rows = sorted(zip(*columns_by_line(records), strict=True))
    assert rows == [
        (1, 1, 1, True, True),
        (2, 1, 1, True, False),
        (3, 4, 1, False, True),
    ]


def test_a_record_that_comes_twice_is_one_row() -> None:
    records = pa.table(
        {"o_id": [1, 1], "ol_number": [2, 2], "pol_number": [1, 1], "is_end": [0, 0]}
    )
    assert columns_by_line(records) == [[1], [2], [1], [True], [False]]
