"""A terminal for tests: what a person sees of a command that draws and clears lines."""

import os
import pty
import re
import struct
import termios
from collections.abc import Sequence
from fcntl import ioctl

PART = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)")


class Screen:
    """Text, returns, new lines, and the sequences with which Rich moves up and clears a line."""

    def __init__(self) -> None:
        self.lines = [""]
        self.shows_cursor = True
        self._row = self._column = 0

    def feed(self, text: str) -> None:
        """Show ``text``, which breaks no sequence."""
        for number, code, newline, plain in PART.findall(text):
            if code == "A":
                self._row = max(0, self._row - int(number or 1))
            elif code == "K":
                self.lines[self._row] = ""
            elif code in "hl" and number == "?25":
                self.shows_cursor = code == "h"
            elif newline == "\r":
                self._column = 0
            elif newline == "\n":
                self._row, self._column = self._row + 1, 0
                self.lines += [""] * (self._row + 1 - len(self.lines))
            elif plain:
                line = self.lines[self._row].ljust(self._column)
                after = self._column + len(plain)
                self.lines[self._row] = line[: self._column] + plain + line[after:]
                self._column = after

    @property
    def shown(self) -> list[str]:
        """The lines that are not empty, without spaces at the end."""
        return [line.rstrip() for line in self.lines if line.strip()]


def watch(command: Sequence[str], columns: int = 120) -> tuple[int, Screen, list[list[str]]]:
    """Run a command in a terminal; return its status, the last screen, and every screen before."""
    process, descriptor = pty.fork()
    if process == 0:
        os.execvp(command[0], list(command))
    ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    screen, screens, rest = Screen(), [], b""
    while True:
        try:
            rest += os.read(descriptor, 1 << 16)
        except OSError:  # the command has ended
            break
        whole, clear, begun = rest.rpartition(b"\r")  # each redrawing begins with a return
        rest = clear + begun
        screen.feed(whole.decode())
        screens.append(screen.shown)
    screen.feed(rest.decode())
    os.close(descriptor)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), screen, screens
