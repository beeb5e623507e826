"""A step ends periods just as a naive reading of the rules does, on random schedules and fates.

Edits are left to the frozen scenes and to `test_life`: after one, the watermark may count a period
of the other schedule as handled that a naive reading still owes (decision record 0005).
"""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

import kron
from kron.core.instant import from_text, to_text
from tests.engine.naive import Naive
from tests.engine.playable import schedules
from tests.engine.scene import IDENTITY, Scene
from tests.soak import examples

START = "2026-03-27T12:00:00Z"  # two days before the clocks change in Paris
moves = st.lists(
    st.one_of(
        st.tuples(st.just("wake"), st.sampled_from([0, 0, 0, 1, 5, 6, 61])),
        st.tuples(st.just("wait"), st.integers(0, 40_000)),
        st.tuples(st.just("restart"), st.integers(0, 100_000)),
        st.tuples(st.just("suspend or resume"), st.integers(0, 10_000)),
    ),
    max_size=10,
)


def is_quick(text: str) -> bool:
    """The naive reading visits every period, so there may not be too many of them."""
    return kron.parse_schedule(text).nominals.wall.matches_a_day <= 300


@given(
    schedules.filter(is_quick),
    moves,
    st.sampled_from([0, 5, 60]),
    st.randoms(use_true_random=False),
)
@examples(200)
def test_a_step_ends_periods_as_a_naive_reading_does(
    text: str, fates: list[tuple[str, int]], slack_s: int, random: Random
) -> None:
    scene = Scene(text, START, slack_s=slack_s)
    naive = Naive(IDENTITY, slack_s)
    naive.step(scene.job.schedule, from_text(START), active=False).check(scene.last, scene.wake)
    now_s = from_text(START)
    for move, seconds in fates:
        if move == "wake" and scene.wake is not None and from_text(scene.wake) < now_s + 200_000:
            now_s = max(now_s, from_text(scene.wake))
        now_s += seconds
        if move == "restart":
            scene.restart()
            naive.awake_since_s = None
        elif move == "suspend or resume":
            policy = scene.job.schedule.policy
            flipped = policy.replace(suspend=not policy.suspend)
            scene.edit(str(scene.job.schedule.replace(policy=flipped)))
        active = random.random() < 0.3
        told = scene.at(to_text(now_s), active=active)
        naive.step(scene.job.schedule, now_s, active=active).check(told, scene.wake)
