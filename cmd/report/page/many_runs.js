// The page of many runs: their frontiers, what each group of them reaches, and all of them in a table.
// Runs last.

const { cells, columns, charts: allCharts } = data.table;
const rowsOfChart = 10000; // the row of a point is that of its chart, times this, and its place there

const percentileOf = (figure) => (/:(p[\d.]+)$/.exec(figure.name) || [])[1];
const pairOf = (one) => `${one.x.name.replace(/:p[\d.]+$/, "")} ${one.y.name}`;

// Charts of one pair of figures differ in their percentile, which a button chooses.
const pairs = new Map();
for (const one of allCharts) {
  if (!pairs.has(pairOf(one))) pairs.set(pairOf(one), []);
  pairs.get(pairOf(one)).push(one);
}
const hasChoice = [...pairs.values()].some((some) => some.length > 1);
const percentiles = hasChoice ? [...new Set(allCharts.map((one) => percentileOf(one.x)))].filter(Boolean) : [];
const chosen = { percentile: percentiles.includes("p90") ? "p90" : percentiles[0] };
const shownCharts = () =>
  [...pairs.values()].map((some) => some.find((one) => percentileOf(one.x) === chosen.percentile) || some[0]);

const shownValue = (name, value) => (name === "url" ? value.replace(/^.*:\/\/([^/]*).*$/, "$1") : value);

// What tells a point from the others of its group: the values in which those differ.
function pointLabel(one, i) {
  const point = one.points[i];
  const others = one.points.filter((other) => other.group === point.group).map((other) => cells[other.cell]);
  const values = columns
    .filter((name) => new Set(others.map((cell) => cell.values[name])).size > 1)
    .map((name) => [name, cells[point.cell].values[name]])
    .filter(([, value]) => value !== null)
    .map(([name, value]) => shownValue(name, value));
  return values.length > 0 ? values.join(", ") : cells[point.cell].name;
}

function valueOf(cell, name) {
  const value = cell.values[name];
  if (value === null) return "-";
  return name === "url" ? make("span", {}, shownValue(name, value)) : value;
}

const groupName = (group) =>
  data.table.group === null ? "all cells" : `${data.table.group} ${group.name === "" ? "none" : group.name}`;

/// A short name stays in one line beside columns that are wide.
const unbroken = (text) => (text.length <= 24 ? text.replaceAll(" ", "\u00a0") : text);

function valueLines(cell) {
  return columns.filter((name) => cell.values[name] !== null).map((name) => `${name} ${cell.values[name]}`);
}

function rangeText(figure, value) {
  const text = figureText(figure, value.mean);
  return value.runs > 1
    ? `${text} (${figureText(figure, value.low)} to ${figureText(figure, value.high)}, ${value.runs} runs)`
    : text;
}

function pointLines(row) {
  const one = allCharts[Math.floor(row / rowsOfChart)];
  const point = one.points[row % rowsOfChart];
  const cell = cells[point.cell];
  const lines = [cell.name, ...valueLines(cell)];
  for (const side of ["x", "y"]) {
    lines.push(`${one[side].title}: ${rangeText(one[side], point[side])}`);
    if (point[side].below_floor) lines.push(`fewer than ${one[side].floor} values`);
  }
  lines.push(
    point.on_frontier_of_all
      ? "on the frontier"
      : `dominated by ${cells[point.dominated_by].name}` +
          (point.dominating > 1 ? ` and ${point.dominating - 1} more` : ""),
  );
  return lines;
}

const linkOf = (cell) => data.links[cell][0];

pointed.describe = pointLines;
pointed.open = (row) => {
  const link = linkOf(allCharts[Math.floor(row / rowsOfChart)].points[row % rowsOfChart].cell);
  if (link) location.assign(link);
};

function addHead() {
  const runs = cells.reduce((sum, cell) => sum + cell.runs.length, 0);
  const out = cells.flatMap((cell) => cell.runs).filter((run) => run.left_out !== null);
  const top = document.getElementById("top");
  top.append(
    make("p", { class: "kicker" }, `${data.program} compare --table`),
    make("h1", {}, `${plural(runs, "run", "runs")} in ${plural(cells.length, "cell", "cells")}`),
    make("p", { class: "what" }, columns.length > 0 ? `They differ in ${columns.join(", ")}.` : ""),
  );
  const lines = data.table.differences.map((text) => `Not the same work: ${text}`);
  lines.push(...out.map((run) => `${run.folder}: left out of means and frontiers: ${run.left_out}`));
  if (lines.length > 0) {
    top.append(
      make(
        "ul",
        {},
        lines.map((text) => make("li", { class: "warning" }, text)),
      ),
    );
  }
}

// Percentiles stand for the slow tail in times and in interactivity alike.
function addFrontiers() {
  const part = addPart(
    "frontiers",
    "Frontiers",
    "A cell is on a frontier if no other cell beats it in both figures. Filled: on the frontier of its group. " +
      "Bars: the lowest and the highest of several runs. Pale: too few values for the percentile. A click " +
      "opens the run.",
  );
  const buttons = percentiles.map((name) =>
    pushButton(name, () => choose(name), { "aria-pressed": String(name === chosen.percentile) }),
  );
  if (percentiles.length > 1) part.grid.before(make("div", { class: "choice" }, "percentile", buttons));
  function choose(name) {
    chosen.percentile = name;
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.textContent === name));
    drawFrontiers(part);
  }
  drawFrontiers(part);
}

function drawFrontiers(part) {
  charts.length = 0;
  part.grid.replaceChildren();
  for (const one of shownCharts()) {
    const number = allCharts.indexOf(one);
    const values = (side) => one.points.flatMap((point) => [point[side].low, point[side].high]);
    const few = one.points.filter((point) => point.x.below_floor || point.y.below_floor).length;
    const floor = Math.max(one.x.floor, one.y.floor);
    const notes = [`${one.frontier.length} of ${plural(one.points.length, "cell", "cells")} on the frontier`];
    if (few > 0) notes.push(`${few} with fewer than ${whole(floor)} values`);
    if (one.missing.length > 0) notes.push(`${one.missing.length} without these figures`);
    new Chart(part.grid, {
      title: `${one.y.title} against ${one.x.title}`,
      note: notes.join("; "),
      x: frontierAxis(one.x, values("x")),
      y: frontierAxis(one.y, values("y")),
      height: 320,
      layers: () =>
        frontierLayers(
          one,
          (i) => number * rowsOfChart + i,
          (i) => pointLabel(one, i),
        ),
    });
  }
  for (const chart of charts) chart.refresh();
  drawReach();
}

function addReach() {
  const part = addPart(
    "reach",
    "Hypervolume and dominance",
    "The area that a group dominates, up to a reference: 0 where more is better, else 1.1 times the worst of " +
      "all cells. The larger the share of what all groups reach together, the further a group reaches.",
  );
  part.append(make("div", { id: "reach-table" }));
  drawReach();
}

function drawReach() {
  const place = document.getElementById("reach-table");
  if (!place) return;
  const rows = shownCharts().flatMap((one) =>
    one.groups.map((group, g) => {
      const mine = one.points.filter((point) => point.group === g);
      return [
        `${one.y.title} against ${one.x.title}`,
        unbroken(`${glyphs[lookOf(g).shape]} ${groupName(group)}`),
        group.hypervolume.toPrecision(4),
        share(group.hypervolume, one.hypervolume),
        mine.filter((point) => point.on_frontier_of_all).length,
        mine.length,
        `${figureText(one.x, one.reference[0])}, ${figureText(one.y, one.reference[1])}`,
        make("span", {}, group.frontier.map((i) => cells[one.points[i].cell].name).join(", ")),
      ];
    }),
  );
  place.replaceChildren(
    table(["figures", "group", "area", "of all", "undominated", "cells", "reference", "its frontier"], rows),
  );
}

const shownFigures = [
  ["req/s", "request_throughput", 1],
  ["TTFT p50 ms", "ttft:p50", 1],
  ["TTFT p99 ms", "ttft:p99", 1],
  ["TPOT p50 ms", "tpot:p50", 1],
  ["E2E p99 ms", "e2e:p99", 1],
  ["out tok/s", "output_throughput", 1],
  ["tok/s", "total_token_throughput", 1],
  ["hits %", "hits", 100],
];

function cellText(value, scale) {
  if (value === null) return "-";
  const range = value.runs > 1 ? ` (${digits(value.low * scale)} to ${digits(value.high * scale)})` : "";
  return `${digits(value.mean * scale)}${value.below_floor ? "*" : ""}${range}`;
}

function runLinks(cell, index) {
  const links = cell.runs.map((run, i) => make("div", {}, linkOr(data.links[index][i], run.name)));
  const all = make("div", {}, links);
  all.style.whiteSpace = "nowrap";
  return all;
}

function addTable() {
  const part = addPart(
    "runs",
    "Runs",
    "A line of several runs sums requests and averages the rest, with the lowest and the highest value. *: fewer " +
      "requests than the percentile needs.",
  );
  const sum = (value) => (value === null ? "-" : whole(value.mean * value.runs));
  const rows = cells.map((cell, index) => [
    runLinks(cell, index),
    ...columns.map((name) => valueOf(cell, name)),
    cell.shown,
    sum(cell.figures.completed),
    sum(cell.figures.failed),
    ...shownFigures.map(([, name, scale]) => cellText(cell.figures[name], scale)),
    [...new Set(cell.runs.map((run) => (run.left_out === null ? run.verdict : run.outcome)))].join(", "),
  ]);
  part.append(
    table(["run", ...columns, "runs", "ok", "failed", ...shownFigures.map(([head]) => head), "verdict"], rows),
  );
}

function addWords() {
  const part = addPart("words", "Definitions");
  part.append(
    table(
      ["figure", "here"],
      [
        [
          "interactivity",
          "Tokens per second of one stream: 1000 / TPOT in ms. Its p90 is in the slow tail, 1000 / TPOT p90, " +
            "as in InferenceX; its mean is harmonic.",
        ],
        ["input tokens/s", "Prompt tokens of complete answers per second, cached or not."],
        ["all tokens/s", "Prompt and output tokens of complete answers per second."],
        ["per GPU", "Divided by the run's label gpus; tp is not used."],
        ["hits", "Share of the tokens that the trace allows which servers found in their caches."],
        [
          "frontier",
          "Cells that no other cell equals or beats in both figures, with at least one better; equal cells all count.",
        ],
        [
          "bars",
          "The lowest and the highest of a cell's repeats. A cell with one run has none: how its requests " +
            "differ from each other says nothing about another run.",
        ],
      ],
      { class: "words" },
    ),
  );
}

addHead();
addFrontiers();
addReach();
addTable();
addWords();
document.getElementById("bar").append(partLinks());
addFoot();
followLooks();
document.documentElement.dataset.ready = "true";
