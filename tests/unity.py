#!/usr/bin/env python3
"""Which sources can be compiled as one: prints the group of each.
Usage: unity.py TOP LINES SOURCE.. Prints NUMBER for each SOURCE, by ; in the order given. A group has about
so many lines, because lines are what a compiler works on.

Names of namespaces without a name are a source's own. Compiled as one, sources share them, so two go
into one group only where neither uses a name that the other one has to itself, nor has a type or value of its own
under a name that is in a header of the other. It reads layout as
clang-format writes it, not C++: a clash that it does not see does not compile.
"""
import re
import sys
from pathlib import Path

QUIET = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.S)
TYPE = re.compile(r"^(?:template <.*> )?(?:struct|class|enum class|enum|union|using|concept) (?:\[\[.*?\]\] )?(\w+)")
INCLUDED = re.compile(r'^#include "(.*)"', re.M)
CALLED = re.compile(r"(?<![\w.>:])(\w+)\(")
FIRST = re.compile(r"^(?!namespace|using namespace|extern|static_assert|TEST|INSTANTIATE)[A-Za-z_].*?(\w+)\s*(?:\[[^\]]*\]\s*)*(?:\(|=|\{|;|$)")


def words(text):
    return QUIET.sub('""', re.sub(r"^\}  // namespace$", "END", text, flags=re.M))


def declared(lines):
    """The names that lines without indentation declare: of types and values, and of functions."""
    values, functions = set(), set()
    for line in lines:
        found = TYPE.match(line) or FIRST.match(line)
        if found:
            (functions if line[found.end() - 1] == "(" else values).add(found[1])
        values.update(re.findall(r"^#define (\w+)", line))
    return values, functions


def own_names(text):
    lines = [line for line in text.split("\n") if line.startswith(("static ", "#define"))]
    for block in re.findall(r"^namespace \{\n([^\n]*\n(?=\})|.*?(?=^END$))", text, re.S | re.M):
        lines += block.split("\n")
    return declared(lines)


def names_of_headers(top):
    """What each header declares, and which of ours it includes, directly or not."""
    names, direct = {}, {}
    for folder in ("proto", "engine", "cmd", "tests"):
        for header in (top / folder).rglob("*.hpp"):
            text = header.read_text()
            path = header.relative_to(top).as_posix()
            names[path] = set().union(*declared(words(text).split("\n")))
            direct[path] = INCLUDED.findall(text)
    return names, direct


def reached(text, direct):
    found, open_ones = set(), INCLUDED.findall(text)
    while open_ones:
        header = open_ones.pop()
        if header in direct and header not in found:
            found.add(header)
            open_ones += direct[header]
    return found


class Group:
    def __init__(self):
        self.lines, self.own, self.values, self.calls, self.headers, self.shared = 0, set(), set(), set(), set(), set()


def group(sources, most, names, direct):
    """Each source joins the group with which it shares most headers of those that it fits, or begins one."""
    groups = []
    numbers = []
    for source in sources:
        text = Path(source).read_text()
        headers = reached(text, direct)
        shared = set().union(*(names[header] for header in headers))
        text = words(text)
        values, functions = own_names(text)
        own, called, lines = values | functions, set(CALLED.findall(text)), text.count("\n")
        fitting = [
            number for number, one in enumerate(groups)
            if one.lines + lines <= most and not one.own & (own | called) and not one.calls & functions
            and not values & one.shared and not one.values & shared
        ]
        if not fitting:
            fitting = [len(groups)]
            groups.append(Group())
        number = max(fitting, key=lambda number: len(groups[number].headers & headers))
        one = groups[number]
        one.lines += lines
        for mine, more in ((one.own, own), (one.values, values), (one.calls, called), (one.headers, headers),
                           (one.shared, shared)):
            mine |= more
        numbers.append(number)
    return numbers


def main():
    top, most, sources = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    print(";".join(str(number) for number in group(sources, most, *names_of_headers(top))), end="")


main()
