"""A real editor in a terminal of its own, with our client of /infill (fim.vim) in it."""

import json
import os
import pty
import shutil
import subprocess
import threading
from pathlib import Path

import pytest
from serving import until

SCRIPT = Path(__file__).parent / "fim.vim"
NORMAL = "\x1c\x0e"  # ends insert mode, whatever comes after it
TAB = "\t"


class Editor:
    """An editor at a file; keys go in, and what its client of /infill did comes out.

    server      where it asks
    file        what it edits
    key, within  what the client sends as key and budget (milliseconds)
    """

    def __init__(self, program, server, file, key="", within=20000):
        self._log = file.with_name("log")
        self._log.touch()
        home = file.parent
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("VIM", "NVIM", "MYVIMRC"))} | {
            "TERM": "ansi",
            "HOME": str(home),
            "XDG_DATA_HOME": str(home / "data"),
            "FIM_URL": server.url,
            "FIM_KEY": key,
            "FIM_LOG": str(self._log),
            "FIM_MS": str(within),
        }
        self._ours, theirs = pty.openpty()
        self.run = subprocess.Popen(
            [shutil.which(program), "-u", SCRIPT, "-i", "NONE", "-n", file],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment,
            start_new_session=True,
        )
        os.close(theirs)
        self.screen = b""
        # What it draws is read, or it would wait for that.
        threading.Thread(target=self._draw, daemon=True).start()
        self.wait("ready")

    def _draw(self):
        while True:
            try:
                self.screen += os.read(self._ours, 65536)
            except OSError:
                return

    def type(self, keys):
        os.write(self._ours, keys.encode())

    def did(self, what):
        """Everything that was told of such an event."""
        told = [json.loads(line) for line in self._log.read_text().splitlines() if line.endswith("]")]
        return [more for event, *more in told if event == what]

    def wait(self, what, times=1):
        until(lambda: len(self.did(what)) >= times or self.run.poll() is not None or b"Error" in self.screen)
        assert len(self.did(what)) >= times, self.screen.decode(errors="replace")
        return self.did(what)[-1]

    def save(self):
        self.type(NORMAL + ":wq\r")
        assert self.run.wait(20) == 0

    def close(self):
        self.run.kill()
        self.run.wait(20)
        os.close(self._ours)


def needed(*programs):
    """Leave a test out where a program is missing, and say which."""
    missing = [program for program in programs if shutil.which(program) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")
