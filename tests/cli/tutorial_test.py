"""Every command of docs/own-images.md, in order, on a folder of pictures made here, with fewer steps."""
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

import png_tools
from program import ENVIRONMENT, MDSM

PAGE = os.path.abspath(sys.argv[2])
OUTLIERS = 3
FEWER = {"--steps": "6"}


def commands():
    with open(PAGE, encoding="utf-8") as file:
        return [line.strip() for line in file if line.startswith("    mdsm ")]


def picture(path, draw):
    """Two blobs of colour on a ramp, 88x92 pixels."""
    blobs = [(draw.randrange(88), draw.randrange(92), draw.randrange(8, 30), [draw.randrange(256) for _ in range(3)]) for _ in range(2)]
    rows = []
    for y in range(92):
        row = []
        for x in range(88):
            colour = [min(255, x + y + c * 20) for c in range(3)]
            for left, top, size, own in blobs:
                if (x - left) ** 2 + (y - top) ** 2 < size * size:
                    colour = own
            row += colour
        rows.append(row)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    png_tools.write_png(path, rows, 3)


class Tutorial(unittest.TestCase):
    def test_every_command(self):
        root = tempfile.mkdtemp(prefix="mdsm_tutorial_")
        self.addCleanup(shutil.rmtree, root, ignore_errors=True)
        draw = random.Random(1)
        for part, count in (("train", 60), ("test", 120)):
            for i in range(count):
                picture(os.path.join(root, "photos", part, f"{i}.png"), draw)
        lines = commands()
        self.assertGreater(len(lines), 8)
        for line in lines:
            words = shlex.split(line)[1:]
            for name, value in FEWER.items():
                words = [value if i and words[i - 1] == name else word for i, word in enumerate(words)]
            result = subprocess.run([MDSM, *words], cwd=root, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                    timeout=1800, check=False)
            self.assertIn(result.returncode, (0, OUTLIERS) if re.match("mdsm score photos", line) else (0,), line + "\n" + result.stderr)
        for made in ("sheet.png", "samples/grid.png", "clean/figure.png", "filled/figure.png", "large/figure.png", "heat/0.png",
                     "model.safetensors", "hub/config.json"):
            self.assertTrue(os.path.exists(os.path.join(root, made)), made)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
