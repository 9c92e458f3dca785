"""Who has become idle: an actor in which nothing happened for its sleep_timeout is put away (spec actors 2)."""

from __future__ import annotations

from collections.abc import Callable

from rivetpy.clock import Clock, Timer
from rivetpy.host.instance import Instance


class Idle:
    """A timer for each actor that may fall asleep, not one for each thing that happens to it.

    ``leaving`` says whether an instance is on its way out already; ``put_away`` is called with one that is idle.
    """

    def __init__(
        self, clock: Clock, leaving: Callable[[Instance], bool], put_away: Callable[[Instance], None]
    ) -> None:
        self._clock = clock
        self._leaving = leaving
        self._put_away = put_away
        self._timers: dict[str, Timer] = {}

    def rests(self, instance: Instance) -> None:
        """The instance may have become idle: see to it in its sleep_timeout."""
        options = instance.core.definition.options
        if options.no_sleep or instance.actor_id in self._timers or self._leaving(instance):
            return
        activity = instance.core.activity
        self._timers[instance.actor_id] = self._clock.call_later(
            options.sleep_timeout, lambda: self._look(instance, activity)
        )

    def _look(self, instance: Instance, activity: int) -> None:
        """One sleep_timeout later: put it away if nothing happened meanwhile."""
        self._timers.pop(instance.actor_id, None)
        if instance.resting and instance.core.activity == activity:
            self._put_away(instance)
        elif not instance.workflow.diverged:
            self.rests(instance)

    def forget(self, actor_id: str) -> None:
        """It left memory."""
        if (timer := self._timers.pop(actor_id, None)) is not None:
            timer.cancel()
