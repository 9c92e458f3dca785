"""How the steps reach their remote service: at EXAMPLE_API_URL, or else a stand-in on this machine."""

import functools
import os
import ssl

import httpx
from api import start

#: Building a TLS context takes 20 ms, so all calls share one.
TLS = ssl.create_default_context()


@functools.cache
def url() -> str:
    """Where the service is; the first call without EXAMPLE_API_URL starts the stand-in."""
    return os.environ.get("EXAMPLE_API_URL") or start()


def connect() -> httpx.AsyncClient:
    """A client of the service, for `async with`."""
    return httpx.AsyncClient(base_url=url(), verify=TLS)
