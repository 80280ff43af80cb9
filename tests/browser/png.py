"""Pictures of a page made small: a PNG of at most 256 colours. Python's standard library only."""

import collections
import struct
import zlib

MARK = b"\x89PNG\r\n\x1a\n"


def chunks_of(data):
    at = len(MARK)
    while at < len(data):
        (size,) = struct.unpack(">I", data[at:at + 4])
        yield data[at + 4:at + 8], data[at + 8:at + 8 + size]
        at += 12 + size


def size_of(data):
    """(width, height)"""
    assert data.startswith(MARK), "not a PNG"
    return struct.unpack(">II", data[16:24])


def pixels_of(data):
    """Rows of 3 bytes a pixel; what Chromium writes: 8 bits a channel, with or without alpha, not interlaced."""
    width, height = size_of(data)
    parts = list(chunks_of(data))
    depth, kind, interlaced = parts[0][1][8], parts[0][1][9], parts[0][1][12]
    assert (depth, interlaced) == (8, 0) and kind in (2, 6), "not a picture of Chromium"
    each = 3 if kind == 2 else 4
    packed = zlib.decompress(b"".join(body for name, body in parts if name == b"IDAT"))
    before, rows = bytearray(width * each), []
    for number in range(height):
        at = number * (width * each + 1)
        row = unfiltered(packed[at], bytearray(packed[at + 1:at + 1 + width * each]), before, each)
        rows.append(bytes(row) if each == 3 else b"".join(bytes(row[i:i + 3]) for i in range(0, len(row), 4)))
        before = row
    return width, height, rows


def unfiltered(how, row, before, each):
    """PNG, section 9: each byte was written as its difference to what the filter foretells."""
    if how == 2:
        return bytearray((a + b) & 255 for a, b in zip(row, before))
    for i in range(len(row) if how else 0):
        left, corner = (row[i - each], before[i - each]) if i >= each else (0, 0)
        if how == 1:
            row[i] = (row[i] + left) & 255
        elif how == 3:
            row[i] = (row[i] + (left + before[i]) // 2) & 255
        else:
            row[i] = (row[i] + paeth(left, before[i], corner)) & 255
    return row


def paeth(left, above, corner):
    guess = left + above - corner
    a, b, c = abs(guess - left), abs(guess - above), abs(guess - corner)
    return left if a <= b and a <= c else above if b <= c else corner


def palette_of(counts):
    """At most 256 colours: the frequent ones; each other becomes the nearest of these."""
    kept = [colour for colour, _ in counts.most_common(256)]
    place = {colour: number for number, colour in enumerate(kept)}
    for colour in counts:
        if colour not in place:
            place[colour] = min(range(len(kept)), key=lambda one: sum((a - b) ** 2 for a, b in zip(kept[one], colour)))
    return kept, place


def small(data):
    """The same picture in fewer bytes."""
    width, height, rows = pixels_of(data)
    split = [[row[i:i + 3] for i in range(0, len(row), 3)] for row in rows]
    kept, place = palette_of(collections.Counter(colour for row in split for colour in row))
    lines = b"".join(b"\0" + bytes(place[colour] for colour in row) for row in split)

    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    return (MARK + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)) + chunk(b"PLTE", b"".join(kept))
            + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b""))
