"""The host: which actors are awake, and how one is reached (spec actors, workflows 12)."""

from rivetpy.host.control import Rewind
from rivetpy.host.events import HostEvent, Watcher
from rivetpy.host.host import Host

__all__ = ["Host", "HostEvent", "Rewind", "Watcher"]
