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
    layers: () =>
      kinds.map((kind) => ({
        kind: "dots",
        name: kind.name,
        color: kind.color,
        x: column(moment, kind.rows),
        y: shownDrift(kind.rows),
        rows: kind.rows,
      })),
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

// Each second of client.jsonl is a step that ends with the second.
function secondSteps(values) {
  const x = [
    ...secondsOf(clientSeconds, "from_ns"),
    clientSeconds.numbers("to_ns")[clientSeconds.rows - 1] / 1e9,
  ];
  return { x, y: [...values, values[values.length - 1]] };
}

function addBusy(part) {
  const span = clientSeconds.numbers("to_ns").map((to, i) => to - clientSeconds.numbers("from_ns")[i]);
  const shareOf = (...names) =>
    span.map((ns, i) => names.reduce((sum, name) => sum + (clientSeconds.numbers(name)[i] || 0), 0) / ns);
  new Chart(part.grid, {
    title: "The engine's thread",
    note: "share of each second in which it worked, and in which others used its CPU",
    x: timeAxis,
    y: axis(
      "linear",
      "share of a second",
      (value) => `${Math.round(100 * value)} %`,
      (value) => `${(100 * value).toFixed(1)} %`,
      { from: 0 },
    ),
    layers: () => [
      {
        kind: "steps",
        name: "busy",
        color: "blue",
        ...secondSteps(shareOf("busy_fire_ns", "busy_receive_ns", "busy_prepare_ns", "busy_stamps_ns")),
      },
      { kind: "steps", name: "receiving", color: "green", ...secondSteps(shareOf("busy_receive_ns")) },
      {
        kind: "steps",
        name: "taken by others",
        color: "red",
        ...secondSteps(shareOf("run_delay_ns", "steal_ns")),
      },
    ],
  });
}

function addWakes(part) {
  const positive = (name) => secondSteps(clientSeconds.numbers(name).map((ns) => (ns > 0 ? ns : NaN)));
  new Chart(part.grid, {
    title: "Worst of each second",
    note: "how late sleeps ended, the longest pass of the loop, how long received bytes may have waited",
    x: timeAxis,
    y: durationAxis("log", "time"),
    layers: () => [
      { kind: "steps", name: "wake error", color: "orange", ...positive("wake_error_max_ns") },
      { kind: "steps", name: "longest turn", color: "purple", ...positive("turn_max_ns") },
      { kind: "steps", name: "bytes waited", color: "green", ...positive("receive_delay_max_ns") },
    ],
  });
}
