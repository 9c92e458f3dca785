"""The files of the page for people who would rather look: `/` leads to it, `/ui/…` are its parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from starlette.requests import Request

from rivetpy.engine.http import Answer, Headers

PREFIX = b"/ui/"
FOLDER = files("rivetpy.engine") / "page"
#: What is served, by how its name ends; nothing else in the folder is.
TYPES = {
    "html": b"text/html; charset=utf-8",
    "css": b"text/css; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "svg": b"image/svg+xml",
}
#: The page may load its own files and talk to the engine it came from; nothing inline runs, nobody frames it.
POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
GUARDS: Headers = [
    (b"content-security-policy", POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-cache"),
]


@dataclass(frozen=True, slots=True)
class File:
    """One file as it is sent."""

    body: bytes
    content_type: bytes


class PageFiles:
    """Answers for the page. Its files hold nothing secret: what they show comes from the engine's own routes."""

    def __init__(self) -> None:
        self._files: dict[bytes, File] = {}

    def answer(self, request: Request, path: bytes) -> Answer | None:
        """The answer at this path; None when it is no path of the page."""
        if request.method not in {"GET", "HEAD"}:
            return None
        if path in {b"", b"/", b"/ui"}:
            root = request.scope.get("root_path", "").encode()
            return Answer(b"", 307, headers=[(b"location", root + PREFIX), (b"cache-control", b"no-store")])
        if not path.startswith(PREFIX):
            return None
        file = self._file(path.removeprefix(PREFIX) or b"index.html")
        return None if file is None else Answer(file.body, content_type=file.content_type, headers=[*GUARDS])

    def _file(self, name: bytes) -> File | None:
        if not self._files:
            self._files = dict(_read())
        return self._files.get(name)


def _read() -> Iterator[tuple[bytes, File]]:
    """All files by name; requests look names up and never touch the disk."""
    found = [(each.name, each) for each in FOLDER.iterdir() if each.is_file()]
    found += [(f"vendor/{each.name}", each) for each in (FOLDER / "vendor").iterdir()]
    for name, each in found:
        content_type = TYPES.get(name.rpartition(".")[2])
        if content_type is not None:
            yield name.encode(), File(each.read_bytes(), content_type)
