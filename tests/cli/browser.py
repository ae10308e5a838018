"""A real browser: Debian's chromium, driven by chromedriver over plain HTTP (the WebDriver protocol)."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def is_there():
    return shutil.which("chromium") and shutil.which("chromedriver")


class Browser:
    """with Browser() as browser: browser.open(url); browser.click("#start")"""

    def __init__(self, width=1280, height=900):
        self.size = width, height

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory()
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL)
        for line in self.driver.stdout:
            if "started successfully on port" in line:
                self.base = f"http://127.0.0.1:{line.split()[-1].rstrip('.')}"
                break
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--window-size={self.size[0]},{self.size[1]}",
                            f"--user-data-dir={self.profile.name}"]}
        self.session = ""
        self.session = "/session/" + self.call("POST", "/session", {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options, "goog:loggingPrefs": {
            "browser": "ALL"}}}})["sessionId"]
        return self

    def __exit__(self, *_):
        try:
            self.call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
            self.driver.stdout.close()
            self.profile.cleanup()

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.base + self.session + path, method=method, data=json.dumps(body or {}).encode() if method == "POST" else None,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"browser: {error.read().decode()[:600]}") from None

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def run_later(self, script, *arguments):
        """The last argument of the script is the function that takes its result."""
        return self.call("POST", "/execute/async", {"script": script, "args": list(arguments)})

    def find(self, selector):
        return self.call("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.call("POST", f"/element/{self.find(selector)}/click")

    def choose(self, selector, *files):
        """Files for an input."""
        self.call("POST", f"/element/{self.find(selector)}/value", {"text": "\n".join(files)})

    def set(self, selector, value):
        self.run("const n = document.querySelector(arguments[0]); n.value = arguments[1]; n.dispatchEvent(new Event('input', {bubbles: true}));"
                 "n.dispatchEvent(new Event('change', {bubbles: true}));", selector, str(value))

    def drop(self, selector, path):
        """A file that is let go over the element."""
        with open(path, "rb") as file:
            content = base64.b64encode(file.read()).decode()
        self.run("const bytes = Uint8Array.from(atob(arguments[1]), c => c.charCodeAt(0)), data = new DataTransfer();"
                 "data.items.add(new File([bytes], arguments[2], {type: 'image/png'}));"
                 "document.querySelector(arguments[0]).dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));",
                 selector, content, os.path.basename(path))

    def drag(self, selector, *places):
        """The pointer pressed along places of the element, shares of its size from its middle."""
        size = self.run("const b = document.querySelector(arguments[0]).getBoundingClientRect(); return [b.width, b.height]", selector)
        origin = {ELEMENT: self.find(selector)}
        moves = [{"type": "pointerMove", "duration": 50, "origin": origin, "x": int(x * size[0]), "y": int(y * size[1])} for x, y in places]
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [
            moves[0], {"type": "pointerDown", "button": 0}, *moves[1:], {"type": "pointerUp", "button": 0}]}]})

    def keys(self, *keys):
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def wait(self, script, *arguments, seconds=60):
        """Until the script gives something true, which is returned."""
        until = time.time() + seconds
        while time.time() < until:
            found = self.run(script, *arguments)
            if found:
                return found
            time.sleep(0.1)
        raise AssertionError(f"browser: never true: {script} {arguments}\n{self.run('return document.body.innerText')[:1500]}")

    def wait_text(self, selector, text, **more):
        return self.wait("const n = document.querySelector(arguments[0]); return n && n.innerText.includes(arguments[1]) && n.innerText", selector, text, **more)

    def resize(self, width, height):
        self.call("POST", "/window/rect", {"width": width, "height": height})

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("GET", "/screenshot")))

    def new_tab(self):
        handle = self.call("POST", "/window/new", {"type": "tab"})["handle"]
        self.call("POST", "/window", {"handle": handle})
        return handle

    def tab(self, handle=None):
        if handle is None:
            return self.call("GET", "/window")
        self.call("POST", "/window", {"handle": handle})
        return handle

    def problems(self):
        """What the console says is wrong, policies that were broken among it."""
        return [one["message"] for one in self.call("POST", "/se/log", {"type": "browser"}) if one["level"] == "SEVERE"]
