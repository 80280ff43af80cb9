"""A page of a run, read by code of its own: what its tags say, and the tables that it holds."""

import base64
import html.parser
import json
import math
import pathlib
import struct
import unicodedata

VOID = {"meta", "link", "br", "img", "input", "hr"}
HIDDEN = {"Cc", "Cf", "Zl", "Zp"}
WHOLE = {"chunk_ns", "chunk_tokens", "chunk_late_ns"}  # arrays of numbers are not on the page


class Page(html.parser.HTMLParser):
    """`scripts` are (attributes, text) of each script, `policy` the parts of its Content-Security-Policy,
    `refers` the values of all attributes that can name another file."""

    def __init__(self, path):
        super().__init__()
        self.scripts, self.styles, self.refers, self.policy = [], [], [], {}
        self.title, self.open = "", []
        self.text = pathlib.Path(path).read_text()
        self.feed(self.text)
        self.close()
        if self.open:
            raise AssertionError(f"not closed: {self.open}")
        blocks = [text for tags, text in self.scripts if tags.get("type") == "application/json"]
        (block,) = blocks
        self.data = json.loads(block)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        self.refers += [attributes[name] for name in ("src", "href", "action", "data") if name in attributes]
        if attributes.get("http-equiv") == "Content-Security-Policy":
            parts = (part.split() for part in attributes["content"].split(";"))
            self.policy = {name: values for name, *values in parts}
        if tag == "script":
            self.scripts.append((attributes, ""))
        if tag == "style":
            self.styles.append(attributes)

    def handle_endtag(self, tag):
        opened = self.open.pop()
        if opened != tag:
            raise AssertionError(f"</{tag}> closes <{opened}> at {self.getpos()}")

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        if self.open and self.open[-1] == "title":
            self.title += data

    def rows(self, table):
        """The rows of a table as the page has them, each a dictionary."""
        return self.unpacked(self.data["tables"][table])

    def column(self, packed, name):
        """One column of a table that stands by itself."""
        return [row[name] for row in self.unpacked(packed)]

    def unpacked(self, packed):
        columns = {}
        for column in packed["columns"]:
            columns[column["name"]] = values_of(column, packed["rows"], columns)
        return [dict(zip(columns, values)) for values in zip(*columns.values())]


def values_of(column, rows, others):
    if "doubles" in column:
        numbers = struct.unpack(f"<{rows}d", base64.b64decode(column["doubles"], validate=True))
        return [None if math.isnan(number) else number for number in numbers]
    values, before = [], 0
    for row, code in enumerate(codes_of(column, rows)):
        if code == 0:
            values.append(None)
            continue
        value = -(code // 2) if code % 2 == 0 else (code - 1) // 2
        if column.get("step"):
            value += before
        value += (others[column["plus"]][row] or 0) if "plus" in column else 0
        value -= (others[column["minus"]][row] or 0) if "minus" in column else 0
        before = value
        values.append(value)
    if "texts" in column:
        return [None if value is None else column["texts"][value - 1] for value in values]
    return values


def codes_of(column, rows):
    if "all" in column:
        return [column["all"]] * rows
    codes, code, shift = [], 0, 0
    for byte in base64.b64decode(column["codes"], validate=True):
        code |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            codes.append(code)
            code = shift = 0
    if len(codes) != rows:
        raise AssertionError(f"{column['name']}: {len(codes)} codes for {rows} rows")
    return codes


def shown(record):
    """A line of JSONL as the page has it: text as text, what is neither text nor number as JSON."""
    def one(value):
        if isinstance(value, str):  # what would turn or hide the text beside it stands as its number
            return "".join(f"\\u{ord(c):04x}" if unicodedata.category(c) in HIDDEN else c for c in value)
        if value is None or isinstance(value, float) or type(value) is int:
            return value
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return {key: one(value) for key, value in record.items() if key not in WHOLE}
