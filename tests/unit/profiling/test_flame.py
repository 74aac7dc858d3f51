"""Flame graphs: a box is as wide as what is in it, and lies on its parent."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.profiling.flame import flame
from streamgauge.profiling.stacks import Sample, gather
from streamgauge.profiling.tasks import assign
from tests.unit.profiling.samples import sample, samples, tasks


def test_common_roots_share_a_box() -> None:
    stacks = gather([sample("p;t;a;b", 2), sample("p;t;a;c", 3), sample("p;u;a", 5)])
    made = flame(stacks, np.array([0, 1, 0]), 2, stacks.count.astype(float))
    boxes = [
        (made.names[name], int(depth), weight)
        for name, depth, weight in zip(made.name.tolist(), made.depth, made.weight, strict=True)
    ]
    assert sorted(boxes) == [
        ("a", 2, 5.0),
        ("a", 2, 5.0),
        ("b", 3, 2.0),
        ("c", 3, 3.0),
        ("p", 0, 10.0),
        ("t", 1, 5.0),
        ("u", 1, 5.0),
    ]
    assert made.total == 10
    assert made.by_task[0].tolist() == [7.0, 3.0]


@given(samples, st.sampled_from([0.0, 0.1, 0.5]))
def test_no_box_is_wider_than_what_carries_it(taken: Sequence[Sample], least: float) -> None:
    stacks = gather(taken)
    assigned = assign(stacks, tasks(one="f1", two="f2"), {})
    weights = stacks.count.astype(float)
    made = flame(stacks, assigned.task, len(assigned.tasks), weights, least)
    upon: dict[int, float] = {}
    for place, parent in enumerate(made.parent.tolist()):
        assert parent < place
        assert made.depth[place] == (made.depth[parent] + 1 if parent >= 0 else 0)
        assert made.weight[place] >= least * weights.sum()
        upon[parent] = upon.get(parent, 0.0) + float(made.weight[place])
    for parent, carried in upon.items():
        assert carried <= (weights.sum() if parent < 0 else made.weight[parent]) + 1e-9
    if least == 0:
        assert made.total == weights.sum()
        assert made.by_task[made.parent == -1].sum() == weights.sum()
