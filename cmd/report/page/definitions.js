// Definitions: what each figure means here, and what other tools mean by it.

// f fired, D due, e any event with choices, c an event with content, z the end of the body, N output tokens.
const comparisons = [
  [
    "TTFT",
    "first token (content, reasoning, tool text or ids) - fired; a role-only event is no token",
    "first event - fired: a role-only event counts",
    "first content or reasoning - fired",
    "first content, reasoning or tool text - fired",
    "the same",
    "first event - response headers",
  ],
  ["TTFT from due", "first token - due: free of coordinated omission", "-", "-", "-", "-", "-"],
  [
    "TPOT",
    "(last token - first token) / (N - 1) of each request",
    "(last event - first event) / (N - 1)",
    "(E2E - TTFT) / (N - 1)",
    "called ITL: (last - first content) / (N - tokens of the first)",
    "called ITL, weighted by tokens; its TPOT includes TTFT",
    "(last - first event) / recorded length",
  ],
  [
    "ITL",
    "gaps between tokens of all requests",
    "gaps between events of all requests",
    "gaps between events; split by tokens on its own route",
    "ICL: gaps between events",
    "-",
    "gaps per request",
  ],
  [
    "E2E",
    "last token - fired",
    "last event - fired",
    "last line, usage and [DONE] included - fired",
    "last content - fired",
    "[DONE] - fired",
    "[DONE] - fired",
  ],
  [
    "failed",
    "everything that is not ok, not abandoned and not cut off by the end of the run",
    "an error inside a 200 is not a failure",
    "the same as vLLM",
    "a bare error object is not a failure",
    "any error object is a failure",
    "nothing fails",
  ],
  [
    "percentile",
    "nearest rank: a value that was measured",
    "linear between two values",
    "linear",
    "linear",
    "smallest value whose weight reaches it",
    "nearest rank",
  ],
  [
    "requests per second",
    "ok / time in which the run was active",
    "ok / first send to last end",
    "the same",
    "ok / first start to last end",
    "by column: the screen counts all",
    "all rows",
  ],
];

function addDefinitions() {
  const part = addPart(
    "definitions",
    "Definitions",
    "The same word means different things in different tools. " +
      "From the sources of vLLM 0.32.0, SGLang 0.5.23, AIPerf 0.13.0, GuideLLM 0.8.1 and trace-replayer (84c9193a).",
  );
  part.append(
    table(
      ["figure", "here", "vLLM bench", "SGLang bench", "AIPerf", "GuideLLM", "trace-replayer"],
      comparisons,
      { class: "words" },
    ),
  );
  for (const name of ["summary", "requests", "periods", "client", "events"]) {
    const file = name === "summary" ? "summary.json" : `${name}.jsonl`;
    const rows = data.definitions
      .filter(([of]) => of === name)
      .map(([, key, unit, said]) => [key, unit || "-", said]);
    part.append(
      make(
        "details",
        {},
        make("summary", {}, `Every key of ${file} (${rows.length})`),
        table(["key", "unit", "meaning"], rows, { class: "words" }),
      ),
    );
  }
}
