// The run: its tables, and the columns that several parts draw. Instants are seconds from time 0.

const summary = data.summary;
const requests = new Table(data.tables.requests);
const periods = new Table(data.tables.periods);
const clientSeconds = new Table(data.tables.client);
const events = new Table(data.tables.events);

const stamps = Object.fromEntries(
  ["due", "fired", "first_token", "last_token", "ended"].map((name) => [
    name,
    requests.seconds(`${name}_ns`),
  ]),
);
const outcomes = requests.texts("outcome");
const phases = requests.texts("phase");

// The last instant at which anything happened.
const lastInstant = [...stamps.fired, ...stamps.ended, ...stamps.last_token].reduce(
  (last, at) => (at > last ? at : last),
  0,
);
// Where a row stands on the time axis: when it left, or had to; rows that were never due while the run
// went on stand at its end.
const moment = Float64Array.from(stamps.fired, (at, row) =>
  Number.isNaN(at) ? Math.min(stamps.due[row], lastInstant) : at,
);
const inputTokens = Float64Array.from(requests.numbers("prompt_tokens"), (tokens, row) =>
  Number.isNaN(tokens) ? requests.numbers("input_length")[row] : tokens,
);
const cachedTokens = requests.numbers("cached_tokens");
const expectedTokens = requests.numbers("expected_cached_tokens");

const allRows = indexes(requests.rows, () => true);
// What the summary's percentiles are over.
const measuredRows = indexes(requests.rows, (row) => outcomes[row] === "ok" && phases[row] === "profile");
const failedRows = indexes(
  requests.rows,
  (row) =>
    !["ok", "short_output", "long_output", "abandoned"].includes(outcomes[row]) &&
    !(outcomes[row] === "cancelled" && requests.value("censored", row) === "true"),
);

// A layer of dots over time, one for each of these rows.
const dotsOver = (rows, y, more) => ({ kind: "dots", x: column(moment, rows), y, rows, ...more });

// What a row is called under the pointer.
pointed.describe = (row) => [recordName(row), ...(outcomes[row] === "ok" ? [] : [outcomes[row]])];

function recordName(row) {
  const parts = [`row ${requests.value("row", row)}`];
  const turn = requests.value("turn", row);
  if (requests.value("session", row) !== null) parts.push(`session ${requests.value("session", row)}`);
  if (turn !== null) parts.push(`turn ${turn}`);
  return parts.join(", ");
}

// What all time charts show at first, and what is marked on them.
function settleTime() {
  const [first] = extent(moment.filter((at) => !Number.isNaN(at)));
  clock.full = [Math.min(0, first === Infinity ? 0 : first), lastInstant > 0 ? lastInstant * 1.005 : 1];
  [clock.from, clock.to] = clock.full;
  const warm = indexes(requests.rows, (row) => phases[row] === "warmup");
  if (warm.length > 0) {
    const from = extent(column(moment, warm))[0];
    const measured = column(
      moment,
      indexes(requests.rows, (row) => phases[row] === "profile"),
    );
    timeMarks.push({ from, to: measured.length > 0 ? extent(measured)[0] : clock.full[1], name: "warm-up" });
  }
  const limit = summary.run && summary.run.for_ns;
  if (limit && clock.full[1] > limit / 1e9)
    timeMarks.push({ from: limit / 1e9, to: clock.full[1], name: "drain" });
  for (let row = 0; row < events.rows; row++) {
    const at = events.numbers("begin_ns")[row];
    const due = events.numbers("at_ns")[row];
    timeMarks.push({ at: (Number.isNaN(at) ? due : at) / 1e9, name: String(events.value("what", row)) });
  }
  const segments = requests.numbers("segment");
  for (let segment = 1; segment < data.run.segments; segment++) {
    const rows = indexes(requests.rows, (row) => segments[row] === segment);
    if (rows.length > 0)
      timeMarks.push({ at: extent(column(moment, rows))[0], name: `resumed (${segment})` });
  }
}
