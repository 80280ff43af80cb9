// What the parts of a page are made of: axes with their units, sections, lines. Knows no run.

const timeAxis = {
  kind: "time",
  label: "time since the start (s)",
  tick: (value) => `${+value.toPrecision(7)}`,
  text: (value) => clockText(value, clock.to - clock.from),
};
const axis = (kind, label, tick, text, more) => ({ kind, label, tick, text: text || tick, ...more });
const durationAxis = (kind, label, more) => axis(kind, label, roundDuration, duration, more);
const percentAxis = (label, more) =>
  axis(
    "linear",
    label,
    (value) => `${+(100 * value).toFixed(1)} %`,
    (value) => `${(100 * value).toFixed(1)} %`,
    { from: 0, ...more },
  );
const countAxis = (kind, label, more) => axis(kind, label, short, digits, more);

// A part of the page: its heading and a place for its charts.
function addPart(name, title, lead) {
  const part = make(
    "section",
    { id: name },
    make("h2", {}, title),
    lead ? make("p", { class: "lead" }, lead) : null,
  );
  const grid = make("div", { class: "charts" });
  part.append(grid);
  document.getElementById("parts").append(part);
  part.grid = grid;
  return part;
}

const addLine = (part, text) => part.append(make("p", { class: "none" }, text));
