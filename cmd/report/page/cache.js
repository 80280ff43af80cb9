// Cache: what a prefix cache could hit by the trace, what the server hit, and where hits were lost.

// Why a row hit less than the trace allows, by what its record says. The first that holds counts.
const losses = [
  {
    name: "cut to the server's blocks",
    color: "grey",
    has: (row) => cachedTokens[row] >= requests.numbers("expected_cached_server")[row],
  },
  {
    name: "the turn before was still in flight",
    color: "orange",
    has: (row) => requests.value("overtaken", row) === "true",
  },
  { name: "sent to another server than the turn before", color: "purple", has: (row) => movedFrom(row) },
  { name: "not explained by the record: evicted, or never cached", color: "red", has: () => true },
];

let earlierUrl = null;

// Whether the row before it in its tree went to another server.
function movedFrom(row) {
  if (earlierUrl === null) {
    earlierUrl = new Float64Array(requests.rows).fill(NaN);
    const last = new Map();
    for (const one of [...allRows].sort((a, b) => moment[a] - moment[b])) {
      const tree = requests.numbers("tree")[one];
      if (last.has(tree)) earlierUrl[one] = last.get(tree);
      if (!Number.isNaN(tree)) last.set(tree, requests.numbers("url")[one]);
    }
  }
  return !Number.isNaN(earlierUrl[row]) && earlierUrl[row] !== requests.numbers("url")[row];
}

function addCache() {
  const part = addPart(
    "cache",
    "Prefix cache",
    "Expected is what an unlimited cache would hit, according to the trace. " +
      "Hit is what the server reports as taken from its cache.",
  );
  const forecastRows = allRows.filter(
    (row) => !Number.isNaN(expectedTokens[row]) && !Number.isNaN(stamps.fired[row]),
  );
  const reported = forecastRows.filter((row) => !Number.isNaN(cachedTokens[row]));
  if (!forecastRows.some((row) => expectedTokens[row] > 0)) {
    addLine(part, "According to the trace no prompts share a prefix: there is nothing to hit.");
    return;
  }
  addHitShare(part, forecastRows, reported);
  if (reported.length > 0) addHitsByRow(part, reported);
  if (!forecast.why_not) addCapacityCurve(part);
  if (reported.length > 0)
    addLosses(
      part,
      reported.filter((row) => cachedTokens[row] < expectedTokens[row]),
    );
  else addLine(part, "The server does not report cached tokens: hits are not known.");
  if (forecast.why_not) addLine(part, forecast.why_not);
  else addIcicle(part);
}

function addHitShare(part, forecastRows, reported) {
  const at = column(moment, forecastRows);
  new Chart(part.grid, {
    title: "Hit rate over time",
    note: "prompt tokens, by the time when requests were fired",
    x: timeAxis,
    y: axis(
      "linear",
      "share of prompt tokens",
      (value) => `${Math.round(100 * value)} %`,
      (value) => `${(100 * value).toFixed(1)} %`,
      { from: 0, to: 1 },
    ),
    layers(from, to) {
      const bins = timeBins(from, to, 60);
      const all = binned(bins, at, column(inputTokens, forecastRows));
      const could = binned(bins, at, column(expectedTokens, forecastRows));
      const times = column(moment, reported);
      const base = binned(bins, times, column(inputTokens, reported));
      const hit = binned(bins, times, column(cachedTokens, reported));
      const ratio = (sums, whole) =>
        Float64Array.from(sums, (sum, i) => (whole[i] > 0 ? sum / whole[i] : NaN));
      const x = binMiddles(bins);
      return [
        { kind: "line", name: "expected", color: "grey", width: 4, x, y: ratio(could, all) },
        reported.length > 0 ? { kind: "line", name: "hit", color: "blue", x, y: ratio(hit, base) } : null,
      ];
    },
  });
}

function addHitsByRow(part, reported) {
  new Chart(part.grid, {
    title: "Row by row",
    note: "on the line: as the trace allows; below it: hits were lost; above it: the cache was warm",
    x: countAxis("linear", "expected (tokens)"),
    y: countAxis("linear", "hit (tokens)"),
    layers() {
      const rows = reported.filter((row) => inWindow(moment[row]));
      return [
        { kind: "rule", color: "grey" },
        { kind: "dots", color: "blue", x: column(expectedTokens, rows), y: column(cachedTokens, rows), rows },
      ];
    },
  });
}

function addLosses(part, rows) {
  if (rows.length === 0) {
    addLine(part, "No row hit less than the trace allows.");
    return;
  }
  const taken = new Set();
  const kinds = losses
    .map((loss) => {
      const own = rows.filter((row) => !taken.has(row) && loss.has(row));
      for (const row of own) taken.add(row);
      return { ...loss, rows: own };
    })
    .filter((loss) => loss.rows.length > 0);
  const lost = (row) => expectedTokens[row] - cachedTokens[row];
  new Chart(part.grid, {
    title: "Lost hits over time",
    note: "tokens expected but not hit, row by row, by the cause in the record",
    x: timeAxis,
    y: countAxis("log", "tokens lost"),
    layers: () =>
      kinds.map((loss) => ({
        kind: "dots",
        name: loss.name,
        color: loss.color,
        x: column(moment, loss.rows),
        y: loss.rows.map(lost),
        rows: loss.rows,
      })),
  });
  part.append(
    table(
      ["lost hits", "rows", "tokens"],
      kinds.map((loss) => [
        loss.name,
        whole(loss.rows.length),
        whole(loss.rows.reduce((sum, row) => sum + lost(row), 0)),
      ]),
    ),
  );
}
