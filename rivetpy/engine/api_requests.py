"""What a request to the management interface says, and how one is refused (wire 4)."""

from __future__ import annotations

from starlette.requests import Request

from rivetpy.engine.http import read_body
from rivetpy.errors import RivetError
from rivetpy.wire.jsonvalue import JsonError, JsonObject, parse

MAX_BODY = 1024 * 1024


async def json_body(request: Request) -> JsonObject:
    """The body. Raises RivetError ``api.bad_request`` for anything but a JSON object."""
    try:
        body = parse(await read_body(request, MAX_BODY))
    except JsonError as error:
        raise bad_request(error.message) from None
    if not isinstance(body, dict):
        raise bad_request("The body is a JSON object.")
    return body


def bad_request(message: str) -> RivetError:
    """A request that can't be understood."""
    return RivetError("api", "bad_request", message)


def no_route(method: str, path: tuple[str, ...]) -> RivetError:
    """A request for what there is not."""
    return RivetError("api", "not_found", f"There is no {method} /{'/'.join(path)} here.", status=404)
