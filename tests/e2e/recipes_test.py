"""The recipes and the notebook name only what a run has, and hold together, without the libraries that they are for:
`tests/recipes/run` has those, and runs all of them."""

import ast
import json
import re
import unittest

from harness import Case, SAMPLE, mock
from recipes_page import NOTEBOOK, PAGE, blocks_of, cells_of

# Words of the recipes that are no keys: what the libraries call things, and columns that a recipe makes itself. Any
# other word has to be a key of a record, of the summary or of its parts, or a value that stands in the run's schemas.
LIBRARIES = set("""DataFrame Path abs agg any arange astype axhline colorbar concat copy count cumsum cut drop_nulls
    dropna equiprobable fillna filename filter generate_subscripts gray group_by groupby inf inverted_cdf isin isna join
    lag legend len loads log max maximum mean median merge notna plot post quantile quantile_disc rcParams read_json
    read_ndjson read_text rolling round sample_size scatter select set show size sort sort_values split_part step
    subplots sum to_frame true union_by_name unnest update value_counts values viridis with_columns zeros
    """.split())
OWN = set("""a a_ms at_ns b b_ms change chunks col due_s e2e e2e_ms e2el_ms expected first from_s gap_ns gaps hit
    in_flight k lines_that_differ median_of_ratios ns pairs p50 p50_ms p50_us p90 p95 p99 p99_ms percent percentile
    requests rows second share tpot tpot_ms ttft ttft_ms worst_us""".split())


def words_of_python(code):
    """Attributes, and texts that could be the name of a column."""
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"[a-z]\w+", node.value):
            found.add(node.value)
    return found


def words_of_sql(code):
    """All but keywords, which are in capitals, paths and numbers; of texts those that are one word."""
    code = re.sub(r"'([^']*)'", lambda text: text.group(1) if text.group(1).isidentifier() else "", code)
    return set(re.findall(r"\b[a-z][a-z0-9_]*\b", code))


class Recipes(Case):
    def setUp(self):
        super().setUp()
        self.blocks = blocks_of(PAGE)
        self.cells = cells_of(NOTEBOOK)

    def words(self):
        python = [code for _, language, code in self.blocks if language == "python"] + self.cells
        sql = [code for _, language, code in self.blocks if language == "sql"]
        found = set().union(*map(words_of_python, python), *map(words_of_sql, sql))
        return {re.sub(r"_[ab]$", "", word) for word in found}  # what joins add to a name

    def test_every_word_is_known(self):
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            run = self.replay_well(SAMPLE, "--url", server.url, "--limit", 3, "--speed", 50)
        summary, record = run.json("summary.json"), next(iter(run.records().values()))
        keys = {*record, *summary, *summary["outcomes"], *summary["late_causes"], *summary["verdict"]}
        keys |= {record["phase"]}
        unknown = self.words() - keys - LIBRARIES - OWN
        self.assertEqual(unknown, set())

    def test_no_word_is_allowed_for_nothing(self):
        self.assertEqual((LIBRARIES | OWN) - self.words(), set())

    def test_the_notebook(self):
        """As it is committed: no outputs, nothing of the machine that it ran on; small, and each cell compiles."""
        notebook = json.loads(NOTEBOOK.read_text())
        self.assertEqual((notebook["nbformat"], notebook["nbformat_minor"]), (4, 5))
        self.assertEqual(set(notebook["metadata"]), {"kernelspec", "language_info"})
        ids = [cell["id"] for cell in notebook["cells"]]
        self.assertEqual(len(set(ids)), len(ids))
        for cell in notebook["cells"]:
            self.assertEqual(cell["metadata"], {})
            if cell["cell_type"] == "code":
                self.assertEqual((cell["outputs"], cell["execution_count"]), ([], None))
            self.assertNotRegex("".join(cell["source"]), r"/(?:home|root|work|tmp|Users)\b")
            for line in "".join(cell["source"]).splitlines():
                self.assertLessEqual(len(line), 120)
        for code in self.cells:
            compile(code, "cell", "exec")
        self.assertLess(NOTEBOOK.stat().st_size, 20_000)

    def test_the_page(self):
        """Each block has a language that the tests run, and Parquet takes one line."""
        self.assertLessEqual({language for _, language, _ in self.blocks}, {"sh", "sql", "python"})
        parquet = [code for _, _, code in self.blocks if "COPY" in code]
        self.assertEqual([code.count("\n") for code in parquet], [1])
        for _, language, code in self.blocks:
            if "read_json(" in code and "requests.jsonl" in code:
                self.assertIn("sample_size = -1" if language in ("sh", "sql") else "dtype=False", code)


if __name__ == "__main__":
    unittest.main()
