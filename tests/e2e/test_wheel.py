"""The quick start as a newcomer has it: from the built wheel, in an empty environment and an empty home."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.engine import ADDRESS, ROOT, Process

#: What pip and a shell need, and nothing of a developer's own.
KEPT = ("PATH", "LANG", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_CONFIG_FILE")


def run(*command: str, cwd: Path, env: dict[str, str]) -> str:
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.long
def test_the_quick_start_from_a_wheel_in_an_empty_place(tmp_path: Path) -> None:
    place = tmp_path / "mein Büro"
    home = place / "home"
    home.mkdir(parents=True)
    env = {name: os.environ[name] for name in KEPT if name in os.environ} | {"HOME": str(home)}
    run(sys.executable, "-m", "venv", "venv", cwd=place, env=env)
    pip = str(place / "venv/bin/pip")
    run(pip, "wheel", "-q", "--no-deps", "-w", "dist", str(ROOT), cwd=place, env=env)
    (wheel,) = (place / "dist").glob("*.whl")
    run(pip, "install", "-q", str(wheel), "pytest", cwd=place, env=env)
    rivet = str(place / "venv/bin/rivet")

    assert "rivet dev" in run(rivet, "init", "shop", cwd=place, env=env)
    shop = place / "shop"
    engine = Process([rivet, "dev", "--port", "0"], shop, env)
    try:
        engine.wait_for(ADDRESS)
        assert run(rivet, "send", "guests", "name=Ada", cwd=shop, env=env) == "sent to greeter main\n"
        for _ in range(200):
            if run(rivet, "call", "greeted", cwd=shop, env=env) == '["Ada"]\n':
                break
        shown = run(rivet, "history", "greeter", cwd=shop, env=env)
        assert "wait-guest" in shown and "Hello, Ada!" in shown
        assert run(rivet, "doctor", cwd=shop, env=env)
        assert engine.interrupt() == 0
    finally:
        engine.kill()
    assert "Traceback" not in "".join(engine.output)
    run(str(place / "venv/bin/python"), "-m", "pytest", "-q", cwd=shop, env=env)
