"""Lines of a process, with a limit for each. A text stream can't be asked: lines that it holds already don't show in select()."""
import os, select, time


class Lines:
    def __init__(self, pipe):
        self.pipe, self.held = pipe, b""

    def next(self, seconds):
        """A line; "" at the end; None if there was none in time."""
        end = time.monotonic() + seconds
        while b"\n" not in self.held:
            if not select.select([self.pipe], [], [], max(0, end - time.monotonic()))[0]:
                return None
            more = os.read(self.pipe.fileno(), 1 << 16)
            if not more:
                return ""
            self.held += more
        line, self.held = self.held.split(b"\n", 1)
        return line.decode()
