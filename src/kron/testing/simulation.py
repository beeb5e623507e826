"""The conformance suite of adapters: lives in virtual time, crashed after every single effect.

What must hold is in `promises`. A life that fails is repeated exactly by its seed and its crash
points.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kron.core.duration import SECOND_NS
from kron.core.frozen import Frozen
from kron.testing.life import Edit, Fault, Forget, Jump, Life, Reboot, Remove, Trigger, life
from kron.testing.promises import check
from kron.testing.world import Crash, Effects, PowerLoss, Seen, StoreError, World

PATIENCE_S = 8
"""How long an adapter whose store has failed is down at least."""

MOST_CRASH_POINTS = 24
"""Of a life of many jobs, only some of the effects are crashed after."""


def live(of: Life, world: World) -> None:
    """Live a life to its end, with a restart after every crash."""
    start_ns = world.clock.monotonic_ns()
    _run(of, world, world.boot)
    for event in of.events:
        _run_until(of, world, start_ns + event.at_s * SECOND_NS)
        match event:
            case Edit() | Remove():
                _run(of, world, partial(_change, world, event))
            case Trigger():
                _run(of, world, partial(world.trigger, event.name))
            case Forget():
                _run(of, world, partial(_forget, world, event.name))
            case Reboot():
                _run(of, world, _lose_power)
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


def _change(world: World, change: Edit | Remove) -> None:
    """Somebody edits the configuration. What is down reads it when it boots."""
    absent = world.seen.absent.setdefault(change.name, [])
    if absent and absent[-1][1] is None:
        absent[-1] = absent[-1][0], world.now_s
    if isinstance(change, Remove):
        absent.append((world.now_s, None))
    world.write(change.name, change.schedule if isinstance(change, Edit) else "")
    if change.is_down:
        raise Crash
    world.reload()


def _forget(world: World, name: str) -> None:
    now_s, is_forgotten = world.now_s, True
    try:
        world.forget(name)
    except StoreError:
        is_forgotten = False
        raise
    finally:  # the first effect stores it, so after a crash it is
        if is_forgotten:
            world.seen.forgotten.setdefault(name, []).append(now_s)


def _lose_power() -> None:
    raise PowerLoss


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
            world.seen.kept.append({job.name: world.kept(job.name) for job in of.jobs})
            world.crash()
            if isinstance(error, PowerLoss) or (of.loses_power and isinstance(error, Crash)):
                world.seen.losses_of_power += 1
                world.lose_power()
            # A write that was under way may still have arrived.
            world.seen.stored.append(
                {name: world.stored(name) or ledger for name, ledger in before.items()}
            )
            least_s = 1 if isinstance(error, Crash) else PATIENCE_S
            world.clock.advance(max(of.down_s, least_s))
            world.seen.away_s += max(of.down_s, least_s)
            act = world.boot
        else:
            return


class Explored(Frozen):
    lives: int
    crash_points: int
    starts: int


def explore(seeds: range, kind: type[World]) -> Explored:
    """Live the lives of these seeds in worlds of a kind, undisturbed and crashed, and check all."""
    explored = [explore_life(life(seed), kind) for seed in seeds]
    crash_points = sum(each.crash_points for each in explored)
    return Explored(len(seeds), crash_points, sum(each.starts for each in explored))


def explore_life(of: Life, kind: type[World]) -> Explored:
    """Live a life undisturbed and crashed after each effect, or after some if they are many."""
    of = of.without(kind.never_happens)
    effects = Effects()
    starts = len(_checked(of, kind(of, effects), ()).began)
    crash_points = 0
    stride = -(-effects.count // MOST_CRASH_POINTS)
    for number in range(1 + of.seed % stride if stride else 1, effects.count + 1, stride or 1):
        # Now and then the recovery from the crash is crashed, too.
        again = (number + of.seed) % 8 == 0
        for crashes in ((number,), (number, number + 1 + of.seed % 3))[: 1 + again]:
            crash_points += 1
            _checked(of, kind(of, Effects(*crashes)), crashes)
    return Explored(1, crash_points, starts)


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
