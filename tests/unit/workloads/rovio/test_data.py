from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.workloads.rovio import data
from streamgauge.workloads.rovio.parameters import Parameters

MANY = 100_000
Stream = TypeVar("Stream", data.Ads, data.Purchases)


def whole(blocks: Iterator[Stream]) -> Stream:
    """Put the blocks of a stream together."""
    parts = list(blocks)
    columns = [np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(parts[0])]
    return type(parts[0])(*columns)


def draw_ads(parameters: Parameters, seed: int, count: int) -> data.Ads:
    return whole(data.ads(parameters, seed, count))


def draw_purchases(parameters: Parameters, seed: int, count: int, rate: float) -> data.Purchases:
    return whole(data.purchases(parameters, seed, count, rate))


def packs(count: int = MANY, seed: int = 1, **parameters: object) -> data.Integers:
    return draw_ads(Parameters(**parameters), seed, count).pack


def delays(count: int = MANY, **parameters: object) -> data.Integers:
    return draw_ads(Parameters(**parameters), 1, count).delay_ms


def shares(drawn: data.Integers, packs: int) -> data.Floats:
    return np.bincount(drawn, minlength=packs + 1)[1:] / len(drawn)


@given(
    keys=st.sampled_from(["normal", "uniform", "zipf", "single", "hot"]),
    count=st.integers(1, 50),
    known=st.integers(1, 20),
    seed=st.integers(0, 1000),
)
def test_packs_are_those_that_there_are(keys: str, count: int, known: int, seed: int) -> None:
    drawn = packs(count, seed, keys=keys, packs=known)
    assert len(drawn) == count
    assert drawn.min() >= 1
    assert drawn.max() <= known


def test_normal_keys_lie_around_the_middle() -> None:
    drawn = packs(keys="normal", packs=1000)
    assert abs(drawn.mean() - 500.5) < 2
    assert abs(drawn.std() - 125) < 2
    within = np.mean(np.abs(drawn - 500.5) < 125)
    assert abs(within - 0.683) < 0.01


def test_uniform_keys_are_all_alike() -> None:
    assert np.allclose(shares(packs(keys="uniform", packs=20), 20), 1 / 20, atol=0.004)


@pytest.mark.parametrize("exponent", [0.0, 1.0, 1.5])
def test_zipf_keys_get_rarer_by_their_rank(exponent: float) -> None:
    weights = np.arange(1, 21) ** -exponent
    found = shares(packs(keys="zipf", zipf=exponent, packs=20), 20)
    assert np.allclose(found, weights / weights.sum(), atol=0.006)


def test_a_single_key_is_the_only_one() -> None:
    assert set(packs(keys="single")) == {1}


def test_a_hot_key_has_its_share_and_the_others_share_the_rest() -> None:
    found = shares(packs(keys="hot", hot=0.3, packs=8), 8)
    assert np.allclose(found, [0.3] + [0.1] * 7, atol=0.005)


def test_the_same_seed_gives_the_same_bytes_and_another_does_not() -> None:
    def rendered(seed: int) -> list[bytes]:
        return data.render(draw_purchases(Parameters(), seed, 1000, 100.0))

    assert rendered(5) == rendered(5)
    assert rendered(5) != rendered(6)


def test_ads_and_purchases_do_not_move_together() -> None:
    parameters = Parameters(selectivity=0)
    ads, purchases = draw_ads(parameters, 1, MANY), draw_purchases(parameters, 1, MANY, 1000.0)
    assert abs(np.corrcoef(ads.pack, purchases.pack)[0, 1]) < 0.02


def test_payloads_are_numbers_in_their_order() -> None:
    purchases = draw_purchases(Parameters(), 1, 100, 10.0)
    for number, payload in enumerate(data.render(purchases)):
        columns = (purchases.delay_ms, purchases.user, purchases.pack, purchases.price)
        assert payload == ";".join(str(column[number]) for column in columns).encode()
    assert all(re.fullmatch(rb"0;\d+;\d+", p) for p in data.render(draw_ads(Parameters(), 1, 9)))


def test_prices_are_whole_cents() -> None:
    price = draw_purchases(Parameters(), 1, MANY, 10.0).price
    assert (price.min(), price.max()) == (99, 9_999)


# ---- blocks

DRAWS: dict[str, Any] = {
    "shares": (),
    "normal": (5.0, 2.0),
    "integers": (1, 1_000),
}
LIKE_THAT: dict[str, Any] = {
    "shares": lambda generator, count: generator.random(count),
    "normal": lambda generator, count: generator.normal(5.0, 2.0, count),
    "integers": lambda generator, count: generator.integers(1, 1_001, count),
}


@given(
    columns=st.lists(st.sampled_from(sorted(DRAWS)), min_size=1, max_size=5),
    count=st.integers(0, 3 * data._BLOCK),
    seed=st.integers(0, 1000),
)
def test_blocks_are_those_of_whole_columns(columns: list[str], count: int, seed: int) -> None:
    random = data.Random(seed, 1, count)
    drawn = [getattr(random, name)(*DRAWS[name]) for name in columns]
    generator = np.random.default_rng([seed, 1])
    for name, blocks in zip(columns, drawn, strict=True):
        found = np.concatenate([np.empty(0), *blocks])
        assert np.array_equal(found, LIKE_THAT[name](generator, count))


def test_a_stream_is_drawn_only_as_far_as_it_is_asked_for() -> None:
    blocks = data.purchases(Parameters(), 1, MANY, 100.0)
    first = next(blocks)
    assert len(first.user) == data._BLOCK < MANY
    assert np.array_equal(
        first.user, draw_purchases(Parameters(), 1, MANY, 100.0).user[: data._BLOCK]
    )


# ---- selectivity


@pytest.mark.parametrize("selectivity", [0.0, 0.05, 0.5, 1.0])
def test_so_many_purchases_follow_an_ad_within_a_window(selectivity: float) -> None:
    count, rate = 20_000, 500.0
    parameters = Parameters(selectivity=selectivity)
    ads, purchases = (
        draw_ads(parameters, 3, count),
        draw_purchases(parameters, 3, count, rate),
    )
    places: dict[tuple[int, int], list[int]] = {}
    for place, key in enumerate(zip(ads.user.tolist(), ads.pack.tolist(), strict=True)):
        places.setdefault(key, []).append(place)
    window = int(parameters.size_ms / 1000 * rate)
    keys = list(zip(purchases.user.tolist(), purchases.pack.tolist(), strict=True))
    followed = [
        any(0 <= place - ad < window for ad in places.get(key, ()))
        for place, key in list(enumerate(keys))[window:]
    ]
    assert abs(np.mean(followed) - selectivity) < 0.02


def test_those_who_see_no_ads_buy_as_well() -> None:
    purchases = draw_purchases(Parameters(selectivity=0, users=50), 1, 1000, 10.0)
    assert purchases.user.min() > 50


# ---- disorder


def test_without_disorder_nothing_is_delayed() -> None:
    assert not delays().any()


@pytest.mark.parametrize(("how", "mean"), [("uniform", 0.5), ("exponential", 0.231)])
def test_delayed_records_keep_to_what_is_allowed(how: str, mean: float) -> None:
    found = delays(disorder=0.25, allowed_delay="2s", delays=how)
    delayed = found[found > 0]
    assert abs(len(delayed) / MANY - 0.25) < 0.01
    assert delayed.max() <= 2000
    assert abs(delayed.mean() - 2000 * mean) < 20


def test_late_records_do_not() -> None:
    found = delays(late=0.1, disorder=0.2, allowed_delay="500ms", window="4s,2s")
    assert abs(np.mean(found > 500) - 0.1) < 0.005
    assert abs(np.mean((found > 0) & (found <= 500)) - 0.2) < 0.01
    assert found.max() <= 4500


def test_sentinels_are_further_ahead_than_any_window_is_long() -> None:
    for stream in ("purchases", "ads"):
        delay = int(data.sentinel(stream).split(b";")[0])
        longest = Parameters(window="1h,1h", allowed_delay="1h")
        assert -delay > longest.size_ms + longest.allowed_delay_ms
    assert data.sentinel("purchases").split(b";")[1:3] != data.sentinel("ads").split(b";")[1:3]
