"""Drives a headless Chromium over its debugging pipe, with the standard library alone."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

# No graphics card in a test: SwiftShader draws WebGL on the CPU.
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)

# Chromium reads from descriptor 3 and writes to 4: put our pipes there, by way of high numbers so
# that neither lands on the other.
LAUNCH = """
import fcntl, os, sys
ours = [fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in sys.argv[1:3]]
os.dup2(ours[0], 3)
os.dup2(ours[1], 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""


def find_chromium() -> str | None:
    """The first Chromium or Chrome on the path."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    """One browser with one page: `with Chromium() as browser: browser.open(path)`.

    `problems` collects whatever goes wrong in the page: uncaught errors, messages to the console
    above "info", and the browser's own complaints (blocked by policy, failed to load).
    `requests` collects every address the page asked for.
    """

    def __init__(self, *extra_flags: str, timeout: float = 60.0) -> None:
        self.timeout = timeout
        self.problems: list[str] = []
        self.requests: list[str] = []
        self._buffer = b""
        self._last_id = 0
        self._session: str | None = None
        self._profile = tempfile.mkdtemp(prefix="chromium-")
        command = [find_chromium() or "chromium", *FLAGS, *extra_flags]
        command += [f"--user-data-dir={self._profile}", "about:blank"]
        its_input, self._write = os.pipe()
        self._read, its_output = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, str(its_input), str(its_output), *command],
            pass_fds=(its_input, its_output),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(its_input)
        os.close(its_output)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._session = None
        with contextlib.suppress(Exception):
            self.call("Browser.close")
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._write)
        os.close(self._read)
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command of the DevTools protocol and return its result."""
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._last_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self._note(answer)

    def open(
        self,
        page: Path,
        *,
        fragment: str = "",
        width: int = 1000,
        height: int = 600,
        scale: float = 1,
        phone: bool = False,
        dark: bool = False,
        calm: bool = True,
    ) -> None:
        """Load a file, in a window of a size and taste, and wait until its viewer is up."""
        self.problems.clear()
        self.requests.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=scale, mobile=phone,
        )  # fmt: skip
        self.call("Emulation.setTouchEmulationEnabled", enabled=phone)
        self.call(
            "Emulation.setEmulatedMedia",
            features=[
                {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                {"name": "prefers-reduced-motion", "value": "reduce" if calm else "no-preference"},
            ],
        )
        # A change of fragment alone would not load the file again.
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=page.resolve().as_uri() + fragment)
        self.wait("document.documentElement?.dataset.state")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page; promises are awaited."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def wait(self, condition: str) -> None:
        """Wait until an expression is true."""
        until = time.monotonic() + self.timeout
        while not self.evaluate(condition):
            if time.monotonic() > until:
                raise TimeoutError(f"{condition} is not true after {self.timeout} s")
            time.sleep(0.02)

    def settle(self) -> None:
        """Wait until what has been asked for is on the screen."""
        self.evaluate(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    def screenshot(self, path: Path | None = None, *, whole: bool = False) -> bytes:
        """The page as a PNG, and as a file if asked; `whole` also takes what needs scrolling."""
        self.settle()
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        png = base64.b64decode(shot["data"])
        if path is not None:
            path.write_bytes(png)
        return png

    def key(self, key: str) -> None:
        """Press and release a key."""
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def drag(self, start: tuple[float, float], end: tuple[float, float], *, touch: bool) -> None:
        """Drag across the page with the left mouse button or with one finger."""
        middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
        steps = list(zip(("down", "move", "move", "up"), (start, middle, end, end), strict=True))
        for step, (x, y) in steps:
            if touch:
                kind = {"down": "touchStart", "move": "touchMove", "up": "touchEnd"}[step]
                fingers = [] if step == "up" else [{"x": x, "y": y}]
                self.call("Input.dispatchTouchEvent", type=kind, touchPoints=fingers)
            else:
                kind = {"down": "mousePressed", "move": "mouseMoved", "up": "mouseReleased"}[step]
                self.call(
                    "Input.dispatchMouseEvent",
                    type=kind, x=x, y=y, button="left", buttons=0 if step == "up" else 1,
                    clickCount=1,
                )  # fmt: skip

    def _next(self) -> dict[str, Any]:
        until = time.monotonic() + self.timeout
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise TimeoutError(f"Chromium said nothing for {self.timeout} s")
            chunk = os.read(self._read, 1 << 20)
            if not chunk:
                raise RuntimeError("Chromium went away")
            self._buffer += chunk
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def _note(self, event: dict[str, Any]) -> None:
        method, details = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(details["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and details["type"] in ("error", "warning"):
            self.problems.append(json.dumps(details["args"]))
        elif method == "Log.entryAdded" and details["entry"]["level"] in ("error", "warning"):
            self.problems.append(json.dumps(details["entry"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(details["request"]["url"])
