// The mouse over a chart: the cursor of all time charts, a drag that zooms, the dot that is near, and
// the click that opens what stands behind it. Fingers and keys do the same in fingers.js and keys.js.

// What the rows of a chart's points are. A page that has such rows sets it: `describe` gives the lines
// that a row is known by, the first one its name; `open` shows all of it.
const pointed = { describe: (row) => [`row ${row}`], open: () => {} };

const reach = { mouse: 14, touch: 26 }; // pixels
const tapped = 8; // a finger or a hand that moved less has not moved

function nearestHit(chart, x, y, within = reach.mouse) {
  let best = null;
  let least = within * within;
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

// Beside a place in the window; above it where a finger would cover what is below.
function tipAt(place, lines, isAbove = false) {
  const tip = document.getElementById("tip");
  tip.hidden = lines.length === 0;
  if (tip.hidden) return;
  tip.replaceChildren(...lines.map((line) => make("div", {}, line)));
  const { offsetWidth: width, offsetHeight: height } = tip;
  const right = place.clientX + 14;
  const left = right + width > window.innerWidth ? place.clientX - 14 - width : right;
  const below = place.clientY + 14;
  const top = isAbove && place.clientY - 30 - height > 0 ? place.clientY - 30 - height : below;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, Math.min(top, window.innerHeight - height - 4))}px`;
}

const hideTip = () => tipAt({}, []);

// The lines of the tile under the pointer; null where there is none.
function tileLines(chart, x, y) {
  const layer = chart.current.find((one) => one.kind === "tiles");
  const place = layer
    ? layer.boxes.findIndex(
        (box) => x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height,
      )
    : -1;
  return place < 0 ? null : layer.describe(place);
}

// What the curves of a chart say at a value of its x axis.
function curveLines(chart, at) {
  const named = chart.current.filter(
    (layer) => layer.name && layer.x && (layer.kind === "line" || layer.kind === "steps"),
  );
  if (named.length === 0) return [];
  return [
    chart.x.text(at),
    ...named.map((layer) => `${layer.name} ${chart.reading(chart.valueAt(layer, at)) || "-"}`),
  ];
}

function tipLines(chart, hit, x, y) {
  if (hit !== null) return describeHit(chart, hit);
  const tile = tileLines(chart, x, y);
  if (tile) return tile;
  return chart.x.kind === "time" ? [] : curveLines(chart, chart.toX.invert(x));
}

function describeHit(chart, hit) {
  const [name, ...more] = pointed.describe(chart.hits.rows[hit]);
  const lines = [name];
  const layer = chart.hits.layers[hit];
  if (layer.kind === "dots" && !layer.foot) {
    lines.push(`${chart.y.label}: ${chart.y.text(chart.toY.invert(chart.hits.y[hit]))}`);
    lines.push(`${chart.x.label}: ${chart.x.text(chart.toX.invert(chart.hits.x[hit]))}`);
  }
  return lines.concat(more);
}

const insideArea = (chart, x) => Math.min(Math.max(x, chart.area.left), chart.area.right);

// Shows what is at a place of the chart: the near dot, the cursor, the tip.
function pointAt(chart, event, within, isAbove) {
  chart.near = nearestHit(chart, event.offsetX, event.offsetY, within);
  tipAt(event, tipLines(chart, chart.near, event.offsetX, event.offsetY), isAbove);
  if (chart.x.kind === "time") showCursor(chart.toX.invert(insideArea(chart, event.offsetX)));
  else chart.drawCursor();
}

function pointNowhere(chart) {
  chart.near = null;
  hideTip();
  if (chart.x.kind === "time") showCursor(null);
  else chart.drawCursor();
}

function followPointer(chart) {
  const canvas = chart.over;
  const isTime = chart.x.kind === "time";
  const ofMouse = (act) => (event) => {
    if (event.pointerType !== "touch" && chart.area) act(event);
  };

  canvas.addEventListener(
    "pointermove",
    ofMouse((event) => {
      if (chart.drag) {
        chart.drag[1] = insideArea(chart, event.offsetX);
        chart.near = null;
        hideTip();
        showCursor(chart.toX.invert(chart.drag[1]));
        return;
      }
      pointAt(chart, event, reach.mouse);
      canvas.style.cursor = chart.near !== null ? "pointer" : isTime ? "crosshair" : "default";
    }),
  );
  canvas.addEventListener(
    "pointerleave",
    ofMouse(() => {
      if (!chart.drag) pointNowhere(chart);
    }),
  );
  canvas.addEventListener(
    "pointerdown",
    ofMouse((event) => {
      if (event.button !== 0) return;
      chart.pressed = event.offsetX;
      if (!isTime) return;
      chart.drag = [insideArea(chart, event.offsetX), insideArea(chart, event.offsetX)];
      canvas.setPointerCapture(event.pointerId);
    }),
  );
  canvas.addEventListener(
    "pointerup",
    ofMouse((event) => {
      const drag = chart.drag;
      chart.drag = null;
      if (event.button !== 0) return;
      if (drag && Math.abs(drag[1] - drag[0]) >= tapped) {
        const [low, high] = [Math.min(...drag), Math.max(...drag)].map((x) => chart.toX.invert(x));
        showTime(low, high);
        return;
      }
      const hit = nearestHit(chart, event.offsetX, event.offsetY);
      if (hit !== null && Math.abs(event.offsetX - chart.pressed) < tapped)
        pointed.open(chart.hits.rows[hit]);
      chart.drawCursor();
    }),
  );
  canvas.addEventListener("pointercancel", () => {
    chart.drag = null;
    chart.drawCursor();
  });
  if (isTime) canvas.addEventListener("dblclick", () => showTime(...clock.full));
}
