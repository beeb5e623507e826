"""The conformance suite of adapters: lives in virtual time, crashed after every single effect.

What must hold is in `promises`. A life that fails is repeated exactly by its seed and its crash
points.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kron.core.duration import SECOND_NS
from kron.core.frozen import Frozen
from kron.testing.life import Edit, Fault, Jump, Life, life
from kron.testing.promises import check
from kron.testing.world import Crash, Effects, Seen, StoreError, World

PATIENCE_S = 8
"""How long an adapter whose store has failed is down at least."""


def live(of: Life, world: World) -> None:
    """Live a life to its end, with a restart after every crash."""
    start_ns = world.clock.monotonic_ns()
    _run(of, world, world.boot)
    for event in of.events:
        _run_until(of, world, start_ns + event.at_s * SECOND_NS)
        match event:
            case Edit():
                _run(of, world, partial(world.edit, event.name, event.schedule))
            case Jump():
                _run(of, world, partial(world.jump, event.by_s))
            case Fault():
                # A crash may have delayed the event. No fault goes on into the last look.
                left_s = of.lasts_s - (world.clock.monotonic_ns() - start_ns) // SECOND_NS
                if left_s > 0:
                    world.fault(event.replace(lasts_s=min(event.lasts_s, left_s)))
    _run_until(of, world, start_ns + of.lasts_s * SECOND_NS)
    crashes = -1
    while crashes != len(world.seen.stored):  # until it has stayed up for the whole last look
        crashes = len(world.seen.stored)
        _run_until(of, world, world.clock.monotonic_ns() + of.last_look_s * SECOND_NS)


def _run_until(of: Life, world: World, monotonic_ns: int) -> None:
    while world.clock.monotonic_ns() < monotonic_ns:
        _run(of, world, lambda: world.live_until(monotonic_ns))


def _run(of: Life, world: World, act: Callable[[], None]) -> None:
    """Do something; if the adapter crashes, it is down for a while and boots again."""
    while True:
        try:
            act()
        except (Crash, StoreError) as error:
            world.seen.crashed_s.append(world.now_s)
            before = {job.name: world.stored(job.name) for job in of.jobs}
            world.crash()
            # A write that was under way may still have arrived.
            world.seen.stored.append(
                {name: world.stored(name) or ledger for name, ledger in before.items()}
            )
            least_s = 1 if isinstance(error, Crash) else PATIENCE_S
            world.clock.advance(max(of.down_s, least_s))
            act = world.boot
        else:
            return


class Explored(Frozen):
    lives: int
    crash_points: int
    starts: int


def explore(seeds: range, make_world: Callable[[Life, Effects], World]) -> Explored:
    """Live the lives of these seeds, undisturbed and crashed after each effect, and check all."""
    crash_points = starts = 0
    for seed in seeds:
        of = life(seed)
        effects = Effects()
        starts += len(_checked(of, make_world(of, effects), ()).began)
        for number in range(1, effects.count + 1):
            # Now and then the recovery from the crash is crashed, too.
            again = (number + seed) % 8 == 0
            for crashes in ((number,), (number, number + 1 + seed % 3))[: 1 + again]:
                crash_points += 1
                _checked(of, make_world(of, Effects(*crashes)), crashes)
    return Explored(len(seeds), crash_points, starts)


def _checked(of: Life, world: World, crashes: tuple[int, ...]) -> Seen:
    try:
        live(of, world)
        check(of, world)
    except Exception as error:
        error.add_note(f"seed {of.seed}, crash after effects {crashes}: {of}")
        raise
    finally:
        world.close()
    return world.seen
