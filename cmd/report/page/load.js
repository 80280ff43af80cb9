// Load: what was sent when, how much was open.

const sentWithin = () => stamps.fired.reduce((sum, at) => sum + inWindow(at), 0);

function addLoad() {
  const part = addPart(
    "load",
    "Load",
    "What the server was asked for, and what it delivered. Drag over any time chart, or use two fingers, to zoom " +
      "all of them; double-click to show the whole run again.",
  );
  const sent = indexes(requests.rows, (row) => !Number.isNaN(stamps.fired[row]));
  const ended = stamps.ended.filter((at) => !Number.isNaN(at));
  // What was not sent was due where something held it back, and was not yet due where the run had ended.
  const due = column(
    stamps.due,
    indexes(
      requests.rows,
      (row) => outcomes[row] !== "not_sent" || requests.value("late_cause", row) !== "none",
    ),
  );
  new Chart(part.grid, {
    title: "Requests per second",
    note:
      "due, fired and ended per interval of equal length; a request that left less than a tenth of one late counts " +
      "as fired where it was due, a later one as late when it left",
    x: timeAxis,
    y: countAxis("linear", "requests/s"),
    layers(from, to) {
      const bins = fittingBins(from, to, sentWithin());
      const curve = (at, name, color, more) => ({
        kind: "steps",
        name,
        color,
        ...rateSteps(bins, binned(bins, at)),
        ...more,
      });
      // By the instants when they left, a drift of microseconds would move rows over the edge of an interval.
      const { fired, late } = firedAndLate(stamps.due, stamps.fired, sent, bins.width / 10);
      return [
        curve(due, "due", "grey", { width: 3 }),
        curve(fired, "fired", "blue"),
        late.length > 0 && curve(late, "late", "red"),
        curve(ended, "ended", "orange"),
      ];
    },
  });
  addTokens(part);
  const open = openOver(column(stamps.fired, sent), column(stamps.ended, sent));
  const trees = liveTrees();
  new Chart(part.grid, {
    title: "In flight",
    note: `requests sent and not yet ended${trees ? "; trees from their first request to their last end" : ""}`,
    x: timeAxis,
    y: countAxis("linear", "open", { isWhole: true }),
    layers: () => [
      { kind: "steps", name: "requests", color: "blue", ...open },
      trees && { kind: "steps", name: "trees", color: "purple", ...trees },
    ],
  });
}

function addTokens(part) {
  const output = requests.numbers("output_tokens");
  const chart = (title, note, color, sums) =>
    new Chart(part.grid, {
      title,
      note,
      x: timeAxis,
      y: countAxis("linear", "tokens/s"),
      layers(from, to) {
        const bins = fittingBins(from, to, sentWithin());
        return [{ kind: "steps", name: "tokens/s", color, ...rateSteps(bins, sums(bins)) }];
      },
    });
  chart("Prompt tokens per second", "each prompt counts at its first token", "orange", (bins) =>
    binned(bins, stamps.first_token, inputTokens),
  );
  if (summary.output_throughput === null)
    addLine(part, "Output tokens per second are not known: those of some answers were not counted.");
  else chart(
    "Output tokens per second",
    "each output is spread evenly from its first token to its last",
    "blue",
    (bins) => binnedSpread(bins, stamps.first_token, stamps.last_token, output),
  );
}

// Trees that are live: from the first fire to the last end. Null where rows stand alone.
function liveTrees() {
  if (!requests.anyKnown("tree")) return null;
  const trees = requests.numbers("tree");
  const passes = requests.numbers("pass");
  const spans = new Map();
  for (let row = 0; row < requests.rows; row++) {
    if (Number.isNaN(trees[row]) || Number.isNaN(stamps.fired[row])) continue;
    const key = `${trees[row]} ${passes[row]}`;
    const span = spans.get(key) || [Infinity, -Infinity];
    span[0] = Math.min(span[0], stamps.fired[row]);
    span[1] = Math.max(span[1], Number.isNaN(stamps.ended[row]) ? Infinity : stamps.ended[row]);
    spans.set(key, span);
  }
  const all = [...spans.values()];
  return openOver(
    all.map(([from]) => from),
    all.map(([, to]) => (to === Infinity ? NaN : to)),
  );
}
