// Latency: over time, as a distribution, and against what may cause it.

const metrics = [
  { key: "ttft_ns", figure: "ttft", name: "TTFT", said: "first token minus fired" },
  {
    key: "ttft_due_ns",
    figure: "ttft_due",
    name: "TTFT from due",
    said: "first token minus due: includes what the row waited in this client",
  },
  {
    key: "tpot_ns",
    figure: "tpot",
    name: "TPOT",
    said: "time from the first to the last token by the tokens after the first",
  },
  { key: "e2e_ns", figure: "e2el", name: "E2E", said: "last token minus fired" },
];
let metric = metrics[0];

const latencyAxis = () => chosenTimeAxis(() => metric.name);

function addLatency() {
  const part = addPart("latency", "Latency");
  if (measuredRows.length === 0) {
    addLine(part, "No request got a complete answer: there is nothing to measure.");
    return;
  }
  part.grid.before(latencyTable(), metricChoice());
  addOverTime(part);
  addDistributions(part);
  addAgainst(part);
}

function latencyTable() {
  const columns = ["mean", "p50", "p90", "p95", "p99", "p99.9", "max"];
  const line = (name, figure) => [
    name,
    ...columns.map((one) => {
      const ms = summary[`${one}_${figure}_ms`];
      return ms === null || ms === undefined ? "-" : ms.toFixed(2);
    }),
    whole(summary[`count_${figure}`]),
  ];
  const rows = metrics.map((one) => line(one.name, one.figure));
  rows.splice(3, 0, line("ITL", "itl"));
  return table(["ms", ...columns, "values"], rows, { class: "figures" });
}

const metricChoice = () =>
  timeChoice("the metric of the charts below", metrics, metric, (one) => {
    metric = one;
    for (const chart of charts) if (chart.isLatency) chart.refreshSoon();
  });

const shownRows = () => measuredRows.filter((row) => inWindow(moment[row]));

// Every record has its dot here.
function addOverTime(part) {
  const kinds = [
    { name: "ok", color: "blue", rows: [], has: (row) => outcomes[row] === "ok" && phases[row] === "profile" },
    { name: "warm-up", color: "grey", rows: [], has: (row) => phases[row] !== "profile" },
    { name: "not ok", color: "orange", rows: [], has: () => true },
  ];
  for (const row of allRows) kinds.find((kind) => kind.has(row)).rows.push(row);
  new Chart(part.grid, {
    title: "Over time",
    wide: true,
    height: 320,
    isLatency: true,
    isAllRecords: true,
    note:
      "every record at the time it was fired, those without a value at the bottom; " +
      "percentiles where there are enough rows",
    x: timeAxis,
    y: latencyAxis(),
    layers(from, to) {
      const values = requests.numbers(metric.key);
      const layers = [];
      for (const { name, color, rows } of kinds) {
        const known = rows.filter((row) => values[row] > 0);
        if (known.length > 0) layers.push(dotsOver(known, column(values, known), { name, color }));
      }
      const without = allRows.filter((row) => !(values[row] > 0));
      const none = without.map(() => NaN);
      if (without.length > 0) layers.push(dotsOver(without, none, { foot: true, name: "no value", color: "red" }));
      const bins = timeBins(from, to, Math.min(60, Math.max(4, shownRows().length / 25)));
      const x = binMiddles(bins);
      const [half, most, tail] = percentilesOver(bins, moment, values, measuredRows, [0.5, 0.9, 0.99]);
      for (const [name, color, y] of [
        ["p50", "green", half],
        ["p90", "purple", most],
        ["p99", "red", tail],
      ]) {
        if (y.some((value) => !Number.isNaN(value)))
          layers.push({ kind: "line", name, color, x, y, width: 2 });
      }
      return layers;
    },
  });
}

function addDistributions(part) {
  const sorted = () => sortedValues(requests.numbers(metric.key), shownRows());
  new Chart(part.grid, {
    title: "Histogram",
    note: "ok rows in the time shown; log axis",
    isLatency: true,
    x: latencyAxis(),
    y: countAxis("linear", "requests", { isWhole: true }),
    layers() {
      const { edges, counts } = logHistogram(sorted());
      return [{ kind: "bars", color: "blue", x0: edges.slice(0, -1), x1: edges.slice(1), y: counts }];
    },
  });
  new Chart(part.grid, {
    title: "Cumulative",
    note: "the share of rows at or below a value",
    isLatency: true,
    x: latencyAxis(),
    y: percentAxis("share of rows", { to: 1, text: (value) => `${(100 * value).toFixed(2)} %` }),
    layers() {
      const values = sorted();
      const places = thinned(values.length, 2000);
      const [first, last] = [values.slice(0, 1), values.slice(-1)];
      return [
        {
          kind: "steps",
          name: "share",
          color: "blue",
          x: [...first, ...places.map((i) => values[i]), ...last],
          y: [...first.map(() => 0), ...places.map((i) => (i + 1) / values.length), ...last.map(() => 1)],
        },
      ];
    },
  });
  new Chart(part.grid, {
    title: "Percentiles",
    note: "the axis of HDR plots: each step to the right leaves one tenth of the remaining rows",
    isLatency: true,
    x: tailAxis(),
    y: latencyAxis(),
    layers() {
      const values = sorted();
      const places = thinned(values.length, 200)
        .concat(indexes(values.length, (i) => i >= values.length - 2000))
        .sort((a, b) => a - b);
      this.x.to = 1 - 1 / Math.max(10, values.length);
      return [
        {
          kind: "line",
          name: metric.name,
          color: "blue",
          x: [...places.map((i) => i / values.length), this.x.to],
          y: [...places.map((i) => values[i]), values[values.length - 1] ?? NaN],
        },
      ];
    },
  });
}

function addAgainst(part) {
  const uncached = Float64Array.from(
    inputTokens,
    (tokens, row) => tokens - (Number.isNaN(cachedTokens[row]) ? expectedTokens[row] : cachedTokens[row]),
  );
  const reports = summary.cache && summary.cache.rows_reported > 0;
  const against = [
    ["the length of the input", "prompt tokens", inputTokens, "log"],
    ["uncached tokens", `prompt tokens not cached${reports ? "" : " (by forecast)"}`, uncached, "log"],
    ["requests in flight", "open when it was fired", requests.numbers("inflight"), "linear"],
    ["the place in the session", "turn", requests.numbers("turn"), "linear"],
  ];
  for (const [what, label, causes, kind] of against) {
    const known = measuredRows.filter((row) => !Number.isNaN(causes[row]));
    if (new Set(column(causes, known)).size < 2) continue;
    new Chart(part.grid, {
      title: `Against ${what}`,
      note: "ok rows in the time shown",
      isLatency: true,
      x: countAxis(kind, label, { isWhole: true }),
      y: latencyAxis(),
      layers() {
        const values = requests.numbers(metric.key);
        const rows = known.filter(
          (row) => inWindow(moment[row]) && values[row] > 0 && (kind !== "log" || causes[row] > 0),
        );
        return [{ kind: "dots", color: "blue", x: column(causes, rows), y: column(values, rows), rows }];
      },
    });
  }
}
