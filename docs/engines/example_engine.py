"""A complete engine: answers ESPBench's q3, which keeps records with mf01 above 14963."""

import json
import signal
import sys
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Producer

job = json.loads(Path(sys.argv[1]).read_text())
if job["query"] != "q3":
    sys.exit(f"this engine knows q3 only, not {job['query']}")
running = True


def stop(_number, _frame):
    """End the loop below."""
    global running
    running = False


signal.signal(signal.SIGTERM, stop)
broker = {"bootstrap.servers": job["via"]["bootstrap"]}
consumer = Consumer({**broker, "group.id": job["group"], "auto.offset.reset": "earliest"})
consumer.subscribe(list(job["inputs"].values()))
producer = Producer({**broker, "linger.ms": 1})
while running:
    for message in consumer.consume(1000, timeout=0.05):
        if message.error():
            raise KafkaException(message.error())
        id_, intended, line = message.value().split(b";", 2)
        if int(line.split(b"\t", 3)[2]) > 14963:
            producer.produce(job["output"], message.value())
    producer.flush()
consumer.close()
