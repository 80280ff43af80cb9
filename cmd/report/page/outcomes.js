// Outcomes: what failed, when, and in the server's own words; the slowest rows and the failed ones.

const failureColors = ["red", "orange", "purple", "green", "blue", "grey"];
const rowsListed = 200;

function addOutcomes() {
  const part = addPart("outcomes", "Outcomes");
  const counts = Object.entries(summary.outcomes).filter(([, count]) => count > 0);
  const all = counts.reduce((sum, [, count]) => sum + count, 0);
  const lines = counts.map(([name, count]) => [name, whole(count), share(count, all)]);
  part.grid.before(table(["outcome", "requests", "share"], lines));
  if (failedRows.length > 0) addFailures(part);
  else
    addLine(
      part,
      requests.of > requests.rows ? "No row on this page failed." : "No request failed.",
    );
  addSlowest(part);
}

function addFailures(part) {
  const kinds = [...new Set(failedRows.map((row) => outcomes[row]))].map((name, i) => ({
    name,
    color: failureColors[i % failureColors.length],
    rows: failedRows.filter((row) => outcomes[row] === name),
  }));
  const when = (row) => (Number.isNaN(stamps.ended[row]) ? moment[row] : stamps.ended[row]);
  new Chart(part.grid, {
    title: "Failures over time",
    note: "by the time they ended",
    wide: true,
    x: timeAxis,
    y: countAxis("linear", "requests", { isWhole: true }),
    layers(from, to) {
      const bins = timeBins(from, to, 60);
      const base = new Float64Array(bins.count);
      const edges = Array.from(base, (_, i) => bins.first + i * bins.width);
      return kinds
        .map((kind) => {
          const sums = binned(bins, kind.rows.map(when));
          const bottom = base.slice();
          sums.forEach((sum, i) => {
            base[i] += sum;
          });
          return {
            kind: "bars",
            name: kind.name,
            color: kind.color,
            x0: edges,
            x1: edges.map((x) => x + bins.width),
            base: bottom,
            y: sums.map((sum, i) => (sum > 0 ? bottom[i] + sum : 0)),
          };
        })
        .reverse();
    },
  });
  if (summary.errors.length > 0) {
    part.append(
      make("h3", {}, "Error texts of the server"),
      table(
        ["words", "outcome", "requests"],
        summary.errors.map((one) => [one.error || "-", one.outcome, whole(one.rows)]),
        { class: "words" },
      ),
    );
  }
  const listed = [...failedRows].sort((a, b) => moment[a] - moment[b]).slice(0, rowsListed);
  part.append(
    make(
      "h3",
      {},
      `Failed requests${failedRows.length > rowsListed ? `: the first ${rowsListed} of ${whole(failedRows.length)}` : ""}`,
    ),
    table(
      ["row", "at", "outcome", "status", "words"],
      listed.map((row) => [
        rowButton(row),
        `${digits(moment[row])} s`,
        outcomes[row],
        String(requests.value("status", row) ?? "-"),
        requests.value("error", row) ?? "-",
      ]),
      { class: "words" },
    ),
  );
}

function addSlowest(part) {
  const ttft = requests.numbers("ttft_ns");
  const slowest = measuredRows
    .filter((row) => !Number.isNaN(ttft[row]))
    .sort((a, b) => ttft[b] - ttft[a])
    .slice(0, 20);
  if (slowest.length === 0) return;
  part.append(
    make("h3", {}, "The slowest first tokens"),
    table(
      ["row", "at", "TTFT", "TPOT", "E2E", "prompt", "cached", "output", "in flight", "tainted"],
      slowest.map((row) => [
        rowButton(row),
        `${digits(moment[row])} s`,
        duration(ttft[row]),
        duration(requests.value("tpot_ns", row)),
        duration(requests.value("e2e_ns", row)),
        count(inputTokens[row]),
        count(cachedTokens[row]),
        count(requests.value("output_tokens", row)),
        count(requests.value("inflight", row)),
        (requests.value("tainted", row) ?? "").replace(/[[\]"]/g, "").replaceAll(",", ", "),
      ]),
    ),
  );
}
