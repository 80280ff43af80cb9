// Server: its own metrics on the time axis of the run, under one name whatever the engine calls them.

const server = new Table(data.tables.server);
const serverTimes = server.seconds("t_ns");

// What a counter grew by per second, or per unit of another counter, between readings that are far
// enough apart for the time that is shown. Counters begin anew with each segment.
function serverRate(name, from, to, over) {
  const values = server.numbers(name);
  const divisors = over ? server.numbers(over) : serverTimes;
  const segments = server.numbers("segment");
  const apart = Math.max(0.5, (to - from) / 300);
  const x = [];
  const y = [];
  let last = 0;
  for (let row = 1; row < server.rows; row++) {
    if (serverTimes[row] - serverTimes[last] < apart && segments[row] === segments[last]) continue;
    const grown = values[row] - values[last];
    const by = divisors[row] - divisors[last];
    x.push(serverTimes[last]);
    y.push(segments[row] === segments[last] && grown >= 0 && by > 0 ? grown / by : NaN);
    last = row;
  }
  if (x.length > 0) {
    x.push(serverTimes[last]);
    y.push(y[y.length - 1]);
  }
  return { x, y };
}

// Each chart has the figures that some page gives; without one it is left out.
const serverCharts = [
  {
    title: "KV cache in use",
    note: "of the fullest server",
    y: percentAxis("share in use", { to: 1 }),
    gauges: [
      ["kv_usage", "device", "blue"],
      ["host_kv_usage", "host", "orange"],
    ],
  },
  {
    title: "Running and waiting",
    note: "requests in the batch and in the queue, of all servers",
    y: countAxis("linear", "requests", { isWhole: true }),
    gauges: [
      ["running", "running", "blue"],
      ["waiting", "waiting", "orange"],
    ],
  },
  {
    title: "Prefill",
    note: "prompt tokens computed, and those taken from caches",
    y: countAxis("linear", "tokens/s"),
    rates: [
      ["computed_prefill_tokens", "computed", "orange"],
      ["prefix_hit_tokens", "hit on the device", "green"],
      ["host_hit_tokens", "hit on the host", "purple"],
      ["remote_hit_tokens", "hit elsewhere", "red"],
    ],
  },
  {
    title: "Decode",
    note: "tokens generated",
    y: countAxis("linear", "tokens/s"),
    rates: [["generated_tokens", "made", "blue"]],
  },
  {
    title: "Hit rate of the server",
    note: "share of looked-up tokens found in the prefix cache",
    y: percentAxis("share of tokens", { to: 1 }),
    rates: [["prefix_hit_tokens", "hits", "blue", "prefix_query_tokens"]],
  },
  {
    title: "Preemptions",
    note: "requests that lost their place in the batch",
    y: countAxis("linear", "per second"),
    rates: [["preemptions", "preemptions", "red"]],
  },
  {
    title: "KV cache moved",
    note: "from the device and back",
    y: countAxis("linear", "bytes/s"),
    rates: [
      ["offload_bytes", "offloaded", "orange"],
      ["onboard_bytes", "brought back", "blue"],
    ],
  },
  {
    title: "Time in the server",
    note: "per request that ended in the interval",
    y: axis(
      "linear",
      "time",
      (seconds) => roundDuration(seconds * 1e9),
      (seconds) => duration(seconds * 1e9),
      { from: 0 },
    ),
    rates: [
      ["queue_seconds", "in the queue", "orange", "requests"],
      ["prefill_seconds", "in prefill", "blue", "requests"],
    ],
  },
  {
    title: "Speculation",
    note: "draft tokens accepted",
    y: percentAxis("share accepted", { to: 1 }),
    rates: [["accepted_tokens", "accepted", "blue", "draft_tokens"]],
  },
  {
    title: "Power",
    note: "of all devices",
    y: countAxis("linear", "W"),
    gauges: [["watts", "watts", "red"]],
  },
];

function addServer() {
  const part = addPart(
    "server",
    "Server",
    "The server's own figures, read from its metrics page during the run.",
  );
  if (server.rows === 0) {
    addLine(part, "No metrics page was recorded: there is no server.jsonl with one.");
    return;
  }
  const missing = [];
  for (const { title, note, y, gauges = [], rates = [] } of serverCharts) {
    const known = (list) =>
      list.filter(([name, , , over]) => server.anyKnown(name) && (!over || server.anyKnown(over)));
    if (known(gauges).length + known(rates).length === 0) {
      missing.push(title);
      continue;
    }
    new Chart(part.grid, {
      title,
      note,
      x: timeAxis,
      y,
      layers: (from, to) => [
        ...known(gauges).map(([key, name, color]) => ({
          kind: "line",
          name,
          color,
          x: serverTimes,
          y: server.numbers(key),
        })),
        ...known(rates).map(([key, name, color, over]) => ({
          kind: "steps",
          name,
          color,
          ...serverRate(key, from, to, over),
        })),
      ],
    });
  }
  if (missing.length > 0) addLine(part, `The server does not report: ${missing.join(", ")}.`);
}
