"""The page of recipes and the notebook beside it, as they are written: their blocks of code."""

import json
import pathlib
import re

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "cmd/report/recipes"
PAGE, NOTEBOOK = FOLDER / "README.md", FOLDER / "run.ipynb"


def blocks_of(page):
    """(heading, language, code) of each fenced block, in order."""
    found, heading, language, lines = [], "", None, []
    for line in page.read_text().splitlines():
        fence = re.fullmatch(r"```(\w*)", line)
        if fence and language is None:
            language, lines = fence.group(1), []
        elif fence:
            found.append((heading, language, "\n".join(lines) + "\n"))
            language = None
        elif language is not None:
            lines.append(line)
        elif line.startswith("#"):
            heading = line.lstrip("# ")
    return found


def cells_of(notebook, kind="code"):
    return ["".join(cell["source"]) for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == kind]
