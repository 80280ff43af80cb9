// Points of many runs in two figures, and the frontiers that they make: how they look on a chart.

const looks = ["blue", "green", "orange", "red", "purple", "grey"];
const shapes = ["circle", "square", "triangle", "diamond", "plus", "wedge"];
const glyphs = { circle: "●", square: "■", triangle: "▲", diamond: "◆", plus: "✚", wedge: "▼" };
const labelledPoints = 40; // with more of them no point has its name beside it

// Each group has a colour and a shape of its own; after six the shapes go on by one.
const lookOf = (group) => ({
  color: looks[group % looks.length],
  shape: shapes[(group + Math.floor(group / looks.length)) % shapes.length],
});

const outlines = {
  circle: (pen, x, y, r) => pen.arc(x, y, r, 0, 2 * Math.PI),
  square: (pen, x, y, r) => pen.rect(x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8),
  triangle: (pen, x, y, r) => polygon(pen, x, y, r, [0, -1.2], [1.1, 0.8], [-1.1, 0.8]),
  wedge: (pen, x, y, r) => polygon(pen, x, y, r, [0, 1.2], [-1.1, -0.8], [1.1, -0.8]),
  diamond: (pen, x, y, r) => polygon(pen, x, y, r, [0, -1.3], [1.1, 0], [0, 1.3], [-1.1, 0]),
  plus: (pen, x, y, r) => {
    pen.rect(x - r * 1.2, y - r * 0.4, r * 2.4, r * 0.8);
    pen.rect(x - r * 0.4, y - r * 1.2, r * 0.8, r * 2.4);
  },
};

function polygon(pen, x, y, r, ...corners) {
  corners.forEach(([dx, dy], i) => {
    if (i === 0) pen.moveTo(x + r * dx, y + r * dy);
    else pen.lineTo(x + r * dx, y + r * dy);
  });
  pen.closePath();
}

// From the lowest to the highest of the repeats.
function drawErrorBar(chart, pen, layer, i) {
  const [x, y] = [chart.toX(layer.x[i]), chart.toY(layer.y[i])];
  const [left, right] = [chart.toX(layer.xLow[i]), chart.toX(layer.xHigh[i])];
  const [bottom, top] = [chart.toY(layer.yLow[i]), chart.toY(layer.yHigh[i])];
  pen.beginPath();
  if (right - left > 1) {
    segment(pen, left, y, right, y);
    for (const end of [left, right]) segment(pen, end, y - 3, end, y + 3);
  }
  if (bottom - top > 1) {
    segment(pen, x, bottom, x, top);
    for (const end of [bottom, top]) segment(pen, x - 3, end, x + 3, end);
  }
  pen.stroke();
}

// Beside its point, unless another label stands there.
function drawLabel(chart, pen, text, x, y) {
  const box = { left: x, right: x + pen.measureText(text).width, bottom: y, top: y - 11 };
  const isTaken = chart.hits.boxes.some(
    (one) => one.left < box.right && box.left < one.right && one.top < box.bottom && box.top < one.bottom,
  );
  if (isTaken) return;
  chart.hits.boxes.push(box);
  pen.fillStyle = colour("soft");
  pen.fillText(text, x, y);
}

// Filled: on the frontier of its group; pale: too few values for the percentile.
drawers.points = (chart, pen, layer) => {
  pen.font = `10px ${getComputedStyle(document.body).fontFamily}`;
  pen.textAlign = "left";
  pen.textBaseline = "bottom";
  chart.hits.boxes ??= [];
  for (let i = 0; i < layer.x.length; i++) {
    const [x, y] = [chart.toX(layer.x[i]), chart.toY(layer.y[i])];
    pen.globalAlpha = layer.isPale[i] ? 0.45 : 1;
    pen.strokeStyle = pen.fillStyle = colour(layer.color);
    pen.lineWidth = 1.2;
    drawErrorBar(chart, pen, layer, i);
    pen.lineWidth = 1.8;
    pen.beginPath();
    outlines[layer.shape](pen, x, y, 4.5);
    if (!layer.isFilled[i]) pen.fillStyle = colour("paper");
    pen.fill();
    pen.stroke();
    if (layer.labels) drawLabel(chart, pen, shortened(pen, layer.labels[i], 90), x + 7, y - 4);
    addHit(chart, layer, i, x, y);
  }
  pen.globalAlpha = pen.lineWidth = 1;
};

// The stairs of a frontier, whose points come from the best x on.
function stairs(points) {
  const corners = points.flatMap((point, i) => (i > 0 ? [{ x: point.x, y: points[i - 1].y }, point] : [point]));
  return { x: corners.map(({ x }) => x), y: corners.map(({ y }) => y) };
}

// The layers of one chart; `rowOf(i)` is what a click on its point i opens, `labelOf(i)` its name.
function frontierLayers(one, rowOf, labelOf) {
  const [sx, sy] = [scaleOf(one.x), scaleOf(one.y)];
  const at = (i) => ({ x: one.points[i].x.mean * sx, y: one.points[i].y.mean * sy });
  const layers = [];
  if (one.groups.length > 1) {
    layers.push({ kind: "line", ...stairs(one.frontier.map(at)), color: "axis", dash: true, name: "all" });
  }
  one.groups.forEach((group, g) => {
    const { color, shape } = lookOf(g);
    layers.push({ kind: "line", ...stairs(group.frontier.map(at)), color });
    const mine = [...one.points.keys()].filter((i) => one.points[i].group === g);
    const of = (read) => mine.map((i) => read(one.points[i]));
    const layer = {
      kind: "points",
      name: `${glyphs[shape]} ${groupName(group)}`,
      color,
      shape,
      x: of((point) => point.x.mean * sx),
      y: of((point) => point.y.mean * sy),
      xLow: of((point) => point.x.low * sx),
      xHigh: of((point) => point.x.high * sx),
      yLow: of((point) => point.y.low * sy),
      yHigh: of((point) => point.y.high * sy),
      isFilled: of((point) => point.on_frontier),
      isPale: of((point) => point.x.below_floor || point.y.below_floor),
      rows: mine.map(rowOf),
      labels: one.points.length <= labelledPoints ? mine.map(labelOf) : null,
    };
    layer.reach = { x: [...layer.xLow, ...layer.xHigh], y: [...layer.yLow, ...layer.yHigh] };
    layers.push(layer);
  });
  return layers;
}

// A name, as a link where there is one.
const linkOr = (link, name) => (link ? make("a", { href: link }, name) : make("span", {}, name));

// Times stand in ms in the data, and axes of times count in ns.
const scaleOf = (figure) => (figure.unit === "ms" ? 1e6 : 1);

// As a value of this figure is read.
function figureText(figure, value) {
  if (value === null || value === undefined) return "-";
  if (figure.unit === "ms") return duration(value * 1e6);
  if (figure.unit === "share") return `${(100 * value).toFixed(2)} %`;
  return figure.unit ? `${digits(value)} ${figure.unit}` : digits(value);
}

// Logarithmic where the values lie far apart.
function frontierAxis(figure, values) {
  const isSaid = ["", "ms", "share"].includes(figure.unit) || figure.title.includes("/s");
  const unit = isSaid ? "" : ` (${figure.unit})`;
  const label = `${figure.title}${unit}, ${figure.better === "low" ? "less" : "more"} is better`;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const kind = low > 0 && high / low > 10 ? "log" : "linear";
  if (figure.unit === "ms") return durationAxis(kind, label);
  if (figure.unit === "share") return percentAxis(label);
  return countAxis(kind, label);
}
