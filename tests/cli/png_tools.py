"""PNG files read and written in plain Python, by the rules of the format: independent of the library under test."""
import struct
import zlib


def chunks(content):
    """[(kind, body)] of a PNG file, checksums checked."""
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    found, at = [], 8
    while at < len(content):
        length, = struct.unpack_from(">I", content, at)
        kind, body = content[at + 4:at + 8], content[at + 8:at + 8 + length]
        assert struct.unpack_from(">I", content, at + 8 + length)[0] == zlib.crc32(kind + body)
        found.append((kind, body))
        at += 12 + length
    return found


def unfiltered(data, height, stride, step):
    """Rows of PNG image data, by the five filters of its specification."""
    rows, above, at = [], bytes(stride), 0
    for _ in range(height):
        kind, line = data[at], bytearray(data[at + 1:at + 1 + stride])
        for i in range(stride):
            left = line[i - step] if i >= step else 0
            up, corner = above[i], above[i - step] if i >= step else 0
            if kind == 1:
                guess = left
            elif kind == 2:
                guess = up
            elif kind == 3:
                guess = (left + up) // 2
            elif kind == 4:
                p = left + up - corner
                guess = min((left, up, corner), key=lambda v: abs(p - v))
            else:
                guess = 0
            line[i] = (line[i] + guess) & 255
        rows.append(bytes(line))
        above, at = rows[-1], at + 1 + stride
    return rows


def read_png(path):
    """(width, height, channels, rows) of an 8-bit grey or RGB file."""
    with open(path, "rb") as file:
        found = chunks(file.read())
    width, height, depth, colour = struct.unpack_from(">IIBB", found[0][1])
    assert depth == 8 and colour in (0, 2)
    channels = 3 if colour == 2 else 1
    data = zlib.decompress(b"".join(body for kind, body in found if kind == b"IDAT"))
    return width, height, channels, unfiltered(data, height, width * channels, channels)


def read_deep_png(path):
    """Rows of numbers of a 16-bit grey file."""
    with open(path, "rb") as file:
        found = chunks(file.read())
    width, height, depth, colour = struct.unpack_from(">IIBB", found[0][1])
    assert (depth, colour) == (16, 0)
    data = zlib.decompress(b"".join(body for kind, body in found if kind == b"IDAT"))
    return [struct.unpack(f">{width}H", row) for row in unfiltered(data, height, 2 * width, 2)]


def write_png(path, rows, channels=1):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    header = struct.pack(">IIBBBBB", len(rows[0]) // channels, len(rows), 8, 2 if channels == 3 else 0, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) +
                   chunk(b"IDAT", zlib.compress(b"".join(b"\0" + bytes(row) for row in rows))) + chunk(b"IEND", b""))


def png_text(path):
    with open(path, "rb") as file:
        return dict(body.decode("latin1").split("\0", 1) for kind, body in chunks(file.read()) if kind == b"tEXt")
