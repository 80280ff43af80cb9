// The page: verdict and why, five figures, then the parts. Runs last.

function limitText(one) {
  if (one.value === null) {
    return "not measured";
  }
  const text = (value) =>
    one.unit === "share" ? `${digits(100 * value)} %` : `${digits(value)}${one.unit === "ms" ? " ms" : ""}`;
  const error = one.client_error;
  if (error) {
    const within = one.sure ? "" : "; the limit lies within";
    return `${text(one.value)} (client at most ${text(Math.max(error.below, error.above))}${within})`;
  }
  return text(one.value) + (one.sure === false ? " (client: not known)" : "");
}

// What the client may have moved a p99 by, at most.
function moved(figure) {
  const bars = (summary.client_error || {})[`${figure}_ms`];
  return bars && bars.p99 ? `; client moved p99 by ${duration(1e6 * Math.max(bars.p99.below, bars.p99.above))} at most` : "";
}

function addHead() {
  const top = document.getElementById("top");
  const verdict = summary.verdict || { name: "unknown", reasons: [], warnings: [] };
  const began = new Date(data.run.zero_utc_ms).toISOString().replace("T", " ").slice(0, 19);
  const where = summary.run ? summary.run.urls.join(", ") : "";
  top.append(
    make("p", { class: "kicker" }, `${data.run.program} replay, ${began} UTC`),
    make("h1", {}, summary.trace),
    make(
      "p",
      { class: "what" },
      [summary.model_id, where, summary.run && `speed ${summary.run.speed}`].filter(Boolean).join(" · "),
    ),
    ...data.said.map((text) => make("p", { class: "said" }, text)),
    five(),
    make("div", { class: `verdict ${verdict.name}` }, make("strong", {}, verdict.name), whyList(verdict)),
  );
  const limits = summary.thresholds || [];
  if (limits.length > 0) {
    top.append(
      table(
        ["limit", "", "measured"],
        limits.map((one) => [
          one.fail_if,
          one.fails ? "fail" : "pass",
          limitText(one),
        ]),
        { class: "limits" },
      ),
    );
  }
  if (requests.of > requests.rows) {
    top.append(
      make(
        "p",
        { class: "note" },
        `The run has ${whole(requests.of)} records; the charts draw ${whole(requests.rows)} of them, evenly ` +
          "spread. The figures cover all.",
      ),
    );
  }
}

// Why the verdict is what it is, what must be known, and what is missing.
function whyList(verdict) {
  const { unfinished, stopped_when: stopped } = summary;
  const warnings = [...(verdict.warnings || [])];
  if (!data.run.ended)
    warnings.push("The run was killed or is still running: this page shows what its files have so far.");
  if (unfinished)
    warnings.push(
      `${plural(unfinished.rows, "row has", "rows have")} no record; ` +
        `${whole(unfinished.rows_left)} of them had been sent.`,
    );
  const after = stopped ? [`Stopped at ${digits(stopped.at_s)} s: ${stopped.cond}`] : [];
  if (verdict.reasons.length + warnings.length + after.length === 0)
    after.push("Every row was sent in time and its answer read in time, within the limits of this host.");
  const listed = (texts, attributes) => texts.map((text) => make("li", attributes, text));
  return make("ul", {}, listed(verdict.reasons), listed(warnings, { class: "warning" }), listed(after));
}

function five() {
  const ms = (name) =>
    summary[name] === null || summary[name] === undefined ? "-" : duration(summary[name] * 1e6);
  const cache = summary.cache || {};
  const failed = summary.failed || 0;
  const byServer =
    cache.rows_compared > 0 && cache.server_rows === cache.rows_compared && cache.server_rows_equal >= cache.rows_equal;
  const expected = byServer ? cache.server_expected_cached_tokens : cache.expected_cached_tokens_reported;
  const figures = [
    [
      "Answered",
      share(summary.completed, summary.num_prompts),
      `${whole(summary.completed)} of ${whole(summary.num_prompts)} ok, ${whole(failed)} failed`,
    ],
    ["TTFT p99", ms("p99_ttft_ms"), `p50 ${ms("p50_ttft_ms")}${moved("ttft")}`],
    ["TPOT p99", ms("p99_tpot_ms"), `p50 ${ms("p50_tpot_ms")}${moved("tpot")}`],
    [
      "Output tokens",
      summary.output_throughput === null ? "not counted" : `${digits(summary.output_throughput)}/s`,
      `${digits(summary.request_throughput)} ok requests/s for ${duration(summary.duration * 1e9)}`,
    ],
    cache.rows_reported > 0
      ? [
          "Cache hits",
          ...(cache.rows_compared === 0
            ? [`${short(cache.cached_tokens)} tokens`, "not forecast: the prompts are recorded text"]
            : cache.cached_tokens_compared === 0 && expected > 0
              ? ["0", "the server says 0 for each row: it may not count hits"]
              : cache.prompt_tokens_compared > 0
                ? [
                    share(cache.cached_tokens_compared, cache.prompt_tokens_compared),
                    `of prompt tokens; the trace allows ${share(expected, cache.prompt_tokens_compared)}`,
                  ]
                : [`${short(cache.cached_tokens_compared)} tokens`, `the trace allows ${short(expected)}`]),
        ]
      : ["E2E p99", ms("p99_e2el_ms"), `p50 ${ms("p50_e2el_ms")}${moved("e2el")}`],
  ];
  return make(
    "dl",
    { class: "five" },
    figures.map(([name, value, more]) =>
      make("div", {}, make("dt", {}, name), make("dd", {}, value), make("dd", { class: "more" }, more)),
    ),
  );
}

function addBar() {
  const bar = document.getElementById("bar");
  const shown = make("span", { class: "shown" });
  const whole = pushButton("whole run", () => showTime(...clock.full));
  const say = () => {
    shown.textContent = `${clockText(clock.from, clock.to - clock.from)} to ${clockText(clock.to, clock.to - clock.from)}`;
    whole.disabled = !isZoomed();
  };
  bar.append(partLinks(), make("div", { class: "zoom" }, shown, whole), markedChip());
  document.addEventListener("zoom", say);
  say();
}

// Which rows stand out, and how to have none.
function markedChip() {
  const said = make("span", { class: "key dot" });
  const name = make("span", {});
  const clear = pushButton("no mark", () => markRows("", null));
  const chip = make("div", { class: "marked", hidden: true }, said, name, clear);
  document.addEventListener("mark", () => {
    chip.hidden = marked.has === null;
    if (!chip.hidden)
      name.textContent = visible(`${whole(marked.has.reduce((sum, one) => sum + one, 0))} marked: ${marked.name}`);
  });
  return chip;
}

function addRunsFoot() {
  const run = summary.run || {};
  addFoot(
    [data.run.calibration, data.run.cpu, data.run.kernel, data.run.driver].filter(Boolean).join(" · "),
    `trace ${run.trace_digest || "-"}, schedule ${run.schedule_digest || "-"}, seed ${run.seed ?? "-"}`,
  );
}

// What `report --by` asked for; nothing without it.
function addGroups() {
  if (data.groups.length === 0) return;
  const part = addPart("groups", "By group", data.group_units);
  for (const [heads, ...lines] of data.groups) part.grid.before(table(heads, lines));
}

// A link to a record: page.html#row-17.
function openWanted() {
  const wanted = /^#row-(\d+)$/.exec(location.hash);
  const row = wanted ? requests.numbers("row").indexOf(Number(wanted[1])) : -1;
  if (row >= 0) openRecord(row);
}

async function showAll() {
  // Verdict and figures stand before the first chart is made.
  await showParts([
    addLoad,
    addSteady,
    addLatency,
    addGroups,
    addWhy,
    addCache,
    addServer,
    addClient,
    addSessions,
    addOutcomes,
    addDefinitions,
  ]);
  addBar();
  addRunsFoot();
  openWanted();
  document.documentElement.dataset.ready = "true";
}

settleTime();
markSteady();
addHead();
showAll();
followLooks();
