"""What a picture has beside its colours goes to its result: 16 bits, transparency, colour profile, upright. Files are made byte by
byte; `--strength 0` takes no noise away, so that every value has to come back."""
import os
import shutil
import struct
import sys
import tempfile
import unittest
import zlib

import bad_files
import formats
import png_tools
import tiff_tools
from program import call, run

WIDTH, HEIGHT = 13, 9


def profile(space):
    """The smallest that says what it is."""
    content = bytearray(132)
    struct.pack_into(">I", content, 0, len(content))
    content[12:24], content[36:40] = b"mntr" + space + b"XYZ ", b"acsp"
    return bytes(content)


def numbers(count, bits, seed=0):
    return [(seed + i * 7919 + i * i * 31) % (1 << bits) for i in range(count)]


def png(pixels, samples, bits=8, chunks=()):
    """Interleaved numbers, any of PNG's four kinds."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    data = struct.pack(f">{len(pixels)}" + {8: "B", 16: "H"}[bits], *pixels)
    stride = WIDTH * samples * bits // 8
    rows = b"".join(b"\0" + data[y * stride:(y + 1) * stride] for y in range(HEIGHT))
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, bits, {1: 0, 2: 4, 3: 2, 4: 6}[samples], 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + b"".join(chunk(*one) for one in chunks) + chunk(b"IDAT", zlib.compress(rows)) +
            chunk(b"IEND", b""))


def read_png(path):
    """(width, height, samples, bits, pixels, chunks)"""
    with open(path, "rb") as file:
        chunks = png_tools.chunks(file.read())
    width, height, bits, kind = struct.unpack_from(">IIBB", chunks[0][1])
    samples = {0: 1, 4: 2, 2: 3, 6: 4}[kind]
    data = zlib.decompress(b"".join(body for name, body in chunks if name == b"IDAT"))
    rows = png_tools.unfiltered(data, height, width * samples * bits // 8, samples * bits // 8)
    return width, height, samples, bits, list(struct.unpack(f">{width * height * samples}" + {8: "B", 16: "H"}[bits], b"".join(rows))), dict(chunks)


def png_profile(chunks):
    name, rest = chunks[b"iCCP"].split(b"\0", 1)
    assert name and rest[:1] == b"\0"
    return zlib.decompress(rest[1:])


class Pictures(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="mdsm_pictures_")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def put(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)
        return self.path(name)

    def unchanged(self, name, content, *options):
        """The path of what `denoise --strength 0` makes of it."""
        out = self.path("out-" + name)
        run("denoise", self.put(name, content), "--model", "cifar10", "--strength", 0, "--colour", "rgb", "--out", out, "--threads", 1, *options)
        found = [one for one in os.listdir(out) if one not in ("figure.png", "denoise.json")]
        self.assertEqual(len(found), 1)
        return os.path.join(out, found[0])

    def check_tiff(self, samples, bits, **more):
        pixels = numbers(WIDTH * HEIGHT * samples, bits)
        path = self.unchanged("a.tif", tiff_tools.write_tiff(pixels, WIDTH, HEIGHT, samples, bits, **more))
        self.assertTrue(path.endswith("a.tif"))
        found = tiff_tools.read_tiff(path)
        self.assertEqual(found[:5], (WIDTH, HEIGHT, samples, bits, pixels))
        shutil.rmtree(os.path.dirname(path))
        return found[5]

    def test_tiff_of_16_bits(self):
        tags = self.check_tiff(3, 16, profile=profile(b"RGB "))
        self.assertEqual(bytes(tags[tiff_tools.PROFILE]), profile(b"RGB "))

    def test_tiff_of_every_layout(self):
        for more in ({"order": ">"}, {"separate": True}, {"tile": 16}, {"tile": 16, "separate": True, "order": ">"}, {"packed": True}):
            for bits in (8, 16):
                with self.subTest(bits=bits, **more):
                    self.check_tiff(3, bits, **more)

    def test_tiff_with_transparency(self):
        for extra in (1, 2):  # colours multiplied by it, or not
            for bits in (8, 16):
                with self.subTest(extra=extra, bits=bits):
                    tags = self.check_tiff(4, bits, extra=extra)
                    self.assertEqual(tags[tiff_tools.EXTRA], (extra,))

    def test_grey_tiff_becomes_rgb_without_its_profile(self):
        pixels = numbers(WIDTH * HEIGHT, 16)
        for kind, flip in ((1, 0), (0, 65535)):
            content = tiff_tools.write_tiff(pixels, WIDTH, HEIGHT, 1, 16, kind=kind, profile=profile(b"GRAY"))
            found = tiff_tools.read_tiff(self.unchanged(f"grey{kind}.tiff", content))
            self.assertEqual(found[4], [value ^ flip for value in pixels for _ in range(3)])
            self.assertNotIn(tiff_tools.PROFILE, found[5])

    def test_tiff_upright(self):
        pixels = numbers(WIDTH * HEIGHT * 3, 16)
        found = tiff_tools.read_tiff(self.unchanged("turned.tif", tiff_tools.write_tiff(pixels, WIDTH, HEIGHT, 3, 16, orientation=6)))
        self.assertEqual(found[:2], (HEIGHT, WIDTH))
        for y in range(HEIGHT):
            for x in range(WIDTH):
                to = x * HEIGHT + HEIGHT - 1 - y
                self.assertEqual(found[4][3 * to:3 * to + 3], pixels[3 * (y * WIDTH + x):3 * (y * WIDTH + x) + 3])

    def test_what_tiff_files_are_refused(self):
        def tiff(*arguments, **more):
            return tiff_tools.write_tiff(numbers(WIDTH * HEIGHT * 3, 8), WIDTH, HEIGHT, *arguments, **more)
        rows = {"palette": (tiff(1, kind=3, tags={tiff_tools.PALETTE: (3, [0] * 768)}), "with a palette"), "several": (tiff(3, next_page=8), "several pages"),
                "cmyk": (tiff(4, kind=5), "colours of kind 5"), "float": (tiff(1, tags={tiff_tools.FORMAT: (3, [3])}), "floating-point"),
                "bits": (tiff(1, tags={tiff_tools.BITS: (3, [4])}), "4 bits"), "cut": (tiff(3)[:40], "damaged TIFF"),
                "large": (tiff(3, tags={tiff_tools.WIDTH: (4, [30000]), tiff_tools.HEIGHT: (4, [2000])}), "cannot hold"),
                "huge": (tiff(3, tags={tiff_tools.WIDTH: (4, [70000])}), "too many")}
        for name, (content, word) in rows.items():
            with self.subTest(name):
                result = call("denoise", self.put(name + ".tif", content), "--model", "cifar10", "--out", self.path("refused"), "--threads", 1)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn(word, result.stderr)
                self.assertFalse(os.path.exists(self.path("refused")))

    def test_png_keeps_transparency_and_profile(self):
        chunk = (b"iCCP", b"any name\0\0" + zlib.compress(profile(b"RGB ")))
        for bits in (8, 16):
            pixels = numbers(WIDTH * HEIGHT * 4, bits)
            found = read_png(self.unchanged(f"a{bits}.png", png(pixels, 4, bits, [chunk])))
            self.assertEqual(found[:5], (WIDTH, HEIGHT, 4, bits, pixels))
            self.assertEqual(png_profile(found[5]), profile(b"RGB "))
        grey = numbers(WIDTH * HEIGHT * 2, 8)
        found = read_png(self.unchanged("grey.png", png(grey, 2, 8, [chunk])))
        self.assertEqual(found[4], [value for i in range(0, len(grey), 2) for value in [grey[i]] * 3 + [grey[i + 1]]])

    def test_a_damaged_profile_is_left_out(self):
        for body in (b"", b"name", b"name\0\0", b"name\0\0not packed"):
            found = read_png(self.unchanged("a.png", png(numbers(WIDTH * HEIGHT * 3, 8), 3, 8, [(b"iCCP", body)]), "--force"))
            self.assertNotIn(b"iCCP", found[5])

    def test_jpeg_profile_in_two_parts(self):
        whole, jpeg = profile(b"RGB "), bad_files.JPEG
        parts = [b"ICC_PROFILE\0" + bytes([number, 2]) + part for number, part in ((2, whole[50:]), (1, whole[:50]))]
        markers = b"".join(b"\xff\xe2" + struct.pack(">H", 2 + len(part)) + part for part in parts)
        found = read_png(self.unchanged("a.jpg", jpeg[:2] + markers + jpeg[2:]))
        self.assertEqual(png_profile(found[5]), whole)
        lost = read_png(self.unchanged("lost.jpg", jpeg[:2] + markers[:len(markers) // 2] + jpeg[2:]))
        self.assertNotIn(b"iCCP", lost[5])

    def test_jpeg_and_png_upright(self):
        """As a camera held sideways writes them: EXIF data that say so, in a JPEG marker and in a PNG chunk."""
        exif = b"MM\0*" + struct.pack(">IHHHIHHI", 8, 1, 0x112, 3, 1, 6, 0, 0)
        marker = b"\xff\xe1" + struct.pack(">H", 8 + len(exif)) + b"Exif\0\0" + exif
        jpeg = bad_files.JPEG
        rows = {"a.jpg": (jpeg, jpeg[:2] + marker + jpeg[2:]),
                "a.png": (png(numbers(WIDTH * HEIGHT * 3, 8), 3), png(numbers(WIDTH * HEIGHT * 3, 8), 3, 8, [(b"eXIf", exif)]))}
        for name, (plain, sideways) in rows.items():
            with self.subTest(name):
                width, height, samples, _, pixels, _ = read_png(self.unchanged("plain-" + name, plain))
                found = read_png(self.unchanged(name, sideways))
                self.assertEqual(found[:3], (height, width, samples))
                wanted = [0] * len(pixels)
                for y in range(height):
                    for x in range(width):
                        at, to = samples * (y * width + x), samples * (x * height + height - 1 - y)
                        wanted[to:to + samples] = pixels[at:at + samples]
                self.assertEqual(found[4], wanted)
                self.assertNotEqual(wanted, pixels)

    def test_webp(self):
        """4x3 pixels without loss, on its side."""
        found = read_png(self.unchanged("a.webp", bad_files.WEBP))
        wanted = [0] * (3 * 4 * 4)
        for y in range(3):
            for x in range(4):
                to = x * 3 + 2 - y
                wanted[4 * to:4 * to + 4] = x * 60, y * 100, (x + y) * 30, 255 - 40 * x
        self.assertEqual(found[:5], (3, 4, 4, 8, wanted))
        self.assertEqual(png_profile(found[5])[16:20], b"RGB ")
        for content in (bad_files.WEBP[:60], bad_files.WEBP[:170] + bytes(108)):
            result = call("denoise", self.put("cut.webp", content), "--model", "cifar10", "--out", self.path("refused"))
            self.assertEqual(result.returncode, 1)
            self.assertIn("damaged WebP", result.stderr)

    def test_enlarged_transparency(self):
        """restore makes the transparency larger, too."""
        pixels = [200] * (WIDTH * HEIGHT * 4)
        pixels[3::4] = [77] * (WIDTH * HEIGHT)
        path = self.put("small.tif", tiff_tools.write_tiff(pixels, WIDTH, HEIGHT, 4, 8, extra=2))
        run("restore", path, "--model", "cifar10", "--task", "superres", "--steps", 3, "--out", self.path("large"), "--threads", 1)
        found = tiff_tools.read_tiff(self.path("large", "small-1.tif"))
        self.assertEqual(found[:4], (2 * WIDTH, 2 * HEIGHT, 4, 8))
        self.assertEqual(set(found[4][3::4]), {77})

    def test_folders_of_them(self):
        os.makedirs(self.path("folder"))
        self.put("folder/a.tiff", tiff_tools.write_tiff(numbers(48, 8), 4, 4, 3))
        self.put("folder/b.TIF", tiff_tools.write_tiff(numbers(48, 16), 4, 4, 3, 16, order=">"))
        self.put("folder/c.png", formats.png(4, 4, 3))
        self.put("folder/d.webp", bad_files.WEBP)
        self.assertIn("4", run("data", self.path("folder"), "--resize", 4).split("images")[0])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
