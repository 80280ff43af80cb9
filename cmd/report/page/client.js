// Client: what this instrument itself did, so that a reader can tell its doing from the server's.

const causeColors = { none: "blue", wake: "orange", guard: "purple", prepare: "green", lane: "red" };

function addClient() {
  const part = addPart(
    "client",
    "Client",
    "What driftless itself did. Drift is fired minus due: how late a request left this program.",
  );
  addDrift(part);
  if (clientSeconds.rows === 0) {
    addLine(part, "There is no client.jsonl: the engine thread's activity is not known.");
    return;
  }
  addBusy(part);
  addWakes(part);
}

function addDrift(part) {
  const causes = requests.texts("late_cause");
  const drift = requests.numbers("drift_ns");
  const known = allRows.filter((row) => !Number.isNaN(drift[row]));
  if (known.length === 0) {
    addLine(part, "Nothing was sent.");
    return;
  }
  const kinds = [...new Set(column(requests.numbers("late_cause"), known))].sort().map((number) => {
    const rows = known.filter((row) => requests.numbers("late_cause")[row] === number);
    const cause = causes[rows[0]];
    return { rows, name: cause === "none" ? "in time" : cause, color: causeColors[cause] || "grey" };
  });
  // A drift of 0 has its place on a log axis, too: at 1 ns.
  const shownDrift = (rows) => rows.map((row) => Math.max(1, drift[row]));
  new Chart(part.grid, {
    title: "Drift, by cause",
    note: "wake: the host woke the engine late; guard: another request was sent just before; lane: no free connection",
    wide: true,
    x: timeAxis,
    y: durationAxis("log", "drift"),
    layers: () => kinds.map(({ name, color, rows }) => dotsOver(rows, shownDrift(rows), { name, color })),
  });
  addPlaces(part, known, shownDrift);
}

// The how-many-th of those due at one instant each row is: they leave one after the other.
function addPlaces(part, known, shownDrift) {
  const due = requests.numbers("due_ns");
  const fired = requests.numbers("fired_ns");
  const order = [...known].sort((a, b) => due[a] - due[b] || fired[a] - fired[b]);
  const places = new Float64Array(requests.rows);
  order.forEach((row, i) => {
    places[row] = i > 0 && due[order[i - 1]] === due[row] ? places[order[i - 1]] + 1 : 1;
  });
  if (!order.some((row) => places[row] > 1)) return;
  new Chart(part.grid, {
    title: "Drift, by place in the instant",
    note: "requests due at one instant leave one after the other",
    x: countAxis("linear", "place among those due at the same instant", { isWhole: true }),
    y: durationAxis("log", "drift"),
    layers() {
      const rows = known.filter((row) => inWindow(moment[row]));
      return [{ kind: "dots", color: "blue", x: column(places, rows), y: shownDrift(rows), rows }];
    },
  });
}

// Who wrote client.jsonl, a line a second each: engines, and in a merged run those of every shard.
function clientSources() {
  const keys = ["shard", "engine"].filter((name) => clientSeconds.has(name));
  const numbers = keys.map((name) => clientSeconds.numbers(name));
  const sources = new Set();
  for (let row = 0; row < clientSeconds.rows; row++) sources.add(numbers.map((each) => each[row]).join());
  return sources.size;
}

// Of one engine, each line is a step that ends with it. Of several, each second has the largest
// value of all of them: one line through what took turns would only go up and down.
function secondSteps(values) {
  const from = clientSeconds.seconds("from_ns");
  const to = clientSeconds.seconds("to_ns");
  if (clientSources() > 1) return worstSteps(from, to, values);
  return { x: [...from, to[to.length - 1]], y: [...values, values[values.length - 1]] };
}

// A line counts for the second that holds most of it, and where it is longer, for all of them.
function worstSteps(from, to, values) {
  const worst = new Map();
  let last = -Infinity;
  from.forEach((begin, row) => {
    last = Math.max(last, to[row]);
    const second = Math.round(begin);
    for (let at = second; at <= Math.max(second, Math.round(to[row]) - 1); at++) {
      const known = worst.has(at) ? worst.get(at) : NaN;
      worst.set(at, values[row] <= known ? known : Number.isNaN(values[row]) ? known : values[row]);
    }
  });
  const x = [];
  const y = [];
  for (const second of [...worst.keys()].sort((a, b) => a - b)) {
    if (x.length > 0 && second > x[x.length - 1] + 1) {
      x.push(x[x.length - 1] + 1);
      y.push(NaN); // nobody wrote a line
    }
    x.push(second);
    y.push(worst.get(second));
  }
  x.push(Math.max(last, x[x.length - 1]));
  y.push(y[y.length - 1]);
  return { x, y };
}

const ofSources = () => (clientSources() > 1 ? `; of each second the worst of ${clientSources()} engines` : "");

function addBusy(part) {
  const span = clientSeconds.numbers("to_ns").map((to, i) => to - clientSeconds.numbers("from_ns")[i]);
  const shareOf = (names) =>
    span.map((ns, i) => names.reduce((sum, name) => sum + (clientSeconds.numbers(name)[i] || 0), 0) / ns);
  const steps = (name, color, ...parts) => ({ kind: "steps", name, color, ...secondSteps(shareOf(parts)) });
  new Chart(part.grid, {
    title: "The engine's thread",
    note: "share of each second in which it worked, and in which others used its CPU" + ofSources(),
    x: timeAxis,
    y: percentAxis("share of a second", { tick: (value) => `${Math.round(100 * value)} %` }),
    layers: () => [
      steps("busy", "blue", "busy_fire_ns", "busy_receive_ns", "busy_prepare_ns", "busy_stamps_ns"),
      steps("receiving", "green", "busy_receive_ns"),
      steps("taken by others", "red", "run_delay_ns", "steal_ns"),
    ],
  });
}

function addWakes(part) {
  const positive = (name) => secondSteps(clientSeconds.numbers(name).map((ns) => (ns > 0 ? ns : NaN)));
  new Chart(part.grid, {
    title: "Worst of each second",
    note:
      "how late sleeps ended, the longest pass of the loop, how long received bytes may have waited" +
      ofSources(),
    x: timeAxis,
    y: durationAxis("log", "time"),
    layers: () => [
      { kind: "steps", name: "wake error", color: "orange", ...positive("wake_error_max_ns") },
      { kind: "steps", name: "longest turn", color: "purple", ...positive("turn_max_ns") },
      { kind: "steps", name: "bytes waited", color: "green", ...positive("receive_delay_max_ns") },
    ],
  });
}
