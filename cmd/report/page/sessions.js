// Sessions: a lane for each tree, its requests as bars: who waited for whom, and where the gaps are.

const lanesShown = 48;

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
    addLine(part, "All rows are single: the trace has no sessions of several turns.");
    return;
  }
  part.grid.before(treeTable(trees));
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
  const line = ([name, of, text]) => {
    const sorted = Float64Array.from(trees, of).sort();
    const mean = sorted.reduce((sum, value) => sum + value, 0) / sorted.length;
    return [
      name,
      ...[mean, quantile(sorted, 0.5), quantile(sorted, 0.9), sorted[sorted.length - 1]].map(text),
    ];
  };
  const seconds = (value) => duration(value * 1e9);
  return table(
    [plural(trees.length, "tree", "trees"), "mean", "p50", "p90", "max"],
    [
      ["requests", (tree) => tree.rows.length, digits],
      ["from first request to last end", (tree) => tree.to - tree.from, seconds],
      ["of it, with a request open", openTime, seconds],
      ["of it, gaps", (tree) => tree.to - tree.from - openTime(tree), seconds],
    ].map(line),
  );
}

// The sessions of a tree, its root first, then those of its agents as they began: a lane each.
function lanesOf(tree) {
  const sessions = new Map([[tree.name, []]]);
  for (const row of [...tree.rows].sort((a, b) => stamps.fired[a] - stamps.fired[b])) {
    const session = requests.value("session", row) ?? tree.name;
    if (!sessions.has(session)) sessions.set(session, []);
    sessions.get(session).push(row);
  }
  return [...sessions]
    .filter(([, rows]) => rows.length > 0)
    .map(([session, rows]) => ({ isRoot: session === tree.name, rows }));
}

// Trees side by side until the lanes of a page are full.
function pagesOf(trees) {
  const pages = [];
  let lanes = lanesShown;
  for (const tree of trees) {
    if (lanes >= lanesShown) {
      pages.push([]);
      lanes = 0;
    }
    pages[pages.length - 1].push(tree);
    lanes += tree.lanes.length;
  }
  return pages;
}

function addLanes(part, trees) {
  for (const tree of trees) tree.lanes = lanesOf(tree);
  const orders = {
    "by start": (a, b) => a.from - b.from,
    "longest first": (a, b) => b.to - b.from - (a.to - a.from),
    "most requests first": (a, b) => b.rows.length - a.rows.length,
  };
  let pages = pagesOf(trees);
  let page = 0;
  const said = make("span", {});
  const choose = make(
    "select",
    { "aria-label": "order of the lanes" },
    Object.keys(orders).map((name) => make("option", {}, name)),
  );
  const turn = (by) =>
    pushButton(by > 0 ? "next" : "before", () => {
      page = (page + by + pages.length) % pages.length;
      show();
    });
  part.grid.before(make("div", { class: "choice" }, choose, pages.length > 1 ? [turn(-1), turn(1)] : null, said));
  const chart = new Chart(part.grid, {
    title: "Lanes",
    note:
      "one lane per session, sub-agents below the session that called them, lines between trees; " +
      "pale until the first token, then solid",
    wide: true,
    height: 400,
    x: timeAxis,
    y: { kind: "lanes", label: "sessions", from: 0, to: 1 },
    layers: () => laneLayers(pages[page] || []),
  });
  const say = () => {
    const before = pages.slice(0, page).reduce((sum, one) => sum + one.length, 0);
    said.textContent = `trees ${before + 1} to ${before + pages[page].length} of ${whole(trees.length)}`;
    const lanes = pages[page].reduce((sum, tree) => sum + tree.lanes.length, 0);
    chart.y.to = lanes;
    chart.box.style.height = `${Math.min(900, 60 + Math.max(6, lanes) * 15)}px`;
  };
  const show = () => {
    say();
    chart.refresh();
  };
  choose.addEventListener("change", () => {
    pages = pagesOf([...trees].sort(orders[choose.value]));
    page = 0;
    show();
  });
  say();
}

function laneLayers(trees) {
  const spans = (name, color, more) => ({
    kind: "spans",
    name,
    color,
    x0: [],
    x1: [],
    lane: [],
    rows: [],
    placeOf: new Map(),
    ...more,
  });
  const parts = {
    waiting: spans("until the first token", "pale"),
    tokens: spans("tokens", "blue"),
    agents: spans("tokens of a sub-agent", "purple"),
    failed: spans("failed", "red"),
  };
  const failed = new Set(failedRows);
  const rules = [];
  const add = (layer, row, from, to, lane) => {
    layer.placeOf.set(row, layer.rows.length);
    layer.x0.push(from);
    layer.x1.push(to);
    layer.lane.push(lane);
    layer.rows.push(row);
  };
  let lane = trees.reduce((sum, tree) => sum + tree.lanes.length, 0);
  for (const tree of trees) {
    rules.push({ kind: "rule", color: "grid", level: lane });
    for (const { isRoot, rows } of tree.lanes) {
      lane--;
      for (const row of rows) {
        const first = stamps.first_token[row];
        const end = Number.isNaN(stamps.ended[row]) ? clock.full[1] : stamps.ended[row];
        if (failed.has(row)) {
          add(parts.failed, row, stamps.fired[row], end, lane);
          continue;
        }
        const begun = Number.isNaN(first) ? end : first;
        add(parts.waiting, row, stamps.fired[row], begun, lane);
        if (begun < end) add(isRoot ? parts.tokens : parts.agents, row, begun, end, lane);
      }
    }
  }
  return rules.concat(Object.values(parts).filter((layer) => layer.x0.length > 0));
}
