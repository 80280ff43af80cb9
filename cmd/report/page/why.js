// Why slow: what sets the slowest rows apart from the rest, as why.cpp found it (as for
// `report --why`). Each statement can be marked: its rows then stand out in all charts.

const why = data.why;

// A column of rows of the page as a flag for each of them.
function flagged(packed) {
  const has = new Uint8Array(requests.rows);
  for (const row of new Table(packed).numbers("row")) has[row] = 1;
  return has;
}

function addWhy() {
  const part = addPart(
    "why",
    "Why slow",
    "What the rows with the slowest first tokens have in common, least likely by chance first. A statement says " +
      "what slow rows have in common; it does not prove a cause. driftless report --why takes other times and shares.",
  );
  if (why.slow === 0) {
    addLine(
      part,
      `Not computed: ${plural(why.rows, "row has", "rows have")} a TTFT, but ${why.rows_needed} are needed.`,
    );
    return;
  }
  part.grid.before(
    make(
      "p",
      { class: "lead" },
      `The ${whole(why.slow)} slowest of ${whole(why.rows)} rows had a TTFT of ${duration(why.slow_from_ms * 1e6)} ` +
        `or more. ${plural(why.questions, "question was", "questions were")} asked; these findings have a chance ` +
        "below 1 in 100, corrected for all questions.",
    ),
    make("div", { class: "choice" }, markButton("the slowest", data.why_rows[0])),
  );
  if (why.statements.length > 0) part.append(whyTable());
  else addLine(part, `${why.nothing_found[0].toUpperCase()}${why.nothing_found.slice(1)}.`);
  for (const one of why.correlations.slice(0, 3))
    addLine(
      part,
      `Over all rows the TTFT ${one.rank_correlation > 0 ? "rises" : "falls"} with ${one.with} ` +
        `(rank correlation ${one.rank_correlation.toFixed(2)}).`,
    );
}

function whyTable() {
  const rows = why.statements.map((one, i) => [
    make(
      "span",
      {},
      markButton(`rows that ${one.mark}`, data.why_rows[i + 1], `${i + 1}. ${one.mark}`),
      one.echo ? make("small", {}, "adds nothing to the first") : null,
    ),
    sharePair(`${whole(one.slow_with_mark)} of the ${whole(why.slow)} slowest`, one.slow_with_mark / why.slow, "slow"),
    sharePair(`${whole(one.rows_with_mark)} of all ${whole(why.rows)} rows`, one.rows_with_mark / why.rows, "all"),
    make("span", {}, "by chance 1 in 10", make("sup", {}, String(Math.round(-one.log10_chance)))),
  ]);
  return table(["what they have in common: press to mark these rows in all charts", "", "", ""], rows, { class: "why" });
}

// A count with its share, and a bar as long as that.
function sharePair(said, part, kind) {
  const bar = make("i", { class: kind });
  bar.style.width = `${100 * part}%`;
  return make("div", { class: "pair" }, `${said} (${share(part, 1)})`, bar);
}

// A button that is pressed while its rows stand out.
function markButton(name, packed, said = `mark ${name}`) {
  const press = () => {
    const isOn = marked.name !== name;
    markRows(isOn ? name : "", isOn ? flagged(packed) : null);
  };
  const button = pushButton(said, press, { "aria-pressed": "false" });
  document.addEventListener("mark", () => button.setAttribute("aria-pressed", String(marked.name === name)));
  return button;
}
