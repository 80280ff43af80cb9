// Keys over a chart that has the focus: arrows go from dot to dot, or move the cursor; Enter opens what
// is near; + and - zoom, 0 shows the whole run.

function followKeys(chart) {
  const canvas = chart.over;
  const isTime = chart.x.kind === "time";
  const acts = {
    ArrowLeft: (event) => step(chart, event.shiftKey ? -10 : -1),
    ArrowRight: (event) => step(chart, event.shiftKey ? 10 : 1),
    Home: () => step(chart, -Infinity),
    End: () => step(chart, Infinity),
    Enter: () => chart.near != null && pointed.open(chart.hits.rows[chart.near]),
    Escape: () => pointNowhere(chart),
    ...(isTime && { "+": () => zoomBy(0.5), "=": () => zoomBy(0.5), "-": () => zoomBy(2), 0: () => showTime(...clock.full) }),
  };
  canvas.addEventListener("keydown", (event) => {
    const act = acts[event.key];
    if (!act || !chart.area || event.ctrlKey || event.metaKey || event.altKey) return;
    act(event);
    event.preventDefault();
  });
  canvas.addEventListener("blur", () => pointNowhere(chart));
}

// Around the cursor, or the middle of what is shown.
function zoomBy(factor) {
  const { from, to, cursor } = clock;
  const at = cursor !== null && inWindow(cursor) ? cursor : (from + to) / 2;
  showTime(at - (at - from) * factor, at + (to - at) * factor);
}

// By so many dots, left to right; without dots by so many hundredths of the axis.
function step(chart, by) {
  const box = chart.over.getBoundingClientRect();
  const show = (x, y, lines) => {
    tipAt({ clientX: box.left + x, clientY: box.top + y }, lines);
    if (chart.x.kind === "time") showCursor(chart.toX.invert(x));
    else chart.drawCursor();
  };
  const { left, right, top } = chart.area;
  if (chart.hits.x.length > 0) {
    const order = chart.hitsInOrder();
    const now = chart.near == null ? (by > 0 ? -1 : order.length) : order.indexOf(chart.near);
    chart.near = order[Math.min(order.length - 1, Math.max(0, now + by))];
    show(chart.hits.x[chart.near], chart.hits.y[chart.near], describeHit(chart, chart.near));
    return;
  }
  const now = chart.keyAt ?? (by > 0 ? left : right);
  chart.keyAt = Math.min(right, Math.max(left, now + (by * (right - left)) / 100));
  show(chart.keyAt, top, curveLines(chart, chart.toX.invert(chart.keyAt)));
}
