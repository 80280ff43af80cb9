// Elements, and numbers as people read them. What came from outside is only ever set as text.

// Characters that cannot be seen, or turn the text beside them around, stand as their number.
const visible = (text) =>
  text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (one) => `\\u${one.codePointAt(0).toString(16).padStart(4, "0")}`);

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : visible(String(value)));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) element.append(child instanceof Node ? child : visible(String(child)));
  }
  return element;
}

const pushButton = (text, onclick, more) => make("button", { type: "button", onclick, ...more }, text);

const groups = d3.format(",");
const whole = (value) => groups(Math.round(value));

// Three digits that matter, thousands with commas.
function digits(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "-";
  const size = Math.abs(value);
  if (size >= 100 || Number.isInteger(value)) return whole(value);
  return value.toFixed(size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

// Nanoseconds with the unit that fits.
function duration(ns) {
  if (ns === null || ns === undefined || Number.isNaN(ns)) return "-";
  const size = Math.abs(ns);
  if (size >= 1e9) return `${digits(ns / 1e9)} s`;
  if (size >= 1e6) return `${digits(ns / 1e6)} ms`;
  if (size >= 1e3) return `${digits(ns / 1e3)} us`;
  return `${whole(ns)} ns`;
}

// Ticks of a log axis in ns, without needless digits: "20 ms".
function roundDuration(ns) {
  if (ns === 0) return "0";
  const [unit, name] = ns >= 1e9 ? [1e9, "s"] : ns >= 1e6 ? [1e6, "ms"] : ns >= 1e3 ? [1e3, "us"] : [1, "ns"];
  return `${+(ns / unit).toPrecision(3)} ${name}`;
}

// 1500 as "1.5k".
function short(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1) return `${+value.toPrecision(2)}`;
  if (size < 1000) return `${+value.toPrecision(4)}`;
  return d3.format(".3~s")(value);
}

// Seconds from time 0, as exact as the span that is shown.
function clockText(seconds, span) {
  return `${seconds.toFixed(span > 500 ? 0 : span > 50 ? 1 : span > 5 ? 2 : span > 0.5 ? 3 : 6)} s`;
}

const count = (value) => (value === null || Number.isNaN(value) ? "-" : whole(value));
const share = (part, all) => (all > 0 ? `${((100 * part) / all).toFixed(part === all ? 0 : 2)} %` : "-");
const plural = (count, one, many) => `${whole(count)} ${count === 1 ? one : many}`;

// Columns of numbers stand to the right, all others to the left.
function table(heads, rows, attributes = {}) {
  const isNumber = (cell) => typeof cell === "number" || (typeof cell === "string" && /^[-+]?\d|^-$/.test(cell));
  const isNumeric = (_, i) => i > 0 && rows.every((cells) => isNumber(cells[i]));
  const sides = heads.map((head, i) => (isNumeric(head, i) ? "n" : ""));
  const head = make(
    "tr",
    {},
    heads.map((text, i) => make("th", { scope: "col", class: sides[i] }, text)),
  );
  const body = rows.map((cells) =>
    make(
      "tr",
      {},
      cells.map((cell, i) => {
        if (cell instanceof Node) return make("td", {}, cell);
        return i === 0
          ? make("th", { scope: "row" }, String(cell))
          : make("td", { class: sides[i] }, String(cell));
      }),
    ),
  );
  return make(
    "div",
    { class: "scroll" },
    make("table", attributes, make("thead", {}, head), make("tbody", {}, body)),
  );
}
