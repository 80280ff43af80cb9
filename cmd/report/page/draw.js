// How the layers of a chart look, and the marks that all time charts have.

const dotSize = 3;

const drawers = {
  dots(chart, pen, layer) {
    pen.fillStyle = colour(layer.color);
    pen.globalAlpha = layer.x.length > 2000 ? 0.45 : 0.75;
    const size = layer.size || dotSize;
    const floor = chart.area.bottom - 4;
    for (let i = 0; i < layer.x.length; i++) {
      // Without a value, at the foot: every record has its dot.
      const x = chart.toX(layer.x[i]);
      const y = layer.foot ? floor : chart.toY(layer.y[i]);
      if (Number.isNaN(x) || Number.isNaN(y)) continue;
      if (layer.foot) pen.fillRect(x - 1, floor - 3, 2, 7);
      else pen.fillRect(x - size / 2, y - size / 2, size, size);
      chart.hits.x.push(x);
      chart.hits.y.push(y);
      chart.hits.rows.push(layer.rows[i]);
      chart.hits.layers.push(layer);
    }
    pen.globalAlpha = 1;
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
      pen.fillRect(x0, y - height / 2, Math.max(1.5, x1 - x0), height);
      const middle = (Math.max(x0, chart.area.left) + Math.min(x1, chart.area.right)) / 2;
      chart.hits.x.push(middle);
      chart.hits.y.push(y);
      chart.hits.rows.push(layer.rows[i]);
      chart.hits.layers.push(layer);
    }
  },

  // A straight line over the whole chart, with its name beside it.
  rule(chart, pen, layer) {
    pen.strokeStyle = colour(layer.color);
    pen.setLineDash(layer.color === "grid" ? [] : [4, 4]);
    pen.beginPath();
    if (layer.at !== undefined) {
      const x = chart.toX(layer.at);
      pen.moveTo(x, chart.area.top);
      pen.lineTo(x, chart.area.bottom);
    } else if (layer.level !== undefined) {
      const y = chart.toY(layer.level);
      pen.moveTo(chart.area.left, y);
      pen.lineTo(chart.area.right, y);
    } else {  // equal values on both axes
      const [low, high] = [Math.max(chart.xDomain[0], chart.yDomain[0]), Math.min(chart.xDomain[1], chart.yDomain[1])];
      pen.moveTo(chart.toX(low), chart.toY(low));
      pen.lineTo(chart.toX(high), chart.toY(high));
    }
    pen.stroke();
    pen.setLineDash([]);
  },
};

// Stretches (the warm-up, the drain) and instants (events, resumed segments): {from, to, name} or
// {at, name}, in seconds.
const timeMarks = [];

function drawMarks(chart, pen) {
  const { top, bottom } = chart.area;
  pen.font = `10px ${getComputedStyle(document.body).fontFamily}`;
  pen.textAlign = "left";
  pen.textBaseline = "top";
  for (const mark of timeMarks) {
    const x = chart.toX(mark.at === undefined ? mark.from : mark.at);
    if (mark.at === undefined) {
      pen.fillStyle = colour("shade");
      pen.fillRect(x, top, chart.toX(mark.to) - x, bottom - top);
    } else {
      pen.strokeStyle = colour("purple");
      pen.beginPath();
      pen.moveTo(Math.round(x) + 0.5, top);
      pen.lineTo(Math.round(x) + 0.5, bottom);
      pen.stroke();
    }
    pen.fillStyle = colour("soft");
    pen.fillText(mark.name, Math.max(x, chart.area.left) + 3, top + 1);
  }
}
