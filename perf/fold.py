#!/usr/bin/env python3
"""Folds what `perf script` prints into one line per stack: outermost;..;innermost COUNT."""
import collections
import sys


def main():
    counts = collections.Counter()
    stack = []
    for line in sys.stdin:
        if line.startswith((" ", "\t")):
            parts = line.split(None, 1)
            name = parts[1].strip() if len(parts) > 1 else "[unknown]"
            stack.append(name.replace(";", ":"))
        elif not line.strip():
            if stack:
                counts[";".join(reversed(stack))] += 1
            stack = []
    if stack:
        counts[";".join(reversed(stack))] += 1
    for folded, count in sorted(counts.items()):
        print(folded, count)


if __name__ == "__main__":
    main()
