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
const tailAxis = () =>
  axis(
    "tail",
    "percentile",
    (at) => `p${+(100 * at).toFixed(4)}`,
    (at) => `p${+(100 * at).toFixed(3)}`,
    { from: 0 },
  );
// Of the time that is chosen: its name is asked for at each drawing.
const chosenTimeAxis = (nameOf) => ({
  ...durationAxis("log"),
  get label() {
    return nameOf();
  },
});

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

// Which time the charts below draw: a button for each, and what is said of the one that is chosen.
function timeChoice(label, times, first, choose) {
  const box = make("div", { class: "choice", role: "group", "aria-label": label });
  const said = make("span", {}, first.said);
  for (const one of times) {
    const button = pushButton(one.name, () => {
      for (const other of box.querySelectorAll("button"))
        other.setAttribute("aria-pressed", String(other === button));
      said.textContent = one.said;
      choose(one);
    }, { "aria-pressed": String(one === first) });
    box.append(button);
  }
  box.append(said);
  return box;
}

const addLine = (part, text) => part.append(make("p", { class: "none" }, text));
