"""A headless Chromium, driven by the DevTools protocol over two pipes. Python's standard library only."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

SECONDS_MAX = 60


class Chromium:
    """`said` are its console messages and exceptions, `asked` the addresses that it asked for."""

    def __init__(self, program, width, height, theme):
        self.width, self.height = width, height
        self.profile = tempfile.mkdtemp(prefix="driftless-browser-")
        to_it, self.write_end = os.pipe()
        self.read_end, from_it = os.pipe()

        def place():  # it reads from 3 and writes to 4
            kept = os.dup2(to_it, 100), os.dup2(from_it, 101)
            os.dup2(kept[0], 3)
            os.dup2(kept[1], 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--disable-gpu",
             "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run", "--disable-background-networking",
             f"--user-data-dir={self.profile}", f"--window-size={width},{height}", "about:blank"],
            preexec_fn=place, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_it)
        os.close(from_it)
        self.number, self.stored, self.events, self.session = 0, b"", [], None
        self.said, self.asked = [], []
        (page,) = [one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page"]
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]

    def receive(self):
        end = time.monotonic() + SECONDS_MAX
        while b"\0" not in self.stored:
            ready, _, _ = select.select([self.read_end], [], [], max(0, end - time.monotonic()))
            piece = os.read(self.read_end, 1 << 20) if ready else b""
            if not piece:
                raise AssertionError("the browser says nothing any more")
            self.stored += piece
        text, self.stored = self.stored.split(b"\0", 1)
        message = json.loads(text)
        self.note(message)
        return message

    def note(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.said.append(str([one.get("value", one.get("description")) for one in params["args"]]))
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.said.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded":
            self.said.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])

    def value(self, expression):
        """What a JavaScript expression gives."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def open(self, address):
        """Returns once the page says that it is complete."""
        self.call("Page.navigate", url=address)
        end = time.monotonic() + SECONDS_MAX
        while self.value("document.documentElement?.dataset.ready") != "true":
            if time.monotonic() > end:
                raise AssertionError(f"{address} was not ready within {SECONDS_MAX} s: {self.said}")
            time.sleep(0.02)  # polls another process

    def first_paint_ms(self):
        return self.value("performance.getEntriesByName('first-contentful-paint')[0].startTime")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y, count=1):
        self.mouse("mouseMoved", x, y)
        for number in range(1, count + 1):
            self.mouse("mousePressed", x, y, button="left", clickCount=number)
            self.mouse("mouseReleased", x, y, button="left", clickCount=number)

    def drag(self, from_x, to_x, y):
        self.mouse("mouseMoved", from_x, y)
        self.mouse("mousePressed", from_x, y, button="left", clickCount=1)
        for part in range(1, 5):
            self.mouse("mouseMoved", from_x + (to_x - from_x) * part / 4, y, button="left")
        self.mouse("mouseReleased", to_x, y, button="left", clickCount=1)

    def have_fingers(self):
        self.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=5)

    def touch(self, kind, *places):
        """touchStart, touchMove with all fingers that are down, touchEnd with those that stay."""
        points = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(places)]
        self.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)

    def move_fingers(self, begin, end, steps=6):
        """All fingers from their places to others, each in a straight line."""
        self.touch("touchStart", *begin)
        for part in range(1, steps + 1):
            self.touch("touchMove", *[(x + (to_x - x) * part / steps, y + (to_y - y) * part / steps)
                                      for (x, y), (to_x, to_y) in zip(begin, end)])
            self.settle()
        self.touch("touchEnd")

    def press(self, key, times=1, modifiers=0):
        for _ in range(times):
            text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
            self.call("Input.dispatchKeyEvent", type="keyDown", key=key, modifiers=modifiers, **text)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=key, modifiers=modifiers)

    def settle(self):
        """Two frames: what was asked for has been drawn."""
        self.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def picture(self, top=0, height=None):
        """A PNG of the whole page, as long as it is, or of a part."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": top, "width": size["width"], "height": height or size["height"] - top, "scale": 1}
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"])

    def keep_picture(self, path):
        path.write_bytes(self.picture())

    def printed(self):
        """The page as a PDF, on the paper that it asks for."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])
