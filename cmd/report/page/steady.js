// Steady state: the part of the run in which its load neither rises nor falls, beside the whole of it,
// and Little's law over it. What is said was found by steady_and_why.cpp, as for `report --steady`.

const steady = data.steady_state;
const steadySpan = () => [steady.begin_ns / 1e9, steady.end_ns / 1e9];

// A mark on all time charts, which are drawn after it.
function markSteady() {
  if (!steady.found || steady.end_ns <= steady.begin_ns) return;
  const [from, to] = steadySpan();
  timeMarks.push({ from, to, name: steady.steady ? "steady" : "between ramp and drain", color: "steady" });
}

function addSteady() {
  const part = addPart("steady", "Steady state");
  if (!steady.found) {
    addLine(part, "It was not computed: fewer than 100 requests were sent.");
    return;
  }
  if (steady.end_ns <= steady.begin_ns) {
    addLine(
      part,
      `No part of the run is steady: nothing remains between its ramp (${digits(steady.ramp_ns / 1e9)} s) and its ` +
        `drain (${digits(steady.drain_ns / 1e9)} s).`,
    );
    return;
  }
  const [from, to] = steadySpan();
  const length = to - from;
  const all = length + (steady.ramp_ns + steady.drain_ns) / 1e9;
  part.grid.before(
    make(
      "div",
      { class: `verdict ${steady.steady ? "certified" : ""}` },
      make("strong", {}, steady.steady ? "reached" : "not reached"),
      make("ul", {}, steadyReasons(from, to, length, all)),
      make("div", { class: "choice" }, pushButton("zoom into this part", () => showTime(from, to))),
    ),
    make("div", { class: "beside" }, steadyTable(), littleTable()),
  );
  addLittle(part, from, to);
}

function steadyReasons(from, to, length, all) {
  const trend = (what, { z, p }) => {
    if (p === null) return `${what}: too few to show a trend`;
    if (p >= 0.01) return `${what} has no trend (p = ${digits(p)})`;
    return `${what} ${z > 0 ? "rises" : "falls"} (p ${p < 0.001 ? "below 0.001" : `= ${digits(p)}`})`;
  };
  const { little } = steady;
  return [
    `${digits(from)} s to ${digits(to)} s remain without the ramp (${digits(steady.ramp_ns / 1e9)} s) and the ` +
      `drain (${digits(steady.drain_ns / 1e9)} s): ${share(length, all)} of the run`,
    `${trend("the number in flight", steady.in_flight_trend)}; ${trend("TTFT", steady.ttft_trend)}`,
    `Little's law ${little.holds ? "holds" : "does not hold"} within 5 % (${signedShare(little.difference)})`,
    steady.effective_ttfts >= steady.ttfts
      ? `all ${whole(steady.ttfts)} TTFTs are independent`
      : `${whole(steady.effective_ttfts)} of ${whole(steady.ttfts)} TTFTs are independent: the others depend ` +
        "on those before them",
  ].map((text) => make("li", {}, text));
}

const signedShare = (value) => `${value >= 0 ? "+" : ""}${(100 * value).toFixed(1)} %`;

function steadyTable() {
  const { whole: run, window: inside } = steady;
  const line = (name, of) => [name, of(run), of(inside)];
  const times = [
    ["TTFT", "ttft_ms"],
    ["TPOT", "tpot_ms"],
    ["E2E", "e2e_ms"],
  ].flatMap(([name, key]) =>
    ["p50", "p90", "p99"].map((one) =>
      line(`${name} ${one}`, (side) => duration(side[key][one] === null ? null : side[key][one] * 1e6)),
    ),
  );
  return table(
    ["", "whole run", "steady part"],
    [
      line("requests sent", (side) => whole(side.requests)),
      line("time", (side) => `${digits(side.seconds)} s`),
      line("requests answered per second", (side) => digits(side.request_throughput)),
      line("output tokens per second", (side) => digits(side.output_throughput)),
      ...times,
    ],
    { class: "figures" },
  );
}

function littleTable() {
  const { rate, time_s, in_flight, difference, holds } = steady.little;
  return table(
    ["Little's law, in the steady part", ""],
    [
      ["rate: requests sent per second", digits(rate)],
      ["time in flight: mean of those", duration(time_s * 1e9)],
      ["product: rate x time in flight", digits(rate * time_s)],
      ["in flight: mean over time", digits(in_flight)],
      ["difference of the product", `${signedShare(difference)} (${holds ? "within" : "beyond"} 5 %)`],
    ],
    { class: "figures" },
  );
}

function addLittle(part, from, to) {
  const sent = indexes(
    requests.rows,
    (row) => phases[row] === "profile" && !Number.isNaN(stamps.fired[row] + stamps.ended[row]),
  );
  if (requests.of > requests.rows) {
    addLine(part, "The page has only some of the records, so it does not draw requests in flight.");
    return;
  }
  const open = openOver(column(stamps.fired, sent), column(stamps.ended, sent));
  const { rate, time_s, in_flight } = steady.little;
  const level = (name, color, value, more) => ({
    kind: "line",
    name: `${name} ${digits(value)}`,
    color,
    width: 2,
    x: [from, to],
    y: [value, value],
    ...more,
  });
  new Chart(part.grid, {
    title: "In flight, compared with Little's law",
    note: "where the two levels differ, more requests started than ended, or the reverse",
    wide: true,
    x: timeAxis,
    y: countAxis("linear", "open", { isWhole: true }),
    layers: () => [
      { kind: "steps", name: "in flight", color: "blue", ...open },
      level("mean in flight", "orange", in_flight),
      level("rate x time", "green", rate * time_s, { dash: true }),
    ],
  });
}
