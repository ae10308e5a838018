"""TIFF files read and written in plain Python, by the rules of the format: independent of the library under test."""
import struct
import zlib

WIDTH, HEIGHT, BITS, PACKED, KIND, PALETTE, STRIPS, ORIENTATION, SAMPLES, ROWS, SIZES = 256, 257, 258, 259, 262, 320, 273, 274, 277, 278, 279
PLANAR, PREDICTOR, TILE_WIDTH, TILE_HEIGHT, TILES, TILE_SIZES, EXTRA, FORMAT, PROFILE = 284, 317, 322, 323, 324, 325, 338, 339, 34675
SHORT, LONG, UNDEFINED = 3, 4, 7


def write_tiff(pixels, width, height, samples, bits=8, order="<", kind=None, extra=None, profile=None, orientation=1, separate=False,
               tile=0, packed=False, tags=None, next_page=0):
    """pixels: numbers, interleaved. tile: side of the tiles; 0: one strip. tags: more entries, or other ones, {tag: (type, values)}."""
    code = {8: "B", 16: "H"}[bits]
    parts = []
    planes = [pixels[c::samples] for c in range(samples)] if separate else [pixels]
    together = 1 if separate else samples
    for plane in planes:
        if not tile:
            parts.append(struct.pack(f"{order}{len(plane)}{code}", *plane))
            continue
        for top in range(0, height, tile):
            for left in range(0, width, tile):
                part = []
                for y in range(top, top + tile):
                    for x in range(left, left + tile):
                        inside = y < height and x < width
                        part += plane[(y * width + x) * together:(y * width + x + 1) * together] if inside else [0] * together
                parts.append(struct.pack(f"{order}{len(part)}{code}", *part))
    parts = [zlib.compress(part) if packed else part for part in parts]
    colours = samples - (1 if extra is not None else 0)
    entries = {WIDTH: (LONG, [width]), HEIGHT: (LONG, [height]), BITS: (SHORT, [bits] * samples), PACKED: (SHORT, [8 if packed else 1]),
               KIND: (SHORT, [kind if kind is not None else 2 if colours == 3 else 1]), ORIENTATION: (SHORT, [orientation]),
               SAMPLES: (SHORT, [samples]), PLANAR: (SHORT, [2 if separate else 1]), ROWS: (LONG, [height])}
    if tile:
        del entries[ROWS]
        entries.update({TILE_WIDTH: (SHORT, [tile]), TILE_HEIGHT: (SHORT, [tile])})
    if extra is not None:
        entries[EXTRA] = (SHORT, [extra])
    if profile:
        entries[PROFILE] = (UNDEFINED, list(profile))
    offsets, body = [], b""
    for part in parts:
        offsets.append(8 + len(body))
        body += part + bytes(len(part) % 2)
    entries[TILES if tile else STRIPS] = (LONG, offsets)
    entries[TILE_SIZES if tile else SIZES] = (LONG, [len(part) for part in parts])
    entries.update(tags or {})
    rows, start = b"", 8 + len(body)
    values_at, values = start + 2 + 12 * len(entries) + 4, b""
    for tag, (form, numbers) in sorted(entries.items()):
        data = struct.pack(f"{order}{len(numbers)}" + {SHORT: "H", LONG: "I", UNDEFINED: "B"}[form], *numbers)
        if len(data) > 4:
            place = struct.pack(order + "I", values_at + len(values))
            values += data + bytes(len(data) % 2)
        else:
            place = data.ljust(4, b"\0")
        rows += struct.pack(order + "HHI", tag, form, len(numbers)) + place
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", start)
    return head + body + struct.pack(order + "H", len(entries)) + rows + struct.pack(order + "I", next_page) + values


def read_tiff(path):
    """(width, height, samples, bits, pixels, {tag: values}) of a file as mdsm writes them: strips, packed by zlib, with differences."""
    with open(path, "rb") as file:
        content = file.read()
    assert content[:4] == b"II*\0"
    at, = struct.unpack_from("<I", content, 4)
    tags = {}
    for i in range(struct.unpack_from("<H", content, at)[0]):
        tag, form, count = struct.unpack_from("<HHI", content, at + 2 + 12 * i)
        code, size = {1: "B", 2: "B", SHORT: "H", LONG: "I", UNDEFINED: "B"}.get(form, "B"), {SHORT: 2, LONG: 4}.get(form, 1)
        place = at + 2 + 12 * i + 8
        if count * size > 4:
            place, = struct.unpack_from("<I", content, place)
        tags[tag] = struct.unpack_from(f"<{count}{code}", content, place)
    width, height, samples, bits = tags[WIDTH][0], tags[HEIGHT][0], tags.get(SAMPLES, (1,))[0], tags[BITS][0]
    assert tags[PACKED][0] == 8 and tags[PREDICTOR][0] == 2 and tags.get(PLANAR, (1,))[0] == 1
    data = b"".join(zlib.decompress(content[start:start + size]) for start, size in zip(tags[STRIPS], tags[SIZES]))
    pixels = list(struct.unpack(f"<{width * height * samples}" + {8: "B", 16: "H"}[bits], data))
    for row in range(0, len(pixels), width * samples):
        for i in range(row + samples, row + width * samples):
            pixels[i] = (pixels[i] + pixels[i - samples]) & (1 << bits) - 1
    return width, height, samples, bits, pixels, tags
