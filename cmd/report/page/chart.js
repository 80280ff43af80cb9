// Chart: one drawing on a canvas with two axes. Its layers are plain data, made anew for each stretch
// of time that is shown. d3 gives scales, ticks and formats; everything else is drawn here.
//
// Layers: dots {x, y, rows}, line and steps {x, y, name}, bars {x0, x1, y}, spans {x0, x1, lane, rows},
// rule {at or level, name}, ring {x, y}, tiles. `rows` are what a click opens: `pointed` says what they are.
// A layer with a `reach` {x, y} says itself what its axes must hold.

const margin = { left: 70, right: 14, top: 10, bottom: 40 };
const charts = [];

// The stretch of time that all time charts show, in seconds from time 0, and the one cursor.
const clock = { full: [0, 1], from: 0, to: 1, cursor: null };

function showTime(from, to) {
  const [first, last] = clock.full;
  const least = (last - first) / 1e6;
  const [low, high] = [Math.max(first, from), Math.min(last, to)];
  if (!(high - low >= least)) return;
  [clock.from, clock.to] = [low, high];
  for (const chart of charts) chart.refreshSoon();
  document.dispatchEvent(new Event("zoom"));
}

function showCursor(at) {
  clock.cursor = at;
  for (const chart of charts) if (chart.x.kind === "time" && chart.isNear) chart.drawCursor();
}

const isOnPaper = () => document.documentElement.classList.contains("paper");
const isZoomed = () => clock.from > clock.full[0] || clock.to < clock.full[1];
const inWindow = (at) => at >= clock.from && at <= clock.to;

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// Ticks of a log axis: powers of ten, or with 2 and 5, or all digits, or as on a linear axis: the first
// that fills it.
function logTicks([low, high], wanted) {
  if (high / low < 5) return d3.scaleLinear().domain([low, high]).ticks(wanted);
  const all = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (let digit = 1; digit < 10; digit++) all.push({ digit, value: digit * 10 ** power });
  }
  const inside = all.filter(({ value }) => value >= low && value <= high);
  const having = (...digits) =>
    inside.filter(({ digit }) => digits.includes(digit)).map(({ value }) => value);
  const fitting = [having(1, 2, 3, 4, 5, 6, 7, 8, 9), having(1, 2, 5), having(1, 3), having(1)].find(
    (ticks) => ticks.length <= wanted + 1,
  );
  if (fitting) return fitting;
  const decades = having(1);
  return decades.filter((_, i) => i % Math.ceil(decades.length / wanted) === 0);
}

class Chart {
  // spec: {title, note, x, y, layers, height}; axes {label, kind, tick, text, from, to}: kind is time,
  // linear, log, root (of squares) or tail (percentiles); `tick` writes ticks, `text` a value under the pointer;
  // `isWhole`: of things that are counted.
  constructor(host, spec) {
    Object.assign(this, spec);
    this.legend = make("div", { class: "legend" });
    this.canvas = make("canvas", { "aria-hidden": "true" });
    this.over = make("canvas", {
      class: spec.x.kind === "time" ? "over time" : "over",
      tabindex: "0",
      role: "group",
      "aria-roledescription": "chart",
      "aria-label": `${spec.title}: ${spec.note || ""}`,
    });
    this.box = make("div", { class: "box" }, this.canvas, this.over);
    this.box.style.height = `${spec.height || 220}px`;
    this.figure = make(
      "figure",
      { class: spec.wide ? "wide" : "" },
      make("figcaption", {}, make("h3", {}, spec.title), spec.note ? make("p", {}, spec.note) : null),
      this.legend,
      this.box,
    );
    host.append(this.figure);
    charts.push(this);
    followPointer(this);
    followFingers(this);
    followKeys(this);
    new ResizeObserver(() => {
      // On paper it stays as it is, and is made narrower as a whole: what is drawn now comes too late for it.
      if (this.current && this.box.clientWidth !== this.width && !isOnPaper()) this.draw();
    }).observe(this.box);
    // Only what can be seen follows the zoom at once.
    this.isNear = true;
    this.isStale = false;
    this.near = null; // the dot under the pointer: a place in `hits`
    new IntersectionObserver(
      ([entry]) => {
        this.isNear = entry.isIntersecting;
        if (this.isNear && this.isStale) this.refresh();
      },
      { rootMargin: "200px" },
    ).observe(this.box);
  }

  refreshSoon() {
    this.isStale = true;
    if (this.isNear) this.refresh();
  }

  // The data of its layers for the time that is shown, and the drawing.
  refresh() {
    this.isStale = false;
    this.current = this.layers(clock.from, clock.to).filter(Boolean);
    this.scaleAxes();
    this.writeLegend();
    this.draw();
  }

  scaleAxes() {
    this.xDomain = this.x.kind === "time" ? [clock.from, clock.to] : this.domainOf("x");
    this.yDomain = this.domainOf("y");
  }

  domainOf(side) {
    const axis = this[side];
    let low = Infinity;
    let high = -Infinity;
    const take = (values) => {
      for (let i = 0; i < values.length; i++) {
        const value = values[i];
        if (Number.isNaN(value) || (axis.kind === "log" && value <= 0)) continue;
        if (value < low) low = value;
        if (value > high) high = value;
      }
    };
    for (const layer of this.current) {
      if (layer.kind === "rule" && side === "x" && layer.at !== undefined) {
        take([layer.at]);
      } else if (layer.reach) {
        take(layer.reach[side]);
      } else if (["dots", "line", "steps", "ring"].includes(layer.kind)) {
        take(side === "y" && this.x.kind === "time" ? this.shown(layer) : layer[side]);
      } else if (layer.kind === "bars") {
        for (const values of side === "y" ? [layer.y] : [layer.x0, layer.x1]) take(values);
      }
    }
    if (axis.kind === "linear") low = Math.min(0, low);
    if (axis.from !== undefined) low = axis.from;
    if (axis.to !== undefined) high = axis.to;
    if (axis.from > axis.to) return [axis.from, axis.to]; // upside down
    if (!(high > low)) {
      if (low === Infinity) [low, high] = axis.kind === "log" ? [1, 10] : [0, 1];
      else if (axis.kind === "log") [low, high] = [low / 2, low * 2];
      else [low, high] = [Math.min(0, low), Math.max(1, low * 1.1)];
    }
    if (axis.kind === "log" && axis.from === undefined) [low, high] = [low / 1.15, high * 1.15];
    else if (axis.kind === "linear" && axis.to === undefined) high *= 1.06;
    return [low, high];
  }

  // The values of y whose x is in the window, with one neighbour on either side of a curve.
  shown(layer) {
    const values = [];
    for (let i = 0; i < layer.x.length; i++) {
      const next = layer.kind === "dots" ? layer.x[i] : layer.x[Math.min(i + 1, layer.x.length - 1)];
      if (next >= clock.from && layer.x[i] <= clock.to) values.push(layer.y[i]);
    }
    return values;
  }

  scale(side, domain, range) {
    const kind = this[side].kind;
    if (kind === "log") return d3.scaleLog().domain(domain).range(range);
    if (kind === "root") return d3.scalePow().exponent(0.5).domain(domain).range(range);
    if (kind === "tail") {
      const log = d3
        .scaleLog()
        .domain([1 - domain[1], 1 - domain[0]])
        .range([range[1], range[0]]);
      const scale = (value) => log(Math.max(1 - value, 1 - domain[1]));
      scale.invert = (at) => 1 - log.invert(at);
      return scale;
    }
    return d3.scaleLinear().domain(domain).range(range);
  }

  ticks(side, scale, pixels) {
    const axis = this[side];
    if (axis.kind === "tail") {
      return [0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999].filter((value) => value <= this.xDomain[1]);
    }
    const wanted = Math.max(2, Math.floor(pixels / (side === "x" ? 84 : 42)));
    if (axis.kind === "root") {
      const roots = d3.ticks(0, Math.sqrt(Math.max(...scale.domain())), wanted).slice(1);
      return [0, ...new Set(roots.map((root) => +(root * root).toPrecision(1)))];
    }
    if (axis.kind !== "log")
      return scale.ticks(wanted).filter((value) => !axis.isWhole || Number.isInteger(value));
    return logTicks(scale.domain(), wanted);
  }

  draw() {
    if (!this.current) return;
    const width = (this.width = this.box.clientWidth);
    const height = this.box.clientHeight;
    if (width === 0) return;
    const dense = window.devicePixelRatio || 1;
    for (const canvas of [this.canvas, this.over]) {
      canvas.width = Math.round(width * dense);
      canvas.height = Math.round(height * dense);
    }
    const pen = this.canvas.getContext("2d");
    pen.setTransform(dense, 0, 0, dense, 0, 0);
    this.area = {
      left: margin.left,
      right: width - margin.right,
      top: margin.top,
      bottom: height - margin.bottom,
    };
    this.toX = this.scale("x", this.xDomain, [this.area.left, this.area.right]);
    this.toY = this.scale("y", this.yDomain, [this.area.bottom, this.area.top]);
    this.drawAxes(pen);
    pen.save();
    pen.beginPath();
    pen.rect(
      this.area.left - 3,
      this.area.top - 3,
      this.area.right - this.area.left + 6,
      this.area.bottom - this.area.top + 6,
    );
    pen.clip();
    if (this.x.kind === "time") drawMarks(this, pen);
    const nearRow = this.near === null ? -1 : this.hits.rows[this.near];
    this.hits = { x: [], y: [], rows: [], layers: [] };
    this.hitOrder = null;
    for (const layer of this.current) drawers[layer.kind](this, pen, layer);
    pen.restore();
    const near = this.hits.rows.indexOf(nearRow);
    this.near = near < 0 ? null : near;
    this.canvas.dataset.points = this.hits.x.length;
    this.drawCursor();
  }

  drawAxes(pen) {
    const { left, right, top, bottom } = this.area;
    pen.font = `11px ${getComputedStyle(document.body).fontFamily}`;
    pen.lineWidth = 1;
    pen.strokeStyle = colour("grid");
    pen.fillStyle = colour("soft");
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    const yTicks = this.y.kind === "lanes" ? [] : this.ticks("y", this.toY, bottom - top);
    pen.beginPath();
    for (const value of yTicks) {
      const y = Math.round(this.toY(value)) + 0.5;
      segment(pen, left, y, right, y);
      pen.fillText(this.y.tick(value), left - 8, y);
    }
    pen.stroke();
    pen.textBaseline = "top";
    pen.textAlign = "center";
    pen.beginPath();
    let end = -Infinity; // of the last text
    for (const value of this.ticks("x", this.toX, right - left)) {
      const x = Math.round(this.toX(value)) + 0.5;
      segment(pen, x, top, x, bottom + 4);
      const text = this.x.tick(value);
      const half = pen.measureText(text).width / 2;
      const middle = Math.min(Math.max(x, half + 2), right + margin.right - half - 1);
      if (middle - half < end + 6) continue;
      pen.fillText(text, middle, bottom + 8);
      end = middle + half;
    }
    pen.stroke();
    pen.strokeStyle = colour("axis");
    pen.beginPath();
    pen.moveTo(left + 0.5, top);
    pen.lineTo(left + 0.5, bottom + 0.5);
    pen.lineTo(right, bottom + 0.5);
    pen.stroke();
    pen.fillText(this.x.label, (left + right) / 2, bottom + 24);
    pen.save();
    pen.translate(11, (top + bottom) / 2);
    pen.rotate(-Math.PI / 2);
    pen.textBaseline = "middle";
    pen.fillText(this.y.label, 0, 0);
    pen.restore();
  }

  writeLegend() {
    const named = this.current.filter((layer) => layer.name);
    this.legend.replaceChildren(
      ...named.map((layer) => {
        const key = make("i", { class: `key ${layer.kind === "dots" ? "dot" : layer.dash ? "dash" : ""}` });
        key.style.color = `var(--${layer.color})`;
        layer.reading = make("b", {});
        return make("span", {}, key, `${layer.name} `, layer.reading);
      }),
    );
  }

  // The value of a curve at an instant, or NaN.
  valueAt(layer, at) {
    const place = d3.bisectRight(layer.x, at) - 1;
    if (place < 0 || place >= layer.x.length) return NaN;
    if (layer.kind === "steps") return at > layer.x[layer.x.length - 1] ? NaN : layer.y[place];
    const near =
      place + 1 < layer.x.length && layer.x[place + 1] - at < at - layer.x[place] ? place + 1 : place;
    return layer.y[near];
  }

  drawCursor() {
    if (!this.area) return;
    const pen = this.over.getContext("2d");
    const dense = window.devicePixelRatio || 1;
    pen.setTransform(dense, 0, 0, dense, 0, 0);
    pen.clearRect(0, 0, this.over.width, this.over.height);
    const at = this.x.kind === "time" ? clock.cursor : null;
    for (const layer of this.current) {
      if (!layer.reading || layer.kind === "dots" || layer.kind === "bars") continue;
      layer.reading.textContent = at === null || !layer.x ? "" : this.reading(this.valueAt(layer, at));
    }
    if (at !== null && inWindow(at)) {
      pen.strokeStyle = colour("ink");
      pen.setLineDash([3, 3]);
      pen.beginPath();
      const x = Math.round(this.toX(at)) + 0.5;
      segment(pen, x, this.area.top, x, this.area.bottom);
      pen.stroke();
      pen.setLineDash([]);
    }
    if (this.drag) {
      const [low, high] = [Math.min(...this.drag), Math.max(...this.drag)];
      pen.fillStyle = colour("select");
      pen.fillRect(low, this.area.top, high - low, this.area.bottom - this.area.top);
    }
    if (this.near !== null) {
      pen.strokeStyle = colour("ink");
      pen.lineWidth = 2;
      pen.beginPath();
      pen.arc(this.hits.x[this.near], this.hits.y[this.near], 5, 0, 2 * Math.PI);
      pen.stroke();
      pen.lineWidth = 1;
    }
  }

  // Places of `hits`, left to right.
  hitsInOrder() {
    const { x, y } = this.hits;
    this.hitOrder ??= [...x.keys()].sort((a, b) => x[a] - x[b] || y[b] - y[a]);
    return this.hitOrder;
  }

  reading(value) {
    return Number.isNaN(value) ? "" : this.y.text(value);
  }
}
