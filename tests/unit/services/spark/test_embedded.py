"""The size of an embedded cluster."""

from streamgauge.services.spark.embedded import EmbeddedSpark, Size
from streamgauge.spec.trial import ResourceSpec


def test_workers_have_cpus_of_their_own_where_there_are_enough() -> None:
    assert Size(2, 2, 1).cpus([0, 1, 2, 3, 4]) == [(0, 1), (2, 3)]
    assert Size(2, 1, 1).cpus([4, 7]) == [(4,), (7,)]
    assert Size(2, 2, 1).cpus([0, 1, 2]) == [(), ()]


def test_a_cluster_is_as_large_as_its_trial_needs() -> None:
    cluster = EmbeddedSpark(size=Size(2, 1, 2 << 30))
    assert not cluster.fit(ResourceSpec())
    assert not cluster.fit(ResourceSpec(instances=2))
    assert cluster.fit(ResourceSpec(instances=3))
    assert not cluster.fit(ResourceSpec(instances=3))
    assert cluster.fit(ResourceSpec(instances=3, instance_memory=1 << 30))
