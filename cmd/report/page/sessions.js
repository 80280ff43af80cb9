// Sessions: a lane for each tree, its requests as bars: who waited for whom, and where the gaps are.

const lanesShown = 40;

// Trees with their rows in order, by the pass in which they were played.
function readTrees() {
  const trees = new Map();
  for (const row of allRows) {
    const tree = requests.value("tree", row);
    if (tree === null || Number.isNaN(stamps.fired[row])) continue;
    const key = `${tree} ${requests.numbers("pass")[row]} ${requests.numbers("user")[row]}`;
    if (!trees.has(key)) trees.set(key, { name: tree, rows: [], from: Infinity, to: -Infinity });
    const one = trees.get(key);
    one.rows.push(row);
    one.from = Math.min(one.from, stamps.fired[row]);
    one.to = Math.max(one.to, Number.isNaN(stamps.ended[row]) ? stamps.fired[row] : stamps.ended[row]);
  }
  return [...trees.values()].sort((a, b) => a.from - b.from);
}

function addSessions() {
  const part = addPart("sessions", "Sessions");
  const trees = requests.anyKnown("tree") ? readTrees() : [];
  if (!trees.some((tree) => tree.rows.length > 1)) {
    addLine(part, "Rows stand alone: the trace names no sessions of several turns.");
    return;
  }
  part.insertBefore(treeTable(trees), part.grid);
  addLanes(part, trees);
}

// How long some request of the tree was open: the rest of its time is gaps.
function openTime(tree) {
  const rows = [...tree.rows].sort((a, b) => stamps.fired[a] - stamps.fired[b]);
  let open = 0;
  let until = -Infinity;
  for (const row of rows) {
    const end = stamps.ended[row];
    if (!(end > until)) continue;
    open += end - Math.max(until, stamps.fired[row]);
    until = end;
  }
  return open;
}

function treeTable(trees) {
  const line = (name, values, text) => {
    const sorted = Float64Array.from(values).sort();
    const mean = sorted.reduce((sum, value) => sum + value, 0) / sorted.length;
    return [name, ...[mean, quantile(sorted, 0.5), quantile(sorted, 0.9), sorted[sorted.length - 1]].map(text)];
  };
  const seconds = (value) => duration(value * 1e9);
  return table([plural(trees.length, "tree", "trees"), "mean", "p50", "p90", "max"], [
    line("requests", trees.map((tree) => tree.rows.length), digits),
    line("from first request to last end", trees.map((tree) => tree.to - tree.from), seconds),
    line("of it, some request open", trees.map(openTime), seconds),
    line("of it, gaps", trees.map((tree) => tree.to - tree.from - openTime(tree)), seconds),
  ]);
}

function addLanes(part, trees) {
  const orders = {
    "by beginning": (a, b) => a.from - b.from,
    "longest first": (a, b) => b.to - b.from - (a.to - a.from),
    "most requests first": (a, b) => b.rows.length - a.rows.length,
  };
  let order = "by beginning";
  let page = 0;
  const pages = Math.ceil(trees.length / lanesShown);
  const said = make("span", {});
  const choose = make("select", { "aria-label": "order of the lanes" }, Object.keys(orders).map((name) => make("option", {}, name)));
  const turn = (by) => make("button", { type: "button", onclick: () => { page = (page + by + pages) % pages; show(); } }, by > 0 ? "next" : "before");
  part.insertBefore(make("div", { class: "choice" }, choose, pages > 1 ? [turn(-1), turn(1)] : null, said), part.grid);
  const lanes = () => [...trees].sort(orders[order]).slice(page * lanesShown, (page + 1) * lanesShown);
  const chart = new Chart(part.grid, {
    title: "Lanes", note: "a lane for each tree; pale until the first token, then full; a click opens the request", wide: true,
    height: 70 + 15 * Math.min(lanesShown, trees.length), x: timeAxis, y: { kind: "lanes", label: "trees", from: 0, to: Math.min(lanesShown, trees.length) },
    layers: () => laneLayers(lanes()),
  });
  const show = () => {
    said.textContent = `trees ${page * lanesShown + 1} to ${Math.min(trees.length, (page + 1) * lanesShown)} of ${whole(trees.length)}`;
    chart.refresh();
  };
  choose.addEventListener("change", () => { order = choose.value; page = 0; show(); });
  said.textContent = `trees 1 to ${Math.min(trees.length, lanesShown)} of ${whole(trees.length)}`;
}

function laneLayers(trees) {
  const parts = {
    whole: { kind: "spans", color: "pale", name: "until the first token", x0: [], x1: [], lane: [], rows: [], placeOf: new Map() },
    tokens: { kind: "spans", color: "blue", name: "tokens", x0: [], x1: [], lane: [] },
    agents: { kind: "spans", color: "purple", name: "tokens of a sub-agent", x0: [], x1: [], lane: [], thick: 0.4 },
    failed: { kind: "spans", color: "red", name: "failed", x0: [], x1: [], lane: [] },
  };
  const failed = new Set(failedRows);
  const add = (layer, from, to, lane) => { layer.x0.push(from); layer.x1.push(to); layer.lane.push(lane); };
  trees.forEach((tree, i) => {
    const lane = trees.length - 1 - i;
    for (const row of tree.rows) {
      const end = Number.isNaN(stamps.ended[row]) ? clock.full[1] : stamps.ended[row];
      parts.whole.placeOf.set(row, parts.whole.rows.length);
      add(parts.whole, stamps.fired[row], end, lane);
      parts.whole.rows.push(row);
      if (failed.has(row)) add(parts.failed, stamps.fired[row], end, lane);
      else if (!Number.isNaN(stamps.first_token[row])) {
        add(requests.value("session", row) === tree.name ? parts.tokens : parts.agents, stamps.first_token[row], end, lane);
      }
    }
  });
  return Object.values(parts).filter((layer) => layer.x0.length > 0);
}
