"""What does not go together is refused while planning, and is known; all else can be planned."""

import pytest

from tests.conformance.cells import FAILS, REFUSED, Cell, cells


@pytest.mark.parametrize("cell", cells(), ids=str)
def test_what_planning_refuses_is_a_known_gap(cell: Cell) -> None:
    refusal, known = cell.refusal(), cell.gap(REFUSED)
    if refusal is None:
        assert not known, "this gap is closed: take it out of REFUSED"
    else:
        assert any(reason in refusal for reason in known), f"add to REFUSED: {refusal}"


@pytest.mark.parametrize("gaps", [REFUSED, FAILS], ids=["refused", "fails"])
def test_every_gap_is_one_of_something_that_is_there(gaps: dict[str, str]) -> None:
    for pattern, reason in gaps.items():
        assert any(cell.gap({pattern: reason}) for cell in cells()), pattern


def test_every_query_has_a_default_that_works() -> None:
    chosen = [(cell.workload, cell.query) for cell in cells() if cell.default]
    assert sorted(chosen) == sorted({(cell.workload, cell.query) for cell in cells()})
    assert not any(cell.gap(REFUSED | FAILS) for cell in cells() if cell.default)
