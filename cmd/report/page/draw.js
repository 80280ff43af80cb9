// How the layers of a chart look, and the marks that all time charts have.

const dotSize = 3;
const paleShare = 0.15; // of the ink of dots that are not marked, where some are

// Rows that stand out in all charts, until others do: `has[row]` is 1. Null: none.
const marked = { has: null, name: "" };

function markRows(name, has) {
  Object.assign(marked, { name, has });
  for (const chart of charts) chart.refreshSoon();
  document.dispatchEvent(new Event("mark"));
}

// The place of row i of a layer, which a click there opens.
function addHit(chart, layer, i, x, y) {
  chart.hits.x.push(x);
  chart.hits.y.push(y);
  chart.hits.rows.push(layer.rows[i]);
  chart.hits.layers.push(layer);
}

// A straight line of the path that is open.
function segment(pen, x0, y0, x1, y1) {
  pen.moveTo(x0, y0);
  pen.lineTo(x1, y1);
}

const drawers = {
  dots(chart, pen, layer) {
    pen.fillStyle = colour(layer.color);
    pen.globalAlpha = marked.has ? paleShare : layer.x.length > 2000 ? 0.45 : 0.75;
    const size = layer.size || dotSize;
    const floor = chart.area.bottom - 4;
    const above = [];
    const dot = (x, y, size) => {
      if (layer.foot) pen.fillRect(x - 1, floor - 3, 2, 7);
      else pen.fillRect(x - size / 2, y - size / 2, size, size);
    };
    for (let i = 0; i < layer.x.length; i++) {
      // Without a value, at the foot: every record has its dot.
      const x = chart.toX(layer.x[i]);
      const y = layer.foot ? floor : chart.toY(layer.y[i]);
      if (Number.isNaN(x) || Number.isNaN(y)) continue;
      if (marked.has && marked.has[layer.rows[i]]) above.push([x, y]);
      else dot(x, y, size);
      addHit(chart, layer, i, x, y);
    }
    pen.globalAlpha = 1;
    pen.fillStyle = colour("mark");
    for (const [x, y] of above) dot(x, y, size + 2);
  },

  line(chart, pen, layer) {
    pen.strokeStyle = colour(layer.color);
    pen.lineWidth = layer.width || 1.8;
    pen.setLineDash(layer.dash ? [5, 4] : []);
    pen.beginPath();
    let open = false;
    for (let i = 0; i < layer.x.length; i++) {
      if (Number.isNaN(layer.y[i])) {
        open = false;
        continue;
      }
      const x = chart.toX(layer.x[i]);
      const y = chart.toY(layer.y[i]);
      if (open) {
        pen.lineTo(x, y);
      } else {
        const alone = i + 1 >= layer.x.length || Number.isNaN(layer.y[i + 1]);
        pen.moveTo(alone ? x - 2 : x, y);
        if (alone) pen.lineTo(x + 2, y);
      }
      open = true;
    }
    pen.stroke();
    pen.setLineDash([]);
    pen.lineWidth = 1;
  },

  steps(chart, pen, layer) {
    pen.strokeStyle = colour(layer.color);
    pen.lineWidth = layer.width || 1.6;
    pen.setLineDash(layer.dash ? [5, 4] : []);
    pen.beginPath();
    let y = 0;
    let open = false;
    for (let i = 0; i < layer.x.length; i++) {
      const x = chart.toX(layer.x[i]);
      if (open) pen.lineTo(x, y);
      open = !Number.isNaN(layer.y[i]);
      if (!open) continue;
      y = chart.toY(layer.y[i]);
      if (i === 0 || Number.isNaN(layer.y[i - 1])) pen.moveTo(x, y);
      else pen.lineTo(x, y);
    }
    pen.stroke();
    pen.setLineDash([]);
    pen.lineWidth = 1;
  },

  bars(chart, pen, layer) {
    pen.fillStyle = colour(layer.color);
    pen.globalAlpha = 0.85;
    for (let i = 0; i < layer.y.length; i++) {
      if (!(layer.y[i] > 0)) continue;
      const x0 = chart.toX(layer.x0[i]);
      const x1 = chart.toX(layer.x1[i]);
      const base = layer.base ? chart.toY(layer.base[i]) : chart.toY(chart.yDomain[0]);
      const top = chart.toY(layer.y[i]);
      pen.fillRect(x0 + 0.5, top, Math.max(1, x1 - x0 - 1), base - top);
    }
    pen.globalAlpha = 1;
  },

  // One request each: a bar in its lane, which a click opens.
  spans(chart, pen, layer) {
    const pitch = chart.toY(0) - chart.toY(1);
    const height = Math.max(2, Math.min(12, pitch * 0.7));
    pen.fillStyle = colour(layer.color);
    for (let i = 0; i < layer.x0.length; i++) {
      const x0 = chart.toX(layer.x0[i]);
      const x1 = chart.toX(layer.x1[i]);
      const y = chart.toY(layer.lane[i] + 0.5);
      if (Number.isNaN(x1) || x1 < chart.area.left || x0 > chart.area.right) continue;
      pen.globalAlpha = !marked.has || marked.has[layer.rows[i]] ? 1 : 2 * paleShare;
      pen.fillRect(x0, y - height / 2, Math.max(1.5, x1 - x0), height);
      const middle = (Math.max(x0, chart.area.left) + Math.min(x1, chart.area.right)) / 2;
      addHit(chart, layer, i, middle, y);
    }
    pen.globalAlpha = 1;
  },

  // Rectangles, each filled as far as its share says; `describe` says what one is.
  tiles(chart, pen, layer) {
    layer.boxes = layer.tiles.map(({ x0, x1, y0, y1, fill }) => {
      const box = {
        x: chart.toX(x0),
        y: chart.toY(y0),
        width: chart.toX(x1) - chart.toX(x0),
        height: chart.toY(y1) - chart.toY(y0),
      };
      const gap = box.width > 3 ? 1 : 0;
      pen.fillStyle = colour(layer.under);
      pen.fillRect(box.x, box.y, Math.max(0.5, box.width - gap), Math.max(0.5, box.height - gap));
      pen.globalAlpha = fill;
      pen.fillStyle = colour(layer.color);
      pen.fillRect(box.x, box.y, Math.max(0.5, box.width - gap), Math.max(0.5, box.height - gap));
      pen.globalAlpha = 1;
      return box;
    });
  },

  // Places that are no rows.
  ring(chart, pen, layer) {
    pen.strokeStyle = colour(layer.color);
    pen.lineWidth = 2.5;
    for (let i = 0; i < layer.x.length; i++) {
      pen.beginPath();
      pen.arc(chart.toX(layer.x[i]), chart.toY(layer.y[i]), 5, 0, 2 * Math.PI);
      pen.stroke();
    }
    pen.lineWidth = 1;
  },

  // A straight line over the whole chart.
  rule(chart, pen, layer) {
    pen.strokeStyle = colour(layer.color);
    pen.setLineDash(layer.color === "grid" ? [] : [4, 4]);
    pen.beginPath();
    if (layer.at !== undefined) {
      const x = chart.toX(layer.at);
      segment(pen, x, chart.area.top, x, chart.area.bottom);
    } else if (layer.level !== undefined) {
      const y = chart.toY(layer.level);
      segment(pen, chart.area.left, y, chart.area.right, y);
    } else {
      // equal values on both axes
      const low = Math.max(chart.xDomain[0], chart.yDomain[0]);
      const high = Math.min(chart.xDomain[1], chart.yDomain[1]);
      segment(pen, chart.toX(low), chart.toY(low), chart.toX(high), chart.toY(high));
    }
    pen.stroke();
    pen.setLineDash([]);
  },
};

// Stretches (the warm-up, the steady part) and instants (events, resumed segments): {from, to, name} or
// {at, name}, in seconds; `color` of a stretch, or "shade".
const timeMarks = [];
const labelLines = 3; // of names that would lie over each other; more are left out

function drawMarks(chart, pen) {
  const { left, right, top, bottom } = chart.area;
  const ends = []; // of the last name in each line
  pen.font = `10px ${getComputedStyle(document.body).fontFamily}`;
  pen.textAlign = "left";
  pen.textBaseline = "top";
  const begins = (mark) => (mark.at === undefined ? mark.from : mark.at);
  for (const mark of [...timeMarks].sort((a, b) => begins(a) - begins(b))) {
    const x = chart.toX(begins(mark));
    const end = mark.at === undefined ? chart.toX(mark.to) : x;
    if (end < left || x > right) continue;
    if (mark.at === undefined) {
      pen.fillStyle = colour(mark.color || "shade");
      pen.fillRect(x, top, end - x, bottom - top);
    } else {
      pen.strokeStyle = colour("purple");
      pen.beginPath();
      segment(pen, Math.round(x) + 0.5, top, Math.round(x) + 0.5, bottom);
      pen.stroke();
    }
    const from = Math.max(x, left) + 3;
    const name = shortened(pen, visible(mark.name), 150);
    let line = 0;
    while (line < ends.length && ends[line] > from) line++;
    if (line >= labelLines) continue;
    ends[line] = from + pen.measureText(name).width + 6;
    pen.fillStyle = colour("soft");
    pen.fillText(name, from, top + 1 + 12 * line);
  }
}

// As much of a text as fits into so many pixels.
function shortened(pen, text, pixels) {
  if (pen.measureText(text).width <= pixels) return text;
  let kept = text.slice(0, 200);
  while (kept.length > 1 && pen.measureText(`${kept}..`).width > pixels) kept = kept.slice(0, -1);
  return `${kept}..`;
}
