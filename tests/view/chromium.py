"""A headless Chromium, driven by Playwright, that records what goes wrong in a page."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from playwright.sync_api import BrowserType, ConsoleMessage, Page

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

# Tests have no graphics card: SwiftShader draws WebGL on the CPU. Chromium draws the rest of the
# page, for which SwiftShader takes seconds.
FLAGS = ("--use-angle=swiftshader-webgl", "--enable-unsafe-swiftshader")


def find_chromium() -> str | None:
    """The first Chromium or Chrome on the path."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    """One browser with one page at a time: `with Chromium(driver) as browser: browser.open(path)`.

    Attributes:
        page: Playwright's page, for all that has no method here.
        problems: uncaught errors, messages to the console above "info", and complaints of the
            browser itself (blocked by policy, failed to load).
        requests: every address that the page asked for.
    """

    page: Page

    def __init__(self, driver: BrowserType, *extra_flags: str, seconds: float = 60.0) -> None:
        self.driver = driver
        self.problems: list[str] = []
        self.requests: list[str] = []
        self._seconds = seconds
        self._window: tuple[object, ...] = ()
        self._browser = driver.launch(
            executable_path=find_chromium(),
            args=[*FLAGS, *extra_flags],
            chromium_sandbox=False,  # containers have no user namespaces
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._browser.close()

    def open(
        self,
        address: Path | str,
        *,
        fragment: str = "",
        width: int = 1000,
        height: int = 600,
        scale: float = 1,
        phone: bool = False,
        dark: bool = False,
        calm: bool = True,
        first: str = "",
    ) -> None:
        """Load a file or an address, and wait until its viewer is up.

        The window of the page before is used again if it is of the same kind: a new one has a
        process of its own, which takes as long to start as a page takes to load.

        Args:
            address: the file, or the URL.
            fragment: what follows the address: "#pose=0".
            width: of the window.
            height: of the window.
            scale: device pixels per pixel.
            phone: with touch, and with a phone's viewport.
            dark: the reader prefers dark colours.
            calm: the reader prefers reduced motion.
            first: JavaScript to run before any script of the page.
        """
        window = (scale, phone, first)
        if window != self._window:
            self._new_window(scale, phone, first)
            self._window = window
        self.page.goto("about:blank")  # if only the fragment differed, nothing would be loaded
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce" if calm else "no-preference",
        )
        self.problems.clear()
        self.requests.clear()
        url = address.resolve().as_uri() if isinstance(address, Path) else address
        self.page.goto(url + fragment)
        self.wait("document.documentElement?.dataset.state")
        # If the browser restarts its graphics process, nothing is drawn until the page has it back.
        self.wait(
            "document.documentElement.dataset.state !== 'ready' ||"
            " !document.getElementById('canvas')?.getContext('webgl2')?.isContextLost()"
        )

    def _new_window(self, scale: float, phone: bool, first: str) -> None:
        for context in self._browser.contexts:
            context.close()
        context = self._browser.new_context(
            device_scale_factor=scale, is_mobile=phone, has_touch=phone
        )
        context.set_default_timeout(1000 * self._seconds)
        if first:
            context.add_init_script(first)
        self.page = context.new_page()
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", self._note)
        self.page.on("request", lambda request: self.requests.append(request.url))

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page; promises are awaited."""
        return self.page.evaluate(expression)

    def wait(self, condition: str) -> None:
        """Wait until an expression is true."""
        # Playwright's own wait_for_function evaluates text, which our pages' policy forbids.
        until = time.monotonic() + self._seconds
        while not self.evaluate(condition):
            if time.monotonic() > until:
                raise TimeoutError(f"{condition} is not true after {self._seconds} s")
            self.page.wait_for_timeout(20)

    def settle(self) -> None:
        """Wait for two frames, so that every change is drawn."""
        self.evaluate(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    def screenshot(self) -> bytes:
        """The clouds as they are on the page, as a PNG, without the controls below them."""
        self.settle()
        top = self.evaluate("document.getElementById('timeline').getBoundingClientRect().top")
        box = self.page.locator("#canvas").bounding_box()
        assert box is not None
        return self.page.screenshot(clip={**box, "height": top - box["y"]})

    def key(self, key: str) -> None:
        """Press and release a key."""
        self.page.keyboard.press(key)

    def drag(self, start: tuple[float, float], end: tuple[float, float], *, touch: bool) -> None:
        """Drag across the page with the left mouse button or with one finger."""
        if not touch:
            mouse = self.page.mouse
            mouse.move(*start)
            mouse.down()
            mouse.move(*end, steps=2)
            mouse.up()
            return
        middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
        fingers = self.page.context.new_cdp_session(self.page)  # Playwright's own only taps
        for kind, point in (("Start", start), ("Move", middle), ("Move", end), ("End", None)):
            at = [{"x": point[0], "y": point[1]}] if point else []
            fingers.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": at})

    def _note(self, message: ConsoleMessage) -> None:
        # Chromium reads each WebGL picture back from SwiftShader, and warns that this is slow.
        if message.type in ("error", "warning") and "stall due to ReadPixels" not in message.text:
            self.problems.append(f"{message.text} {message.location}")
