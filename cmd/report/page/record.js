// The record of one request, in a dialog: what happened when, and every field of its line.

const stages = [
  ["due", "due_ns"],
  ["fired", "fired_ns"],
  ["on the wire", "wire_ns"],
  ["sent", "sent_ns"],
  ["response headers", "headers_ns"],
  ["first token", "first_token_ns"],
  ["last token", "last_token_ns"],
  ["over", "ended_ns"],
];

const definitionOf = new Map(
  data.definitions
    .filter(([table]) => table === "requests")
    .map(([, name, , definition]) => [name, definition]),
);

let openedRow = null;

function fieldText(name, row) {
  const value = requests.value(name, row);
  if (value === null) return "null";
  if (requests.unit(name) === "ns")
    return `${groups(value)} ns${Math.abs(value) >= 1e3 ? ` (${duration(value)})` : ""}`;
  const unit = requests.unit(name);
  return `${typeof value === "number" && unit ? groups(value) : value}${unit ? ` ${unit}` : ""}`;
}

// Where its time went: a bar from due to the end, cut at the stages.
function stageBar(row) {
  const known = stages
    .map(([label, name]) => [label, requests.value(name, row)])
    .filter(([, at]) => at !== null);
  if (known.length < 2) return null;
  const first = known[0][1];
  const span = known[known.length - 1][1] - first;
  const rows = known.map(([label, at], i) => {
    const bar = make("i", {});
    const from = i === 0 ? first : known[i - 1][1];
    bar.style.marginLeft = `${(100 * (from - first)) / span || 0}%`;
    bar.style.width = `${Math.max(0.3, (100 * (at - from)) / span || 0)}%`;
    return make(
      "tr",
      {},
      make("th", { scope: "row" }, label),
      make("td", { class: "n" }, i === 0 ? `${digits(first / 1e9)} s` : `+${duration(at - from)}`),
      make("td", { class: "bar" }, bar),
    );
  });
  return make("table", { class: "stages" }, make("tbody", {}, rows));
}

function openRecord(row) {
  const dialog = document.getElementById("record");
  const pressed = dialog.open && document.activeElement ? document.activeElement.textContent : "";
  const step = (by) => openRecord(Math.min(requests.rows - 1, Math.max(0, openedRow + by)));
  openedRow = row;
  const fields = requests.names.map((name) =>
    make(
      "tr",
      { title: definitionOf.get(name) || "", class: requests.value(name, row) === null ? "unknown" : "" },
      make("th", { scope: "row" }, name),
      make("td", {}, fieldText(name, row)),
    ),
  );
  dialog.replaceChildren(
    make(
      "header",
      {},
      make("h2", {}, recordName(row)),
      make("span", { class: `outcome ${outcomes[row]}` }, outcomes[row]),
      pushButton("before", () => step(-1), { title: "the record before it in requests.jsonl" }),
      pushButton("after", () => step(1), { title: "the record after it" }),
      pushButton("close", () => dialog.close(), { autofocus: true }),
    ),
    make("p", { class: "lead" }, requests.value("error", row) || ""),
    stageBar(row),
    make("table", { class: "fields" }, make("tbody", {}, fields)),
  );
  document.getElementById("tip").hidden = true;
  if (!dialog.open) dialog.showModal();
  for (const button of dialog.querySelectorAll("button")) if (button.textContent === pressed) button.focus();
  dialog.scrollTop = 0;
}

pointed.open = openRecord;

// A button that says the number of a row and opens its record.
const rowButton = (row) => pushButton(requests.value("row", row), () => openRecord(row), { class: "row" });
