// The pointer over a chart: the cursor of all time charts, a drag that zooms, the dot that is near,
// and the click that opens its record.

const reach = 14; // pixels

function nearestHit(chart, x, y) {
  let best = null;
  let least = reach * reach;
  const hits = chart.hits;
  for (let i = 0; i < hits.x.length; i++) {
    const dx = hits.x[i] - x;
    const dy = hits.y[i] - y;
    // Under the pointer means the whole bar of a request, not only its middle.
    const span = hits.layers[i].kind === "spans" ? spanDistance(chart, i, x, dy) : dx * dx + dy * dy;
    if (span < least) {
      least = span;
      best = i;
    }
  }
  return best;
}

function spanDistance(chart, hit, x, dy) {
  const layer = chart.hits.layers[hit];
  const place = layer.placeOf.get(chart.hits.rows[hit]);
  const beside = Math.max(chart.toX(layer.x0[place]) - x, x - chart.toX(layer.x1[place]), 0);
  return beside * beside + dy * dy;
}

function tipAt(event, lines) {
  const tip = document.getElementById("tip");
  tip.hidden = lines.length === 0;
  if (tip.hidden) return;
  tip.replaceChildren(...lines.map((line) => make("div", {}, line)));
  const width = tip.offsetWidth;
  const left = event.clientX + 14 + width > window.innerWidth ? event.clientX - 14 - width : event.clientX + 14;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 4)}px`;
}

function tipLines(chart, hit, x) {
  if (hit !== null) return describeHit(chart, hit);
  const at = chart.toX.invert(x);
  const named = chart.current.filter((layer) => layer.name && (layer.kind === "line" || layer.kind === "steps"));
  if (chart.x.kind === "time" || named.length === 0) return [];
  const lines = named.map((layer) => `${layer.name} ${chart.reading(chart.valueAt(layer, at)) || "-"}`);
  return [chart.x.text(at), ...lines];
}

function describeHit(chart, hit) {
  const row = chart.hits.rows[hit];
  const lines = [recordName(row)];
  const layer = chart.hits.layers[hit];
  if (layer.kind === "dots" && !layer.foot) {
    lines.push(`${chart.y.label}: ${chart.y.text(chart.toY.invert(chart.hits.y[hit]))}`);
    lines.push(`${chart.x.label}: ${chart.x.text(chart.toX.invert(chart.hits.x[hit]))}`);
  }
  const outcome = requests.value("outcome", row);
  if (outcome !== "ok") lines.push(outcome);
  return lines;
}

function followPointer(chart) {
  const inside = (x) => Math.min(Math.max(x, chart.area.left), chart.area.right);
  const canvas = chart.over;
  const isTime = chart.x.kind === "time";

  canvas.addEventListener("pointermove", (event) => {
    if (!chart.area) return;
    if (chart.drag) chart.drag[1] = inside(event.offsetX);
    chart.near = chart.drag ? null : nearestHit(chart, event.offsetX, event.offsetY);
    canvas.style.cursor = chart.near !== null ? "pointer" : isTime ? "crosshair" : "default";
    tipAt(event, chart.drag ? [] : tipLines(chart, chart.near, event.offsetX));
    if (isTime) showCursor(chart.toX.invert(inside(event.offsetX)));
    else chart.drawCursor();
  });
  canvas.addEventListener("pointerleave", (event) => {
    if (chart.drag) return;
    chart.near = null;
    tipAt(event, []);
    if (isTime) showCursor(null);
    else chart.drawCursor();
  });
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !chart.area) return;
    chart.pressed = event.offsetX;
    if (isTime && event.pointerType === "mouse") {
      chart.drag = [inside(event.offsetX), inside(event.offsetX)];
      canvas.setPointerCapture(event.pointerId);
    }
  });
  canvas.addEventListener("pointerup", (event) => {
    const drag = chart.drag;
    chart.drag = null;
    if (drag && Math.abs(drag[1] - drag[0]) > 6) {
      const [low, high] = [Math.min(...drag), Math.max(...drag)].map((x) => chart.toX.invert(x));
      showTime(low, high);
      return;
    }
    const hit = nearestHit(chart, event.offsetX, event.offsetY);
    if (hit !== null && Math.abs(event.offsetX - chart.pressed) < 6) openRecord(chart.hits.rows[hit]);
    chart.drawCursor();
  });
  canvas.addEventListener("pointercancel", () => { chart.drag = null; });
  if (isTime) canvas.addEventListener("dblclick", () => showTime(...clock.full));
}
