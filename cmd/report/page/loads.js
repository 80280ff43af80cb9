// The page of a search or a sweep: load against each figure, what must hold of it, the knee, and the runs.
// Runs last.

const { points: probes, limits, knee } = data;
const groupNames = [...new Set(probes.map((probe) => probe.group))];
const kinds = {
  meets: { color: "green", shape: "circle", isFilled: true },
  fails: { color: "red", shape: "diamond", isFilled: true },
  completed: { color: "blue", shape: "circle", isFilled: true },
  discarded: { color: "grey", shape: "square", isFilled: false },
};
const kindOf = (probe) => (kinds[probe.outcome] ? probe.outcome : "discarded");
const groupName = (name) => name; // frontiers of groups are on another page

function valueText(limit, figure) {
  if (figure.value === null) return "-";
  const moved = 1e6 * Math.max(figure.below, figure.above);
  return figureText(limit, figure.value) + (figure.above === null ? "" : ` (client at most ${duration(moved)})`);
}

pointed.describe = (i) => [
  `${probes[i].name}: ${probes[i].outcome}`,
  ...limits.map((limit, k) => `${limit.title} ${valueText(limit, probes[i].figures[k])}`),
  ...(probes[i].why ? [probes[i].why] : []),
];
pointed.open = (i) => {
  if (probes[i].link) location.assign(probes[i].link);
};

// The interval of the knee, over the whole height.
drawers.band = (chart, pen, layer) => {
  const { left, right, top, bottom } = chart.area;
  const from = layer.from === null ? left : chart.toX(layer.from);
  const to = layer.to === null ? right : chart.toX(layer.to);
  pen.fillStyle = colour("shade");
  pen.fillRect(from, top, to - from, bottom - top);
};

function pointLayer(limit, k, group, kind) {
  const scale = scaleOf(limit);
  const rows = [...probes.keys()].filter((i) => {
    const { group: mine, figures } = probes[i];
    return mine === group && kindOf(probes[i]) === kind && figures[k].value !== null;
  });
  const of = (read) => rows.map((i) => read(probes[i].figures[k]) * scale);
  const x = rows.map((i) => probes[i].load);
  const layer = {
    kind: "points",
    ...kinds[kind],
    x,
    xLow: x,
    xHigh: x,
    y: of((one) => one.value),
    yLow: of((one) => one.value - one.below),
    yHigh: of((one) => one.value + one.above),
    isFilled: rows.map(() => kinds[kind].isFilled),
    isPale: rows.map(() => kind === "discarded"),
    rows,
    labels: null,
  };
  if (groupNames.length > 1) {
    const isFilled = rows.map(() => kind === "meets" || kind === "completed");
    Object.assign(layer, lookOf(groupNames.indexOf(group)), { isFilled });
  }
  layer.name = `${glyphs[layer.shape]} ${[group, kind].filter(Boolean).join(" ")}`;
  const bounds = limit.bound === null ? [] : [limit.bound * scale];
  layer.reach = { x, y: [...layer.yLow, ...layer.yHigh, ...bounds] };
  return rows.length > 0 ? layer : null;
}

// The mean at each load that says something.
function meanLine(limit, k, group) {
  const sums = new Map();
  for (const probe of probes) {
    const figure = probe.figures[k];
    if (probe.group !== group || kindOf(probe) === "discarded" || figure.value === null) continue;
    const [sum, count] = sums.get(probe.load) || [0, 0];
    sums.set(probe.load, [sum + figure.value, count + 1]);
  }
  const x = [...sums.keys()].sort((a, b) => a - b);
  const y = x.map((load) => (sums.get(load)[0] / sums.get(load)[1]) * scaleOf(limit));
  return { kind: "line", color: "axis", width: 1, x, y };
}

const rule = (name, color, place) => ({ kind: "rule", dash: true, name, color, ...place });

function layersOf(limit, k) {
  const layers = [];
  const { low, pass, fail, high } = knee;
  if (low !== null || high !== null) layers.push({ kind: "band", from: low, to: high });
  if (limit.bound !== null) layers.push(rule(limit.condition, "red", { level: limit.bound * scaleOf(limit) }));
  if (pass !== null) layers.push(rule(`highest that meets: ${digits(pass)}`, "green", { at: pass }));
  if (fail !== null) layers.push(rule(`lowest that fails: ${digits(fail)}`, "orange", { at: fail }));
  for (const group of groupNames) {
    layers.push(meanLine(limit, k, group));
    for (const kind of Object.keys(kinds)) layers.push(pointLayer(limit, k, group, kind));
  }
  return layers;
}

function addHead() {
  document.getElementById("top").append(
    make("p", { class: "kicker" }, `${data.program} ${data.command} over ${data.over}`),
    make("h1", {}, data.title),
    ...data.facts.map(([label, text], i) => make("p", { class: i === 0 ? "said" : "what" }, `${label}: ${text}`)),
  );
}

function addCharts() {
  const part = addPart(
    "load",
    "Load",
    "Bars: what the client may have moved a figure by, at most." +
      (knee.low !== null || knee.high !== null ? " Shaded: the interval of the knee." : "") +
      " A click on a point opens the page of its run." +
      (groupNames.length > 1 ? " Hollow: it fails, or says nothing." : ""),
  );
  const loads = probes.map((probe) => probe.load);
  const kind = Math.max(...loads) > 10 * Math.min(...loads) && Math.min(...loads) > 0 ? "log" : "linear";
  const label = data.unit ? `${data.over} (${data.unit})` : data.over;
  limits.forEach((limit, k) => {
    const values = probes.map((probe) => probe.figures[k].value).filter((value) => value !== null);
    if (values.length === 0) return;
    new Chart(part.grid, {
      title: `${limit.title} by load`,
      x: countAxis(kind, label, kind === "log" ? {} : { from: Math.min(...loads) * 0.98 }),
      y: frontierAxis(limit, limit.bound === null ? values : [...values, limit.bound]),
      height: 320,
      layers: () => layersOf(limit, k).filter((layer) => layer !== null),
    });
  });
  for (const chart of charts) chart.refresh();
}

function runLink(probe) {
  const link = linkOr(probe.link, probe.run);
  link.style.whiteSpace = "nowrap";
  return link;
}

function addRuns() {
  const part = addPart("runs", data.command === "find" ? "Probes" : "Runs");
  const rows = probes.map((probe) => [
    runLink(probe),
    ...probe.cells,
    probe.outcome,
    ...limits.map((limit, k) => valueText(limit, probe.figures[k])),
    make("span", {}, probe.why),
  ]);
  part.append(table(["run", ...data.columns, "outcome", ...limits.map((limit) => limit.condition), ""], rows));
}

addHead();
addCharts();
addRuns();
document.getElementById("bar").append(partLinks());
addFoot();
followLooks();
document.documentElement.dataset.ready = "true";
