"""The completion scripts: shipped as printed, understood by their shells, and answered by the command."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.command import rivet
from tests.support.engine import RIVET, ROOT, environment

SHELLS = ("bash", "zsh", "fish")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shipped_script_is_the_printed_one(shell: str) -> None:
    ended = rivet("completions", shell)
    assert ended.code == 0
    assert (ROOT / "completions" / f"rivet.{shell}").read_text() == ended.out


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_understands_its_script(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    check = ["-n"] if shell != "fish" else ["--no-execute"]
    subprocess.run([shell, *check, str(ROOT / "completions" / f"rivet.{shell}")], check=True)


def test_bash_completes_commands_and_options(tmp_path: Path) -> None:
    command = tmp_path / "rivet"
    command.write_text(
        "#!/bin/sh\nexec " + " ".join(f"'{part}'" for part in RIVET[:2]) + f' "{RIVET[2]}" "$@"\n'
    )
    command.chmod(0o755)
    script = f"""
    source '{ROOT}/completions/rivet.bash'
    complete_line() {{ COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rivet_completion rivet; echo "${{COMPREPLY[@]}}"; }}
    complete_line rivet s
    complete_line rivet send --ac
    complete_line rivet completions ''
    """
    env = environment(PATH=f"{tmp_path}:{os.environ['PATH']}")
    shown = subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True, check=True)
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert lines == [["send", "state", "sleep"], ["--actor"], ["bash", "zsh", "fish"]], shown.stderr
