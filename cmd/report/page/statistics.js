// Plain arithmetic on columns: no page, no colours.

// The value at or below which a share of the sorted values lies (nearest rank), as the summary has it.
function quantile(sorted, share) {
  if (sorted.length === 0) return NaN;
  return sorted[Math.max(0, Math.ceil(sorted.length * share - 1e-9) - 1)];
}

const column = (values, rows) => Float64Array.from(rows, (row) => values[row]);
const sortedValues = (values, rows) => column(values, rows).filter((value) => !Number.isNaN(value)).sort();

function indexes(count, keeps) {
  const rows = [];
  for (let row = 0; row < count; row++) if (keeps(row)) rows.push(row);
  return rows;
}

function extent(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

// Widths that people read: 1, 2 or 5 of a power of ten, so that about `count` of them fill the span.
function niceStep(span, count) {
  if (!(span > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(span / count));
  const step = span / count / power;
  return power * (step > 5 ? 10 : step > 2 ? 5 : step > 1 ? 2 : 1);
}

// Equal stretches of time that cover [from, to]: their width, first edge and count.
function timeBins(from, to, count) {
  const width = niceStep(to - from, count);
  const first = Math.floor(from / width) * width;
  return { width, first, count: Math.max(1, Math.ceil((to - first) / width - 1e-9)) };
}

// So many of them that a bin holds some five of the values, as far as a chart is wide.
const fittingBins = (from, to, values) => timeBins(from, to, Math.min(90, Math.max(12, values / 5)));

// Sums of weights by the bin of their instants; weight 1 where there are none.
function binned(bins, at, weights) {
  const sums = new Float64Array(bins.count);
  for (let i = 0; i < at.length; i++) {
    const bin = Math.floor((at[i] - bins.first) / bins.width);
    const weight = weights ? weights[i] : 1;
    if (bin >= 0 && bin < bins.count && weight > 0) sums[bin] += weight;
  }
  return sums;
}

// The same where each weight is spread evenly from one instant to another.
function binnedSpread(bins, from, to, weights) {
  const sums = new Float64Array(bins.count);
  for (let i = 0; i < from.length; i++) {
    if (!(weights[i] > 0) || Number.isNaN(from[i])) continue;
    const end = to[i] > from[i] ? to[i] : from[i];
    const first = Math.floor((from[i] - bins.first) / bins.width);
    const last = Math.floor((end - bins.first) / bins.width);
    if (first === last) {
      if (first >= 0 && first < bins.count) sums[first] += weights[i];
      continue;
    }
    const rate = weights[i] / (end - from[i]);
    for (let bin = Math.max(first, 0); bin <= Math.min(last, bins.count - 1); bin++) {
      const low = bins.first + bin * bins.width;
      sums[bin] += rate * (Math.min(end, low + bins.width) - Math.max(from[i], low));
    }
  }
  return sums;
}

const binMiddles = (bins) =>
  Float64Array.from({ length: bins.count }, (_, i) => bins.first + (i + 0.5) * bins.width);

// Of the rows that left: those that left at most `slack` after they were due, at their due instants; the later
// ones when they left.
function firedAndLate(due, fired, rows, slack) {
  const isLate = (row) => fired[row] - due[row] > slack;
  return {
    fired: Float64Array.from(rows.filter((row) => !isLate(row)), (row) => due[row]),
    late: Float64Array.from(rows.filter(isLate), (row) => fired[row]),
  };
}

// A curve of steps from sums by bin, per second of the bin.
function rateSteps(bins, sums) {
  const x = Array.from({ length: bins.count + 1 }, (_, i) => bins.first + i * bins.width);
  return { x, y: x.map((_, i) => sums[Math.min(i, bins.count - 1)] / bins.width) };
}

// How many stretches are open over time: one step at each beginning and end.
function openOver(begins, ends) {
  const changes = [];
  for (let i = 0; i < begins.length; i++) {
    if (Number.isNaN(begins[i])) continue;
    changes.push([begins[i], 1]);
    if (!Number.isNaN(ends[i])) changes.push([ends[i], -1]);
  }
  changes.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const x = [];
  const y = [];
  let open = 0;
  for (const [at, change] of changes) {
    open += change;
    if (x[x.length - 1] === at) {
      y[y.length - 1] = open;
    } else {
      x.push(at);
      y.push(open);
    }
  }
  return { x, y };
}

// Percentiles of the values in each bin; NaN below the fewest values that can carry one.
function percentilesOver(bins, at, values, rows, shares) {
  const lists = Array.from({ length: bins.count }, () => []);
  for (const row of rows) {
    const bin = Math.floor((at[row] - bins.first) / bins.width);
    if (bin >= 0 && bin < bins.count && !Number.isNaN(values[row])) lists[bin].push(values[row]);
  }
  for (const list of lists) list.sort((a, b) => a - b);
  return shares.map((share) =>
    Float64Array.from(lists, (list) => (list.length * (1 - share) >= 1 - 1e-9 ? quantile(list, share) : NaN)),
  );
}

// Counts by about 40 bins of equal width on a log axis.
function logHistogram(sorted) {
  const positive = sorted.filter((value) => value > 0);
  if (positive.length === 0) return { edges: [], counts: [] };
  const decades = Math.log10(positive[positive.length - 1] / positive[0]);
  const perDecade = Math.min(1000, Math.max(10, Math.round(40 / Math.max(decades, 1e-3))));
  const first = Math.floor(Math.log10(positive[0]) * perDecade);
  const last = Math.floor(Math.log10(positive[positive.length - 1]) * perDecade);
  const counts = new Float64Array(last - first + 1);
  for (const value of positive) {
    counts[Math.min(last - first, Math.floor(Math.log10(value) * perDecade) - first)]++;
  }
  const edges = Array.from({ length: counts.length + 1 }, (_, i) => 10 ** ((first + i) / perDecade));
  return { edges, counts };
}

// At most `most` points of a curve, the first and the last among them.
function thinned(count, most) {
  if (count <= most) return Array.from({ length: count }, (_, i) => i);
  return Array.from({ length: most }, (_, i) => Math.round((i * (count - 1)) / (most - 1)));
}
