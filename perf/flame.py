#!/usr/bin/env python3
"""Draws folded stacks as a flame graph: flame.py STACKS > FLAME.svg. Widths are shares of samples."""
import html
import sys

WIDTH, ROW, SMALLEST = 1400, 17, 0.5


class Node:
    def __init__(self):
        self.count = 0
        self.children = {}


def read(path):
    root = Node()
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            folded, count = line.rsplit(" ", 1)
            node = root
            node.count += int(count)
            for name in folded.split(";"):
                node = node.children.setdefault(name, Node())
                node.count += int(count)
    return root


def depth(node):
    return 1 + max((depth(child) for child in node.children.values()), default=0)


def colour(name):
    kernel = name.endswith("_[k]") or name.startswith(("do_", "tcp_", "ip_", "io_", "sock_"))
    seed = sum(map(ord, name)) % 60
    return f"rgb({120 + seed},{140 + seed},235)" if kernel else f"rgb(235,{110 + seed},{60 + seed})"


def draw(node, name, x, level, scale, height, out):
    width = node.count * scale
    if width < SMALLEST:
        return
    y = height - (level + 1) * ROW
    share = f"{html.escape(name)}: {node.count} samples"
    out.append(f'<g><title>{share}</title><rect x="{x:.1f}" y="{y}" width="{width:.1f}" '
               f'height="{ROW - 1}" fill="{colour(name)}"/>')
    letters = int(width / 7)
    if letters > 2:
        out.append(f'<text x="{x + 2:.1f}" y="{y + 12}">{html.escape(name[:letters])}</text>')
    out.append("</g>")
    for child, below in sorted(node.children.items()):
        draw(below, child, x, level + 1, scale, height, out)
        x += below.count * scale


def main():
    root = read(sys.argv[1])
    height = depth(root) * ROW
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
           f'font-family="monospace" font-size="11">']
    if root.count:
        draw(root, "all", 0, 0, WIDTH / root.count, height, out)
    print("\n".join(out + ["</svg>"]))


if __name__ == "__main__":
    main()
