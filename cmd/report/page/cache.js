// Cache: what a prefix cache could hit by the trace, what the server hit, and where hits were lost.

const lossColors = ["grey", "orange", "purple", "red", "blue"]; // by cause, in their order

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
  if (forecastRows.length === 0) {
    addLine(part, "Hits cannot be foretold: the prompts are recorded text, without block ids.");
    return;
  }
  if (!forecastRows.some((row) => expectedTokens[row] > 0)) {
    addLine(part, "According to the trace no prompts share a prefix: there is nothing to hit.");
    return;
  }
  addHitShare(part, forecastRows, reported);
  if (reported.length > 0) addHitsByRow(part, reported);
  if (!forecast.why_not) addCapacityCurve(part);
  if (reported.length > 0) addLosses(part);
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
    y: percentAxis("share of prompt tokens", { to: 1 }),
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

// Why rows hit less than the trace allows: the findings of the certificate.
function addLosses(part) {
  const loss = data.hits_lost;
  const kinds = loss.causes
    .map((cause, i) => ({ ...cause, color: lossColors[i], at: new Table(cause.places).numbers("row") }))
    .filter((cause) => cause.tokens > 0);
  addLine(part, `Hits lost: ${loss.text}.`);
  if (kinds.length === 0) return;
  const lost = (row) => expectedTokens[row] - cachedTokens[row];
  new Chart(part.grid, {
    title: "Lost hits over time",
    note: "tokens expected but not hit, row by row, by what cost the row most of them",
    x: timeAxis,
    y: countAxis("log", "tokens lost"),
    layers: () =>
      kinds.map(({ words: name, color, at }) => dotsOver(Array.from(at), Array.from(at, lost), { name, color })),
  });
  part.append(
    table(
      ["hits lost", "rows that lost most so", "tokens"],
      kinds.map((cause) => [cause.words, whole(cause.rows), whole(cause.tokens)]),
    ),
  );
}
