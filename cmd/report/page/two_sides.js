// The page of a comparison: A and B on one axis, where requests changed, the table. Runs last.

const found = data.comparison;
const requests = new Table(data.requests);
const due = requests.seconds("due_ns");
const allRows = indexes(requests.rows, () => true);

const values = [
  { key: "ttft", name: "TTFT", said: "first token minus fired" },
  { key: "ttft_due", name: "TTFT from due", said: "first token minus due" },
  { key: "tpot", name: "TPOT", said: "time from the first to the last token by the tokens after the first" },
  { key: "e2e", name: "E2E", said: "last token minus fired" },
];
const asked = found.where.length > 0 ? found.where[0].value : "ttft";
let value = values.find((one) => one.key === asked);
const sides = [
  { letter: "a", name: "A", color: "blue" },
  { letter: "b", name: "B", color: "orange" },
];

const ofSide = (side) => requests.numbers(`${value.key}_${side.letter}`);
const knownRows = () => {
  const [a, b] = sides.map(ofSide);
  return allRows.filter((row) => a[row] > 0 && b[row] > 0 && inWindow(due[row]));
};
const valueAxis = () => chosenTimeAxis(() => value.name);
const ratioText = (ratio) => `${ratio.toFixed(ratio < 10 ? 3 : 1)} x`;
const ratioAxis = (more) => axis("log", "B / A", (ratio) => `${+ratio.toPrecision(3)}`, ratioText, more);

pointed.describe = (row) => {
  const [a, b] = sides.map((side) => ofSide(side)[row]);
  const parts = [`row ${requests.value("row", row)}`];
  if (requests.value("pass", row) > 0) parts.push(`pass ${requests.value("pass", row)}`);
  if (requests.value("turn", row) !== null) parts.push(`turn ${requests.value("turn", row)}`);
  return [parts.join(", "), `A ${duration(a)}, B ${duration(b)}, B / A ${ratioText(b / a)}`];
};

function addHead() {
  const isOfRuns = data.titles[data.titles.length - 1] === "these runs";
  const names = isOfRuns ? ["higher", "lower", "same", "unsure"] : ["better", "worse", "same", "unsure"];
  const words = names.map((word) => [
    word,
    found.metrics.filter((one) => (isOfRuns ? one.in_these_runs : one.word) === word).map((one) => one.name),
  ]);
  const [better, worse] = words.map(([, of]) => (isOfRuns ? 0 : of.length));
  const mood = worse > 0 && better === 0 ? "network-limited" : better > 0 && worse === 0 ? "certified" : "";
  document.getElementById("top").append(
    make("p", { class: "kicker" }, `${data.program} compare`),
    make("h1", {}, "A against B"),
    make("p", { class: "what" }, `A: ${data.a} · B: ${data.b}`),
    make(
      "div",
      { class: `verdict ${mood}` },
      make("strong", {}, data.said),
      make(
        "ul",
        {},
        words
          .filter(([, of]) => of.length > 0)
          .map(([word, of]) => make("li", {}, `${word}: ${of.join(", ")}`)),
      ),
    ),
    table(["", ""], data.notes.map(([label, text]) => [label, make("span", {}, text)]), { class: "words" }),
  );
  if (found.thresholds.length > 0) {
    document.getElementById("top").append(
      table(
        ["fails if", "", "found"],
        found.thresholds.map((one) => [one.fail_if, one.judged, make("span", {}, boundText(one))]),
      ),
    );
  }
}

function boundText(one) {
  const isTime = one.of === "b" && one.fail_if.includes(":"); // only times have a statistic
  const text = (number) =>
    number === null ? "-" : isTime ? duration(number) : `${(100 * number).toFixed(2)} %`;
  return `${text(one.value)} (${text(one.low)} to ${text(one.high)})`;
}

function addMetrics() {
  const part = addPart(
    "metrics",
    "Metrics",
    "B / A with its 95 % interval; for shares B - A in percentage points. Smallest: the change that these data would " +
      "have shown in 80 of 100 cases.",
  );
  const rows = data.cells.map((cells) => {
    const word = cells[cells.length - 1];
    const colored = make("b", {}, word);
    colored.style.color = `var(--${{ better: "good", worse: "bad", unsure: "unsure" }[word] ?? "ink"})`;
    return [...cells.slice(0, -1), colored];
  });
  part.append(table(["metric", ...data.titles.slice(1)], rows));
}

const valueChoice = () =>
  timeChoice("the time of the charts below", values, value, (one) => {
    value = one;
    for (const chart of charts) chart.refreshSoon();
  });

function medianLine(rows, numbers, name, color, bins) {
  const [y] = percentilesOver(bins, due, numbers, rows, [0.5]);
  return { kind: "line", name, color, x: binMiddles(bins), y, width: 2 };
}

function addLatency() {
  const part = addPart(
    "latency",
    "Both on one axis",
    "Requests that are ok in every run of both sides; the mean if there are several runs. Drag to zoom.",
  );
  part.grid.before(valueChoice());
  const binsOf = (rows, from, to) => timeBins(from, to, Math.min(60, Math.max(4, rows.length / 25)));
  new Chart(part.grid, {
    title: "Over time",
    note: "every request at its due time, and medians",
    wide: true,
    height: 320,
    isPairs: true,
    x: timeAxis,
    y: valueAxis(),
    layers(from, to) {
      const rows = knownRows();
      const x = column(due, rows);
      return [
        ...sides.map((side) => ({ kind: "dots", color: side.color, x, y: column(ofSide(side), rows), rows })),
        ...sides.map((side) => medianLine(rows, ofSide(side), `${side.name} p50`, side.color, binsOf(rows, from, to))),
      ];
    },
  });
  new Chart(part.grid, {
    title: "B / A over time",
    note: "every request; above 1 B is slower",
    wide: true,
    height: 260,
    x: timeAxis,
    y: ratioAxis(),
    layers(from, to) {
      const rows = knownRows();
      const [a, b] = sides.map(ofSide);
      const ratios = Float64Array.from(a, (of, row) => b[row] / of);
      return [
        { kind: "dots", color: "grey", x: column(due, rows), y: column(ratios, rows), rows },
        { kind: "rule", color: "axis", level: 1 },
        medianLine(rows, ratios, "median", "purple", binsOf(rows, from, to)),
      ];
    },
  });
  addDistributions(part);
}

function addDistributions(part) {
  const curves = (curve) =>
    sides.map((side) => ({ name: side.name, color: side.color, ...curve(sortedValues(ofSide(side), knownRows())) }));
  new Chart(part.grid, {
    title: "Cumulative",
    note: "the share of requests at or below a value",
    x: valueAxis(),
    y: percentAxis("share of requests", { to: 1 }),
    layers: () =>
      curves((sorted) => {
        const places = thinned(sorted.length, 2000);
        return {
          kind: "steps",
          x: places.map((i) => sorted[i]),
          y: places.map((i) => (i + 1) / sorted.length),
        };
      }),
  });
  new Chart(part.grid, {
    title: "Percentiles",
    note: "each step to the right leaves one tenth of the remaining requests",
    x: tailAxis(),
    y: valueAxis(),
    layers() {
      return curves((sorted) => {
        const tail = indexes(sorted.length, (i) => i >= sorted.length - 2000);
        const places = [...new Set(thinned(sorted.length, 200).concat(tail))].sort((a, b) => a - b);
        this.x.to = 1 - 1 / Math.max(10, sorted.length);
        return { kind: "line", x: places.map((i) => i / sorted.length), y: places.map((i) => sorted[i]) };
      });
    },
  });
}

// A dot for each group, and its interval as an upright line.
function addWhere() {
  const part = addPart(
    "where",
    "Where it changed",
    "The median of B / A over the requests of a group, with its 95 % interval. Above 1 B is slower.",
  );
  if (data.where.every((views) => views.length === 0)) {
    addLine(part, "No request is ok on both sides.");
    return;
  }
  const names = { "input tokens": "By input size", turn: "By turn", "expected hit": "By expected hit", due: "By time" };
  for (const [by, title] of Object.entries(names)) {
    if (!data.where.some((views) => views.some((view) => view.by === by))) continue;
    const groups = () => {
      const view = data.where.flat().find((one) => one.value === value.key && one.by === by);
      return view ? view.groups : [];
    };
    const nameAt = (at) => (Number.isInteger(at) && groups()[at - 1] ? groups()[at - 1].name : "");
    const xAxis = axis("linear", by, nameAt, (at) => nameAt(Math.round(at)), { from: 0.5 });
    new Chart(part.grid, {
      title,
      note: "groups with few requests have no interval",
      x: xAxis,
      y: ratioAxis(),
      layers() {
        xAxis.to = groups().length + 0.5;
        const at = groups().map((_, i) => i + 1);
        const known = groups().map((one) => (one.low === null ? NaN : one));
        const bars = known.flatMap((one, i) => (Number.isNaN(one) ? [] : [[at[i], one.low], [at[i], one.high], [at[i], NaN]]));
        return [
          { kind: "rule", color: "axis", level: 1 },
          { kind: "line", color: "purple", width: 3, x: bars.map(([x]) => x), y: bars.map(([, y]) => y) },
          { kind: "line", name: "median", color: "purple", dash: true, width: 1, x: at, y: groups().map((one) => one.ratio ?? NaN) },
        ];
      },
    });
  }
  for (const views of data.where) {
    for (const view of views) {
      const number = (ratio) => (ratio === null ? "-" : ratio.toFixed(3));
      const rows = view.groups.map((one) => [
        make("span", {}, one.name), whole(one.requests), number(one.ratio), number(one.low), number(one.high), one.in_these_runs,
      ]); // prettier-ignore
      part.append(
        make(
          "details",
          {},
          make("summary", {}, `${values.find((one) => one.key === view.value).name} by ${view.by}`),
          table([view.by, "requests", "B / A", "from", "to", "these runs"], rows),
        ),
      );
    }
  }
}

function addWords() {
  const part = addPart("words", "Definitions");
  part.append(
    table(
      ["word", "meaning"],
      [
        ["better, worse", "The whole interval lies on one side of equal, and not all of it within the margin. It is said of two or more runs a side, and of the two sides of a dual run."],
        ["higher, lower", "The same of B's figure in these runs. Another run of the same server may differ as much."],
        ["same", `The whole interval lies within the margin: ${(100 * found.margin).toFixed(1)} % of a ratio, ${(100 * found.share_margin).toFixed(2)} percentage points of a share.`],
        ["unsure", "The interval allows either. More requests or more repeats make it narrower."],
        ["95 % interval", found.evidence !== "between_runs"
          ? "Where the change would lie if these runs had had other requests of the same kind. Another run of the same server may differ more; only repeats show that."
          : "Where the change of further runs would lie: runs are resampled, then sessions."],
        ["n_eff", "The number of independent requests with the same information. Requests of one session, or close in time, depend on each other."],
        ["-", "A percentile needs this many independent values: p90 64, p95 130, p99 662."],
        ["pairs", "Requests are paired by row and pass. A latency counts if the request is ok in every run of both sides."],
      ],
      { class: "words" },
    ),
  ); // prettier-ignore
}

function addBar() {
  const all = pushButton("whole run", () => showTime(...clock.full));
  document.getElementById("bar").append(partLinks(), make("div", { class: "zoom" }, all));
}

if (requests.rows > 0) {
  const [first, last] = extent(due);
  clock.full = [Math.min(0, first), last > 0 ? last * 1.005 : 1];
  [clock.from, clock.to] = clock.full;
}

async function showAll() {
  // Words and table stand before the first chart is made.
  await showParts([addLatency, addWhere, addWords]);
  addBar();
  addFoot();
  document.documentElement.dataset.ready = "true";
}

addHead();
addMetrics();
showAll();
followLooks();
