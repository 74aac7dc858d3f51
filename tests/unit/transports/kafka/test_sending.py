import pytest
from confluent_kafka import Producer

from streamgauge.errors import UsageError
from streamgauge.spec.trial import LoadSpec
from streamgauge.transports.kafka.sending import check_load, producer_settings


@pytest.mark.parametrize("acks", ["0", "1"])
def test_idempotence_needs_all_acknowledgements(acks: str) -> None:
    with pytest.raises(UsageError, match=f"acks={acks}") as caught:
        check_load(LoadSpec.model_validate({"acks": acks}))
    assert "-L idempotence=false" in (caught.value.remedy or "")
    check_load(LoadSpec.model_validate({"acks": acks, "idempotence": False}))


def test_a_batch_must_fit_into_the_buffer() -> None:
    with pytest.raises(UsageError, match="cannot hold a batch"):
        check_load(LoadSpec(batch=100_000, buffer=50_000))


@pytest.mark.parametrize(
    "load",
    [
        LoadSpec(),
        LoadSpec(acks="0", idempotence=False, linger_s=0, compression="zstd"),
        LoadSpec(acks="1", idempotence=False, batch=16_384, buffer=32 * 1024 * 1024),
    ],
)
def test_librdkafka_takes_the_settings(load: LoadSpec) -> None:
    settings = producer_settings(load, {"bootstrap.servers": "127.0.0.1:1"})
    assert settings["linger.ms"] == load.linger_s * 1000
    assert settings["queue.buffering.max.kbytes"] == load.buffer // 1024
    Producer({**settings, "log_level": 0})
