"""Both queries on Spark.

A record's value is `id;intended;delay;user_id;gem_pack_id`, of a purchase also `;price`. The
driver's own queues give the same as columns, with the time at which the source handed it over.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamgauge.engines.spark.query import Build, QueryContext, Streams
from streamgauge.engines.spark.windows.aggregate import Aggregate, Part
from streamgauge.engines.spark.windows.methods import windowed
from streamgauge.workloads.rovio.parameters import Parameters

FIELDS = ("id", "intended", "delay_ms", "user", "pack", "price")
"""Of the value, split at semicolons; and names of the columns."""

REVENUE = Aggregate(
    (Part("price", "price", "sum"), Part("ingested", "ingested", "max")),
    {"price": "price", "ingested": "ingested"},
)
"""Of a gem pack, and when the latest of its purchases was taken in."""
GROUPS_PER_SECOND = 256
"""Groups into which the join puts users and packs, by the length of a window."""

_PACK_BITS = 32
_PACK_MASK = (1 << _PACK_BITS) - 1
"""A key of the join is the user, then the pack in this many bits; see their limits."""

_INGESTED = "cast(reflect('java.lang.System', 'currentTimeMillis') as bigint)"
"""The time at which the source handed a record over; current_timestamp() is one per batch."""


def aggregation(streams: Streams, context: QueryContext) -> DataFrame:
    """Sum up what each gem pack brought in each window."""
    purchases = _events(streams["purchases"], context, pack="pack", price="price")
    sums = windowed(purchases, ("pack",), REVENUE, _parameters(context).hopping, context)
    return sums.select(_line(*(F.col(name) for name in ("start", "pack", "price", "ingested"))))


def join(streams: Streams, context: QueryContext) -> DataFrame:
    """Pair purchases with ads of the same user and gem pack in the same window.

    Spark's own join keeps every record separately and looks at each of them in every batch, so it
    spends half of its time on forgetting. Here the records of a window are brought together in
    groups of users and packs, like those of a cogroup, and pairs are made at its end.
    """
    parameters = _parameters(context)
    purchases = _events(
        streams["purchases"], context, purchase="id", user="user", pack="pack", price="price"
    )
    ads = _events(streams["ads"], context, ad="id", user="user", pack="pack")
    both = _keyed(purchases, "p").unionByName(_keyed(ads, "a"), allowMissingColumns=True)
    count = GROUPS_PER_SECOND * max(1, parameters.size_ms // 1000)
    group = F.pmod(F.xxhash64(F.coalesce("p.key", "a.key")), F.lit(count)).cast("int")
    pairs = _pairs(_windowed_groups(both.withColumn("group", group), parameters))
    user, pack = F.shiftright("p.key", _PACK_BITS), F.col("p.key").bitwiseAND(_PACK_MASK)
    ids = F.col("p.purchase"), F.col("a.ad")
    window = F.unix_millis("window.start")
    return pairs.select(_line(window, *ids, user, pack, F.col("p.price"), F.col("ingested")))


def _keyed(side: DataFrame, name: str) -> DataFrame:
    """Bring user and pack of each record into one number, and all but its times into one column."""
    key = F.shiftleft("user", _PACK_BITS).bitwiseOR(F.col("pack")).alias("key")
    rest = side.drop("time", "ingested", "user", "pack").columns
    return side.select("time", "ingested", F.struct(key, *rest).alias(name))


def _pairs(groups: DataFrame) -> DataFrame:
    """Pair the purchases of each group with its ads of the same key.

    Few purchases follow an ad. The keys on both sides are found once for a group, so that the
    others are not compared with each ad; exploding them keeps them from being found again.
    """
    both = F.array_intersect(*(F.transform(side, _key) for side in ("purchases", "ads")))
    met = groups.withColumn("met", F.explode(F.array(both)))
    following = F.filter("purchases", lambda each: F.array_contains("met", _key(each)))
    each = met.select("window", "ingested", "ads", F.explode(following).alias("p"))
    same = F.filter("ads", lambda ad: _key(ad) == F.col("p.key"))
    return each.select("window", "ingested", "p", F.explode(same).alias("a"))


def _key(record: Column) -> Column:
    return record["key"]


def _windowed_groups(events: DataFrame, parameters: Parameters) -> DataFrame:
    """Bring the records of a window and a group together; where windows overlap, by slices.

    A pair's processing time is that of its window, as its event time is: the latest of the group.
    """
    size, slide = parameters.size_ms, parameters.slide_ms
    slice_ms = parameters.hopping.piece_ms
    latest = F.max("ingested").alias("ingested")
    slices = events.groupBy(F.window("time", _ms(slice_ms)).alias("window"), "group").agg(
        F.collect_list("p").alias("purchases"), F.collect_list("a").alias("ads"), latest
    )
    if slice_ms == size:
        return slices
    window = F.window(F.window_time("window"), _ms(size), _ms(slide)).alias("window")
    both = [F.flatten(F.collect_list(name)).alias(name) for name in ("purchases", "ads")]
    return slices.groupBy(window, "group").agg(*both, latest)


def _events(stream: DataFrame, context: QueryContext, **columns: str) -> DataFrame:
    """Read the time of each record and some of its fields; its ingestion was stamped before."""
    ingested, field = _written(stream) if "value" in stream.columns else _columns(stream)
    time = F.timestamp_millis(field["intended"] - field["delay_ms"])
    read = [field[of].alias(name) for name, of in columns.items()]
    delay_ms = _parameters(context).allowed_delay_ms + context.job.watermark_delay_ms
    return stream.select(ingested.alias("ingested"), time.alias("time"), *read).withWatermark(
        "time", _ms(delay_ms)
    )


def _written(stream: DataFrame) -> tuple[Column, dict[str, Column]]:
    """Split the value, and stamp the ingestion."""
    parts = F.split(stream["value"].cast("string"), ";", len(FIELDS) + 1)
    return F.expr(_INGESTED), {name: parts[i].cast("long") for i, name in enumerate(FIELDS)}


def _columns(stream: DataFrame) -> tuple[Column, dict[str, Column]]:
    """Take what is there; the source has stamped the ingestion."""
    found = {name: stream[name].cast("long") for name in FIELDS if name in stream.columns}
    return stream["ingested"], found


def _line(*fields: Column) -> Column:
    return F.concat_ws(",", *(field.cast("string") for field in fields)).alias("value")


def _ms(duration_ms: int) -> str:
    return f"{duration_ms} milliseconds"


def _parameters(context: QueryContext) -> Parameters:
    return Parameters.model_validate(context.job.parameters)


QUERIES: Mapping[str, Build] = {"aggregation": aggregation, "join": join}
