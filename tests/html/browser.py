"""Pages in a real Chromium, which tell what went wrong in them."""
import contextlib
import json
import pathlib
import shutil
import subprocess

from playwright.sync_api import sync_playwright


def chromium():
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if not found:
        raise SystemExit("no chromium: tools/setup.sh test installs it")
    return found


@contextlib.contextmanager
def browser():
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])   # containers have no namespaces to spare
        try:
            yield started
        finally:
            started.close()


def make_page(program, reports, file, *options):
    """What the program makes of saved reports; the folder is the page's."""
    saved = file.with_suffix(".json")
    saved.write_text(json.dumps(reports))
    html = subprocess.run([program, "render", saved, "--format", "html", *options], stdout=subprocess.PIPE, check=True).stdout
    file.write_bytes(html)
    return file


# When the page was there and drawn, by the browser's own clock: `window.openedAfter`, in ms.
OPENED = """if (top === self) addEventListener("load", () => requestAnimationFrame(() => requestAnimationFrame(
  () => setTimeout(() => { window.openedAfter = performance.now(); }))));"""


class Watched:
    """A page that was opened, and what it complained about or asked for."""

    def __init__(self, started, file, **context):
        self.context = started.new_context(**{"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce", **context})
        self.page = self.context.new_page()
        self.page.set_default_timeout(120_000)   # of a busy machine
        self.complaints = []
        address = pathlib.Path(file).resolve().as_uri()
        self.page.on("console", lambda message: self.complaints.append(f"console: {message.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("request", lambda request: self.complaints.append(f"request: {request.url}") if request.url.partition("#")[0] != address else None)
        self.page.add_init_script(OPENED)
        self.clock = self.context.new_cdp_session(self.page)
        self.clock.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.page.goto(address)

    def __enter__(self):
        return self

    def busy(self):
        """Seconds that the page's thread has worked so far, whatever else the machine does."""
        return next(one["value"] for one in self.clock.send("Performance.getMetrics")["metrics"] if one["name"] == "TaskDuration")

    def __exit__(self, kind, *_):
        self.context.close()
        assert kind or not self.complaints, self.complaints
