"""The page of mdsm serve in a real Chromium: draw, watch a training, denoise a dropped picture, paint a mask, score, cancel, two
tabs at once, the server killed and back, the keyboard, a narrow screen; axe-core (MDSM_AXE=axe.min.js) where it is there.

    serve_page_test.py MDSM [FOLDER]      screenshots go to the folder
"""
import os
import re
import signal
import sys
import tempfile
import unittest

from browser import Browser, is_there
from serve_tools import Server, png

SHOTS = sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp(prefix="mdsm_page_")
AXE = os.environ.get("MDSM_AXE", "")
SECTIONS = ("draw", "runs", "repair", "judge", "jobs")


def form_button(text):
    """A script that finds a button by its text."""
    return f"[...document.querySelectorAll('button')].find(b => b.textContent === {text!r})"


@unittest.skipUnless(is_there(), "needs a browser: apt-get install chromium chromium-driver")
class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server().__enter__()
        cls.browser = Browser().__enter__()
        cls.pictures = []
        for i, value in enumerate((lambda x, y: (x * 37 + y * 101) % 256, lambda x, y: 200 if 5 < x < 22 and 3 < y < 25 else 0)):
            path = os.path.join(cls.server.root, f"picture{i}.png")
            with open(path, "wb") as file:
                file.write(png(28, 28, value))
            cls.pictures.append(path)

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.server.__exit__()

    def at(self, section):
        self.browser.open("about:blank")
        self.browser.open(f"{self.server.url}#{section}")
        self.browser.wait("return document.querySelector('main h2')")

    def shot(self, name):
        self.browser.screenshot(os.path.join(SHOTS, name + ".png"))

    def click(self, text):
        self.browser.wait(f"return {form_button(text)}")
        self.browser.run(f"{form_button(text)}.click()")

    def test_draw_as_images_form(self):
        self.at("draw")
        self.browser.set("input[aria-label='images']", 9)
        self.click("Draw")
        self.browser.wait("const n = document.querySelectorAll('.pictures img'); return n.length == 2 && n[1].naturalWidth > 0")
        self.browser.wait("const n = document.querySelector('#drawn'); return n && n.naturalWidth > 0")
        self.assertIn("mdsm sample --model=fashion-mnist", self.browser.run("return document.querySelector('pre').innerText"))
        self.shot("draw")

    def test_cancel(self):
        self.at("draw")
        self.browser.set("main select:nth-of-type(1)", "fashion-mnist")
        self.browser.run("document.querySelectorAll('main select')[1].value = 'annealed';"
                         "document.querySelectorAll('main select')[1].dispatchEvent(new Event('change'))")
        self.browser.set("input[aria-label='images']", 64)
        self.browser.wait("return [...document.querySelectorAll('.field span')].some(s => s.innerText === 'steps-cool' || s.textContent === 'steps-cool')")
        self.click("Draw")
        self.browser.wait_text(".progress", "sampling")
        self.click("Cancel")
        self.browser.wait_text(".progress", "cancelled")

    def test_denoise_a_dropped_picture(self):
        self.at("repair")
        self.browser.drop(".drop", self.pictures[0])
        self.browser.wait("return document.querySelector('figure img')?.naturalWidth == 28")
        self.click("Denoise")
        noise = self.browser.wait_text("#noise", "Estimated noise")
        self.assertGreater(float(re.search(r"deviation ([\d.]+)", noise)[1]), 0.05)
        self.browser.wait("return [...document.querySelectorAll('#compare img')].every(i => i.naturalWidth == 28)")
        self.browser.set("#compare input", 20)
        self.assertIn("20%", self.browser.run("return document.querySelectorAll('#compare img')[1].style.clipPath"))
        self.shot("denoise")

    def test_paint_a_mask(self):
        self.at("repair")
        self.browser.choose("input[type=file]", self.pictures[1])
        self.browser.run("document.querySelector('main select').value = 'inpaint'; document.querySelector('main select').dispatchEvent(new Event('change'))")
        self.browser.wait("return document.querySelector('#mask')?.width == 28")
        self.click("Fill in")
        self.browser.wait_text("#notice", "Nothing is painted")
        self.browser.drag("#mask", (-0.2, -0.2), (0.1, 0.0), (0.2, 0.2))
        self.click("Fill in")
        self.browser.wait("const n = document.querySelectorAll('#completions img'); return n.length == 4 && [...n].every(i => i.naturalWidth == 28)")
        self.shot("inpaint")

    def test_enlarge(self):
        self.at("repair")
        self.browser.choose("input[type=file]", self.pictures[1])
        self.browser.run("document.querySelector('main select').value = 'restore'; document.querySelector('main select').dispatchEvent(new Event('change'))")
        self.click("Enlarge")
        self.browser.wait("const n = document.querySelector('#completions img'); return n && n.naturalWidth == 56 || document.querySelector('.progress.error')?.innerText")

    def test_judge(self):
        self.at("judge")
        self.browser.set("input[aria-label='images']", 400)
        self.click("Fit")
        self.browser.wait("return [...document.querySelectorAll('select option')].some(o => o.value === 'good')")
        self.browser.choose("input[type=file]", *self.pictures)
        self.click("Score")
        self.browser.wait_text("#scores", "picture1.png")
        self.browser.wait("return document.querySelector('svg rect') && [...document.querySelectorAll('.small img')].filter(i => i.alt.startsWith('heat')).length == 2")
        self.browser.run("document.querySelectorAll('input[type=file]')[1].id = 'between'")
        self.browser.choose("#between", *self.pictures)
        self.browser.set("input[aria-label='points a side of the plane']", 9)
        self.browser.set("input[aria-label='steps of the chains']", 20)
        self.click("Walk")
        self.browser.wait("return document.querySelector('polyline') && document.querySelector('canvas[role=img]')")
        self.browser.run("document.querySelector('canvas[role=img]').scrollIntoView()")
        self.shot("judge")

    def test_watch_a_training_live_stop_and_resume(self):
        self.at("runs")
        for name, value in (("width", 4), ("steps", 4000), ("batch", 8)):
            self.browser.set(f"input[aria-label='{name}']", value)
        self.click("Start")
        self.browser.wait("return document.querySelectorAll('#curve polyline').length == 5")
        first = self.browser.run("return document.querySelector('#curve polyline').getAttribute('points').length")
        self.browser.wait("return document.querySelector('#curve polyline').getAttribute('points').length > arguments[0]", first)
        self.browser.wait("const i = [...document.querySelectorAll('main img')].find(i => i.alt.startsWith('noisy, denoised')); return i && i.naturalWidth")
        self.shot("runs")
        self.click("Stop")
        self.browser.wait_text("#run-state", "stopped")
        step = int(re.search(r"Step (\d+)", self.browser.run("return document.querySelector('#run-state').innerText"))[1])
        self.click("Resume")
        self.browser.wait("const m = /Step (\\d+)/.exec(document.querySelector('#run-state').innerText); return m && Number(m[1]) > arguments[0]", step)
        self.browser.wait(f"return !{form_button('Stop')}.hidden")
        self.click("Stop")
        self.browser.wait_text("#run-state", "stopped")
        self.at("runs")
        self.browser.set("input[aria-label='images']", 4)
        self.click("Draw both")
        self.browser.wait("return [...document.querySelectorAll('#sides img')].filter(i => i.alt.startsWith('seeds') && i.naturalWidth).length == 2")

    def test_two_tabs(self):
        first = self.browser.tab()
        self.at("draw")
        self.browser.set("input[aria-label='images']", 4)
        second = self.browser.new_tab()
        self.at("draw")
        self.browser.set("input[aria-label='images']", 4)
        self.click("Draw")
        self.browser.tab(first)
        self.click("Draw")
        for tab in (second, first):
            self.browser.tab(tab)
            self.browser.wait("const n = document.querySelector('#drawn'); return n && n.naturalWidth > 0")
        self.browser.tab(second)
        self.browser.call("DELETE", "/window")
        self.browser.tab(first)

    def test_the_server_is_killed_and_comes_back(self):
        self.at("draw")
        self.browser.set("input[aria-label='images']", 64)
        self.browser.run("document.querySelectorAll('main select')[1].value = 'annealed';"
                         "document.querySelectorAll('main select')[1].dispatchEvent(new Event('change'))")
        self.browser.wait("return [...document.querySelectorAll('.field span')].some(s => s.textContent === 'steps-cool')")
        self.browser.run("const set = (name, value) => { const n = document.querySelector(`input[aria-label='${name}']`); n.value = value; };"
                         "set('steps-hot', 20); set('steps-cool', 60); set('steps-end', 10)")
        self.click("Draw")
        self.browser.wait_text(".progress", "sampling")
        port = self.server.port
        self.server.stop(signal.SIGKILL)
        self.server.start(port)
        self.browser.wait("const n = document.querySelector('#drawn'); return n && n.naturalWidth > 0")
        self.browser.set("input[aria-label='images']", 1)
        self.click("Draw")
        self.browser.wait("return [...document.querySelectorAll('figcaption')].some(n => n.innerText.startsWith('Seeds 0,'))")

    def test_looks(self):
        self.at("draw")
        self.browser.keys("\ue004")
        self.assertEqual(self.browser.run("return document.activeElement.className"), "skip")
        for _ in range(3):
            self.browser.keys("\ue004")
        self.browser.keys("\ue007")
        self.browser.wait("return location.hash === '#repair' && document.querySelector('.drop')")
        self.browser.resize(420, 860)
        for section in SECTIONS:
            self.at(section)
            self.assertLessEqual(self.browser.run("return document.documentElement.scrollWidth - innerWidth"), 0, f"{section} is too wide for a telephone")
            self.shot(f"narrow-{section}")
        self.browser.resize(1280, 900)
        self.at("draw")
        self.browser.click("#theme")
        self.assertEqual(self.browser.run("return document.documentElement.dataset.theme"), "dark")
        self.shot("dark")
        self.browser.click("#theme")

    @unittest.skipUnless(os.path.isfile(AXE), "needs axe-core: npm install axe-core, then MDSM_AXE=node_modules/axe-core/axe.min.js")
    def test_axe_finds_nothing_serious(self):
        with open(AXE, encoding="utf-8") as file:
            axe = file.read()
        for theme in ("light", "dark"):
            for section in SECTIONS:
                self.at(section)
                self.browser.run("document.documentElement.dataset.theme = arguments[0]; document.querySelectorAll('details').forEach(d => { d.open = true; })", theme)
                self.browser.run(axe)
                found = self.browser.run_later("const done = arguments[0]; axe.run().then(r => done(r.violations.map(v => [v.impact, v.id, v.nodes.map(n => n.html).slice(0, 3)])))")
                serious = [one for one in found if one[0] in ("serious", "critical")]
                self.assertEqual(serious, [], f"{section}, {theme}")
        print("axe: nothing serious in", len(SECTIONS), "sections, light and dark")

    def tearDown(self):
        # While the server is away, and the first request with the token of the one that was killed.
        allowed = ("ERR_CONNECTION", "ERR_INCOMPLETE", "ERR_EMPTY", "status of 403") if "killed" in self.id() else ()
        wrong = [text for text in self.browser.problems() if not any(one in text for one in allowed)]
        self.assertEqual(wrong, [], "the console is clean")


if __name__ == "__main__":
    print("screenshots:", SHOTS)
    unittest.main(argv=sys.argv[:1])
