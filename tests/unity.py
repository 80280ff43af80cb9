#!/usr/bin/env python3
"""Which sources can be compiled as one: prints the group of each.
Usage: unity.py TOP LINES SOURCE.. Prints NUMBER for each SOURCE, by ; in the order given. A group has about
so many lines, because lines are what a compiler works on.

Names of namespaces without a name are a source's own. Compiled as one, sources share them, so two go
into one group only where neither uses a name that the other one has to itself. It reads layout as
clang-format writes it, not C++: a clash that it does not see does not compile.
"""
import re
import sys
from pathlib import Path

QUIET = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.S)
TYPE = re.compile(r"^(?:template <.*> )?(?:struct|class|enum class|enum|union|using|concept) (?:\[\[.*?\]\] )?(\w+)")
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


def group(sources, most, shared):
    """First fit: each source joins the first group it can, or begins one."""
    groups = []
    numbers = []
    for source in sources:
        text = words(Path(source).read_text())
        values, functions = own_names(text)
        own, called, lines = values | functions, set(CALLED.findall(text)), text.count("\n")
        fits = not values & shared
        for number, (taken, owned, calls) in enumerate(groups):
            if fits and taken + lines <= most and not owned & (own | called) and not calls & functions:
                break
        else:
            number = len(groups)
            groups.append((0 if fits else most, set(), set()))
        taken, owned, calls = groups[number]
        groups[number] = (taken + lines, owned | own, calls | called)
        numbers.append(number)
    return numbers


def main():
    top, most, sources = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    shared = set()
    for folder in ("proto", "engine", "cmd", "tests"):
        for header in (top / folder).rglob("*.hpp"):
            shared.update(*declared(words(header.read_text()).split("\n")))
    print(";".join(str(number) for number in group(sources, most, shared)), end="")


main()
