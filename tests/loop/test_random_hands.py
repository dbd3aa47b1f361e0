"""Promises 1 to 4 under random hands: a state machine lays them on a run.

A longer run by hand: `NBRUNNER_STEPS=100000 pytest tests/loop/test_random_hands.py`;
it draws other examples each time, where the usual run is always the same.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any, ClassVar

import anthropic
import httpx2
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from nbrunner.errors import ReplyStopped
from nbrunner.loop._failures import SilentEnd
from tests.loop.hands import bodies, hands, moments
from tests.loop.planned_replies import plans
from tests.loop.steered import Steered

if TYPE_CHECKING:
    from nbrunner import Run

STEPS_IN_CI = 2000
STEPS = int(os.environ.get("NBRUNNER_STEPS", STEPS_IN_CI))
STEPS_EACH = 50
FAULTS = (
    anthropic.AnthropicError,
    httpx2.HTTPError,
    SilentEnd,
    ReplyStopped,
    KeyboardInterrupt,
)
"""What the wire and the tools do here, and the user's own loop raises."""


class RandomHands(RuleBasedStateMachine):
    """One run and its forks, driven in a thread or as the user's own loop."""

    steps: ClassVar[int] = 0

    @initialize(
        stream=st.sampled_from([False, True, "eager"]),
        asks=st.booleans(),
        hold=st.booleans(),
        hold_on_failure=st.booleans(),
        break_on_error=st.booleans(),
        parallel_calls=st.booleans(),
        max_iterations=st.sampled_from([None, None, 2]),
    )
    def begin(self, **options: Any) -> None:
        self.steered = Steered(**options)
        self.loop: Any = None

    @property
    def run(self) -> Run:
        return self.steered.run

    @rule(hand=hands)
    def a_hand_is_laid_on(self, hand: Any) -> None:
        self.steered.lay(self.run, hand)
        self.steered.until_still()

    @rule(planned=plans, hands=moments)
    def it_runs_in_a_thread(self, planned: list[Any], hands: list[Any]) -> None:
        self.leave_the_loop()
        self.steered.plan(planned, hands)
        self.steered.in_a_thread()

    @rule(planned=plans, hands=moments, body=bodies)
    def the_own_loop_goes_on(
        self, planned: list[Any], hands: list[Any], body: list[str]
    ) -> None:
        self.steered.plan(planned, hands)
        if self.loop is None:
            self.loop = iter(self.run)
        try:
            next(self.loop)
        except (StopIteration, *FAULTS):
            self.loop = None
        else:
            for what in body:
                with contextlib.suppress(*FAULTS):
                    self.steered.do_in_the_body(what)

    @rule()
    def leave_the_loop(self) -> None:
        if self.loop is not None:
            self.loop.close()
            self.loop = None

    @precondition(lambda self: len(self.steered.runs) < 5)
    @rule(back=st.integers(0, 3))
    def a_branch_is_forked(self, back: int) -> None:
        count = len(self.run.transcript.iterations)
        self.leave_the_loop()
        self.steered.until_still()
        self.steered.follow(self.run.fork(at=max(count - back, 0)))

    @rule(number=st.integers(0, 4))
    def another_branch_is_taken_up(self, number: int) -> None:
        self.leave_the_loop()
        self.steered.until_still()
        runs = self.steered.runs
        self.steered.run = runs[number % len(runs)]

    @invariant()
    def the_promises_hold(self) -> None:
        if hasattr(self, "steered"):
            type(self).steps += 1
            self.steered.hold()

    def teardown(self) -> None:
        if not hasattr(self, "steered"):
            return
        self.leave_the_loop()
        self.steered.until_still()
        for run in tuple(self.steered.runs):
            self.steered.can_go_on(run)


def test_whatever_hands_are_laid_on_a_run_the_promises_hold() -> None:
    RandomHands.steps = 0
    run_state_machine_as_test(
        RandomHands,
        settings=settings(
            max_examples=STEPS // 20,
            stateful_step_count=STEPS_EACH,
            deadline=None,
            derandomize=STEPS == STEPS_IN_CI,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert RandomHands.steps >= STEPS, RandomHands.steps
