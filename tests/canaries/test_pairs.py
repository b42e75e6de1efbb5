from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from refusals import refuses

from dpaudit import registry
from dpaudit.canaries import Null, Replaced, crafted
from dpaudit.errors import BadInput
from dpaudit.papers.ensemble import Corner
from dpaudit.papers.laplace import Negative
from dpaudit.types import Canary, neighbours

FROM_POOL = ["random", "maxloss"]
NOISY = ["adv-random", "adv-maxloss"]
GRADIENTS = ["dirac", "random-direction"]
ALL = [*FROM_POOL, *NOISY, "mislabelled", "blank", "static", "none"]


@pytest.fixture(scope="module")
def build(data, recipe):
    """Builds a canary as a run does, from the class behind its name."""

    def build(name, seed=0, data=data, clip=False):
        offered = {"recipe": recipe, "clip": clip, "executor": None}
        return registry.make("canaries", name, **offered).build(data, seed)

    return build


def multiset(records):
    return Counter((x.tobytes(), int(y)) for x, y in zip(records.x, records.y, strict=True))


def one(x, y):
    return Counter([(np.asarray(x, np.float32).tobytes(), int(y))])


# ---------------------------------------------------------------- neighbours


def test_every_canary_that_is_registered_is_tested_here():
    named = {name for name in registry.names("canaries") if _is_built_in(name)}
    assert named == {*ALL, *GRADIENTS, "replaced", "negative", "corner", "opposites"}


def _is_built_in(name):
    return registry.load("canaries", name).__module__.startswith("dpaudit.")


@pytest.mark.parametrize("name", ALL)
def test_neighbours_differ_in_exactly_the_canary(name, build, data):
    pair = build(name)
    extra = multiset(pair.inn) - multiset(pair.out)
    assert not multiset(pair.out) - multiset(pair.inn)
    assert extra == (Counter() if name == "none" else one(pair.canary.x, pair.canary.y))
    assert pair.canary.name == name
    assert pair.adjacency == "add-remove"
    assert pair.test is data.test


@pytest.mark.parametrize("name", ALL)
def test_sets_have_the_sizes_of_the_paper(name, build, data):
    """D' is as large as the pool; a canary from nowhere comes on top, and none is none."""
    pair, n = build(name), len(data.pool)
    expected = {"blank": (n, n + 1), "none": (n, n)}.get(name, (n - 1, n))
    assert (len(pair.out), len(pair.inn)) == expected


@pytest.mark.parametrize("name", ALL)
def test_records_keep_the_layout_and_types_that_training_takes(name, build, data):
    pair = build(name)
    for part in (pair.out, pair.inn):
        assert (part.x.dtype, part.y.dtype) == (np.float32, np.int64)
        assert part.x.shape[1:] == data.shape
    assert pair.canary.x.shape == data.shape
    assert pair.canary.x.dtype == np.float32
    assert 0 <= pair.canary.y < data.classes


@pytest.mark.parametrize("name", ALL)
def test_the_seed_alone_decides_the_pair(name, build):
    first, again = build(name, seed=3), build(name, seed=3)
    assert multiset(first.inn) == multiset(again.inn)
    assert np.array_equal(first.canary.x, again.canary.x)
    assert first.canary.y == again.canary.y


@pytest.mark.parametrize("name", ["random", "mislabelled", "none"])
def test_every_record_has_its_chance(name, build, data):
    """In 1,000 draws each of 40 turns up but for a probability of 40 (39/40)^1000 < 1e-9."""
    seen = {build(name, seed).canary.x.tobytes() for seed in range(1000)}
    assert len(seen) == len(data.pool)


# ---------------------------------------------------------------- each kind


@pytest.mark.parametrize("name", FROM_POOL)
def test_a_canary_from_the_pool_makes_it_whole(name, build, data):
    pair = build(name)
    i = pair.canary.removed
    assert one(pair.canary.x, pair.canary.y) == one(data.pool.x[i], data.pool.y[i])
    assert multiset(pair.inn) == multiset(data.pool)


@pytest.mark.parametrize("name", NOISY)
def test_the_clean_record_of_a_noisy_canary_is_in_neither_world(name, build, data):
    pair = build(name)
    i = pair.canary.removed
    clean = one(data.pool.x[i], data.pool.y[i])
    assert multiset(data.pool) - multiset(pair.out) == clean
    assert not multiset(pair.out) & clean
    assert not multiset(pair.inn) & clean
    assert np.array_equal(pair.canary.original, data.pool.x[i])


@pytest.mark.parametrize("name", NOISY)
def test_a_noisy_canary_keeps_its_label_and_gets_the_shadows_noise(name, build, data, models):
    for clip in (False, True):
        canary = build(name, clip=clip).canary
        assert canary.y == data.pool.y[canary.removed]
        own = slice(canary.removed, canary.removed + 1)
        expected = crafted.perturb_many(models, data.pool.x[own], data.pool.y[own], clip)
        assert np.array_equal(canary.x, expected[0])


def test_noise_is_not_clipped_unless_asked_for(recipe):
    assert not crafted.AdvRandom(recipe).clip
    assert not crafted.AdvMaxLoss(recipe).clip


@pytest.mark.parametrize("name", ["maxloss", "adv-maxloss"])
def test_a_maxloss_canary_is_the_hardest_record_of_the_pool(name, build, data, models):
    assert build(name).canary.removed == crafted.hardest(models, data.pool)


def test_the_noisy_random_canary_is_never_the_random_one(build, monkeypatch):
    monkeypatch.setattr(crafted, "train_shadows", lambda *arguments: [])
    monkeypatch.setattr(crafted, "perturb_many", lambda models, x, y, clip: x + 0.1)
    for seed in range(300):
        assert build("random", seed).canary.removed != build("adv-random", seed).canary.removed


def test_a_mislabelled_canary_has_every_label_but_its_own(build, data):
    seen = set()
    for seed in range(300):
        canary = build("mislabelled", seed).canary
        right = int(data.pool.y[canary.removed])
        assert np.array_equal(canary.x, data.pool.x[canary.removed])
        seen.add((right, canary.y))
    c = range(data.classes)
    assert seen == {(right, wrong) for right in c for wrong in c if right != wrong}


def test_a_blank_canary_is_empty_and_has_any_label(build, data):
    drawn = [build("blank", seed) for seed in range(60)]
    assert not any(pair.canary.x.any() for pair in drawn)
    assert {pair.canary.y for pair in drawn} == set(range(data.classes))
    assert all(multiset(pair.out) == multiset(data.pool) for pair in drawn[:2])


def test_a_static_canary_is_as_the_largest_noise_and_has_any_label(build, data):
    drawn = [build("static", seed).canary for seed in range(60)]
    for canary in drawn:
        np.testing.assert_array_equal(np.unique(canary.x), [0, 1])
    assert {canary.y for canary in drawn} == set(range(data.classes))
    assert len({canary.x.tobytes() for canary in drawn}) > 1


def scaled(data, low, high, dtype=np.float32):
    """The data with values from `low` to `high` in every set."""

    def one(part):
        return replace(part, x=(low + (high - low) * part.x.astype(np.float64)).astype(dtype))

    return replace(data, pool=one(data.pool), shadow=one(data.shadow), test=one(data.test))


@pytest.mark.parametrize(
    ("low", "high", "dtype", "bounds", "ends"),
    [
        (0.25, 0.5, np.float32, None, (0, 1)),
        (10, 20, np.float32, None, (0, 30)),
        (-1, 1, np.float64, None, (-3, 3)),
        (-1, 1, np.float32, (-1.0, 1.0), (-1, 1)),
        (5, 5, np.float32, None, (4, 6)),
        (-3e38, 3e38, np.float32, None, tuple(np.finfo(np.float32).max * np.array([-1, 1]))),
        (3, 49_999, np.int64, None, (3, 49_999)),
        (3, 2**40, np.int64, None, (3, 2**40)),
        (3, 9, np.int64, (0, 99), (0, 99)),
        (0, 1, bool, None, (0, 1)),
    ],
)
def test_a_static_canary_goes_to_the_ends_of_the_domain_or_beyond_the_pool(
    build, data, low, high, dtype, bounds, ends
):
    pair = build("static", data=replace(scaled(data, low, high, dtype), bounds=bounds))
    assert tuple(np.unique(pair.canary.x)) == ends
    assert pair.canary.x.dtype == pair.inn.x.dtype == pair.out.x.dtype == dtype
    np.testing.assert_array_equal(pair.inn.x[-1], pair.canary.x)


def test_tokens_keep_their_type_and_what_they_cannot_be_is_refused(build, data):
    tokens = scaled(data, 0, 50, np.int64)
    for name in set(ALL) - {*NOISY, "maxloss"}:
        pair = build(name, data=tokens)
        assert pair.canary.x.dtype == pair.inn.x.dtype == pair.out.x.dtype == np.int64
    for name in (*NOISY, "maxloss"):
        with refuses("wrong-type", option="data", value="int64"):
            build(name, data=tokens)
    half = Canary(np.full(data.shape, 0.5), 0, "half", "by hand")
    with refuses("other-type", "canary", "half"):
        neighbours(tokens, half)


def test_without_a_canary_both_worlds_are_one_and_hold_what_is_asked_about(build, data):
    pair = build("none")
    assert pair.inn is pair.out is data.pool
    assert not pair.canary.inserted
    assert multiset(data.pool) & one(pair.canary.x, pair.canary.y)


@pytest.mark.parametrize("name", [*NOISY, "maxloss"])
def test_a_canary_that_needs_shadows_needs_a_recipe(name):
    with pytest.raises(BadInput, match=f"{name} needs recipe"):
        registry.make("canaries", name, recipe=None, clip=False, executor=None)


def test_the_test_set_has_no_say(build, data):
    elsewhere = replace(data, test=data.shadow)
    for name in ALL:
        here, there = build(name), build(name, data=elsewhere)
        assert np.array_equal(here.canary.x, there.canary.x)


# ---------------------------------------------------------------- neighbours by replacing


@pytest.mark.parametrize("label_pair", [None, (2, 0), (0, 1)])
def test_a_replaced_record_keeps_its_place_and_has_another_label(label_pair, data):
    pair = Replaced(label_pair).build(data, seed=3)
    assert pair.adjacency == "replace"
    assert len(pair.out) == len(pair.inn) == len(data.pool)
    before, after = multiset(pair.out), multiset(pair.inn)
    ((x, label), _), ((same, other), _) = (*(before - after).items(), *(after - before).items())
    assert x == same
    assert label != other == pair.canary.y
    assert label_pair in (None, (label, other))


def test_a_corner_is_mirrored_and_brings_the_others_along(data):
    pair = Corner().build(data, 0)
    before, after, crowd = (
        x.reshape(-1) for x in (pair.given["before"], pair.canary.x, pair.given["crowd"])
    )
    assert pair.adjacency == "replace"
    np.testing.assert_array_equal(before[:2] * [1, -1], after[:2])
    assert before @ crowd == after @ crowd < 0
    assert max(np.linalg.norm(x) for x in (before, after, crowd)) <= 1
    assert all(x.shape == data.shape for x in (pair.canary.x, *pair.given.values()))


def test_a_label_that_no_record_has_cannot_be_replaced(data):
    with refuses("label-missing", value=7):
        Replaced((7, 0)).build(data, seed=0)


def test_a_negative_record_is_as_far_from_what_it_replaces_as_a_record_can_be(data):
    pair = Negative().build(data, seed=3)
    assert pair.adjacency == "replace"
    before, after = data.pool.x[pair.canary.removed], pair.canary.x
    assert multiset(pair.out) - multiset(pair.inn) == one(before, pair.out.y[pair.canary.removed])
    assert multiset(pair.inn) - multiset(pair.out) == one(after, pair.canary.y)
    assert set(np.unique(after)) <= {0.0, 1.0}
    assert (np.abs(after - before) >= 0.5).all()
    assert pair.canary.y != pair.out.y[pair.canary.removed]
    np.testing.assert_array_equal(pair.canary.original, before)


def test_the_null_is_one_of_either_adjacency(data):
    pair = Null("replace").build(data, seed=0)
    assert pair.adjacency == "replace"
    assert multiset(pair.out) == multiset(pair.inn) == multiset(data.pool)
