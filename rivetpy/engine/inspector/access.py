"""Who may look into an actor through the gateway: whoever has the actor's own token (wire 9.1).

Whoever may use the management interface may read that token there, so that way in needs none.
"""

from __future__ import annotations

import hmac
import os

from rivetpy.errors import RivetError
from rivetpy.host import Host

#: A token that tests of official clients set, in place of every actor's own.
OVERRIDE = "_RIVET_TEST_INSPECTOR_TOKEN"
#: What the token is kept as among an actor's values, for whoever reads it there.
KEY = b"\x03"


async def token_of(host: Host, actor_id: str) -> str:
    """The token that opens an actor's inspector. Raises RivetError ``actor.not_found``."""
    return os.environ.get(OVERRIDE) or await host.inspector_token(actor_id)


async def check_token(host: Host, actor_id: str, given: str) -> None:
    """Raises RivetError ``inspector.unauthorized`` when it is another one."""
    token = await token_of(host, actor_id)
    if not hmac.compare_digest(given.encode("utf-8", "replace"), token.encode()):
        raise RivetError("inspector", "unauthorized", "Inspector request requires a valid bearer token")
