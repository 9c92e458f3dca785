"""The work of the benchmarks in Restate, in an environment of its own: restate_work.py DIRECTORY ROW COUNT.

The server is installed in PEER_HOME. This process drives; the worker is another one of this file.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import hypercorn.asyncio
import restate
from hypercorn.config import Config

SENDERS = 50
#: How many steps, messages, workflows, branches or calls.
COUNT = int(sys.argv[3])
SERVER = "/node_modules/.bin/restate-server"

work = restate.Service("Work")
counter = restate.VirtualObject("Counter")


async def nothing(n: int) -> int:
    return n


async def hold(path: str) -> None:
    if Path(path).exists():  # the second life
        print("again", flush=True)
        return
    Path(path).touch()
    print("ready", flush=True)
    await asyncio.sleep(3600)


@work.handler()
async def sequence(ctx: restate.Context, count: int) -> int:
    for n in range(count):
        await ctx.run_typed(f"step-{n}", nothing, n=n)
    return count


@work.handler()
async def join(ctx: restate.Context, count: int) -> int:
    await restate.gather(*(ctx.run_typed(f"branch-{n}", nothing, n=n) for n in range(count)))
    return count


@work.handler(inactivity_timeout=timedelta(hours=1))
async def resumed(ctx: restate.Context, path: str) -> int:
    for n in range(COUNT):
        await ctx.run_typed(f"step-{n}", nothing, n=n)
    await ctx.run_typed("hold", hold, path=path)
    return COUNT


@counter.handler()
async def add(ctx: restate.ObjectContext, delta: int) -> int:
    value = (await ctx.get("value") or 0) + delta
    ctx.set("value", value)
    return value


@counter.handler(kind="shared")
async def value(ctx: restate.ObjectSharedContext) -> int:
    return await ctx.get("value") or 0


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


class Client:
    """One kept connection; small, so that it is not what is measured."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: object, method: str = "POST") -> object:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        data = b"" if body is None else json.dumps(body).encode()
        kind = "" if body is None else "content-type: application/json\r\n"
        head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\n{kind}content-length: {len(data)}\r\n\r\n"
        writer.write(head.encode() + data)
        answer = (await reader.readuntil(b"\r\n\r\n")).lower()
        content = await self._content(reader, answer)
        if not answer.startswith(b"http/1.1 2"):
            raise RuntimeError(f"{path}: {answer!r} {content!r}")
        return json.loads(content) if content else None

    async def _content(self, reader: asyncio.StreamReader, head: bytes) -> bytes:
        if b"content-length:" in head:
            return await reader.readexactly(int(head.split(b"content-length:")[1].split(b"\r\n")[0]))
        content = b""
        while b"chunked" in head and (size := int(await reader.readline(), 16)):
            content += (await reader.readexactly(size + 2))[:-2]
        if b"chunked" in head:
            await reader.readline()
        return content


async def steps(post: Callable[..., object], _: Path, __: int) -> float:
    begin = time.perf_counter()
    await post("/Work/sequence", COUNT)
    return COUNT / (time.perf_counter() - begin)


async def messages(post: Callable[..., object], _: Path, port: int) -> float:
    async def share() -> None:
        client = Client(port)
        for _ in range(COUNT // SENDERS):
            await client.post("/Counter/main/add/send", 1)

    begin = time.perf_counter()
    await asyncio.gather(*(share() for _ in range(SENDERS)))
    while await post("/Counter/main/value", None) < COUNT:
        await asyncio.sleep(0.01)
    return COUNT / (time.perf_counter() - begin)


async def actions(post: Callable[..., object], _: Path, port: int) -> float:
    async def share(client: Client) -> None:
        for _ in range(COUNT // SENDERS):
            await client.post("/Counter/main/value", None)

    clients = [Client(port) for _ in range(SENDERS)]
    await asyncio.gather(*(client.post("/Counter/main/value", None) for client in clients))
    begin = time.perf_counter()
    await asyncio.gather(*map(share, clients))
    return COUNT / (time.perf_counter() - begin)


async def fan_out(_: Callable[..., object], __: Path, port: int) -> float:
    begin = time.perf_counter()
    await asyncio.gather(*(Client(port).post("/Work/sequence", 3) for _ in range(COUNT)))
    return COUNT / (time.perf_counter() - begin)


async def branches(post: Callable[..., object], __: Path, ___: int) -> float:
    for _ in range(2):  # as with us, once without counting
        begin = time.perf_counter()
        await post("/Work/join", COUNT)
    return (time.perf_counter() - begin) * 1000


async def resume(post: Callable[..., object], directory: Path, _: int) -> float:
    if not (directory / "held").exists():
        await post("/Work/resumed/send", str(directory / "held"))
    await asyncio.sleep(3600)
    return 0.0


ROWS = {
    "steps": steps,
    "messages": messages,
    "fan-out": fan_out,
    "join": branches,
    "actions-http": actions,
    "resume": resume,
}


async def main(directory: Path, row: str) -> None:
    ports = directory / "ports"  # a restart is found where the first life was registered
    if not ports.exists():
        ports.write_text(" ".join(str(free_port()) for _ in range(3)))
        begun = False
    else:
        begun = True
    ingress, admin, worker = map(int, ports.read_text().split())
    environment = {
        **os.environ,
        "RESTATE_INGRESS__BIND_ADDRESS": f"127.0.0.1:{ingress}",
        "RESTATE_ADMIN__BIND_ADDRESS": f"127.0.0.1:{admin}",
        "RESTATE_BIND_ADDRESS": f"127.0.0.1:{free_port()}",
        "RESTATE_LISTEN_MODE": "tcp",
        "RESTATE_NODE_NAME": "peer",
        "DO_NOT_TRACK": "1",
    }
    server = [os.environ["PEER_HOME"] + SERVER, "--no-logo", "--base-dir", str(directory / "data")]
    with (directory / "server.log").open("ab") as log:
        processes = [
            subprocess.Popen(server, env=environment, stdout=log, stderr=log),
            subprocess.Popen([sys.executable, __file__, "worker", str(worker), str(COUNT)], stderr=log),
        ]
    try:
        await until_open(ingress, admin, worker)
        if not begun:
            await register(admin, worker)
        post = Client(ingress).post
        if row != "resume":
            await post("/Work/sequence", 1)  # all there is to the cold start
        figure = await ROWS[row](post, directory, ingress) if row in ROWS else 0.0
        print(f"figure {figure}", flush=True)
    finally:
        for process in processes:
            process.terminate()


async def until_open(*ports: int) -> None:
    for port in ports:
        while True:
            with suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                break
            await asyncio.sleep(0.01)


async def register(admin: int, worker: int) -> None:
    while True:
        try:
            asked = Client(admin).post("/deployments", {"uri": f"http://127.0.0.1:{worker}"})
            await asyncio.wait_for(asked, 20)
        except (RuntimeError, OSError, EOFError, TimeoutError):  # the server is not ready yet
            await asyncio.sleep(0.02)
        else:
            return


if sys.argv[1] == "worker":
    config = Config()
    config.bind = [f"127.0.0.1:{sys.argv[2]}"]
    config.keep_alive_max_requests = 10**9
    config.h2_max_concurrent_streams = 10**4
    asyncio.run(hypercorn.asyncio.serve(restate.app([work, counter]), config))
else:
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
