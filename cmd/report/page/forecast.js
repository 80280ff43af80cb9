// Forecast: what prompts share by the trace, and what the server has hit of it.

const forecast = data.forecast;

function addCapacityCurve(part) {
  const tokens = forecast.curve.map(([blocks]) => blocks * forecast.block_size);
  const rates = forecast.curve.map(([, hits]) => hits / forecast.input_tokens);
  const observed = forecast.cached_tokens / forecast.input_tokens;
  new Chart(part.grid, {
    title: "Hit rate by cache size",
    note:
      `by the trace, in blocks of ${whole(forecast.block_size)} tokens, the least recently used out first; ` +
      "dashed: what this server hit",
    x: countAxis("log", "tokens that the cache holds"),
    y: percentAxis("share of prompt tokens", { to: Math.min(1, 1.15 * Math.max(...rates, observed)) }),
    layers: () => [
      { kind: "line", name: "by the trace", color: "blue", x: tokens, y: rates },
      summary.cache.rows_reported > 0 ? { kind: "rule", color: "orange", level: observed } : null,
      summary.cache.rows_reported > 0
        ? {
            kind: "line",
            name: `hit by this server ${(100 * observed).toFixed(1)} %`,
            color: "orange",
            dash: true,
            x: [],
            y: [],
          }
        : null,
    ],
  });
}

// Prefixes side by side, as wide as the prompts that have them, below those that they go on from.
function addIcicle(part) {
  const prefixes = forecast.prefixes.map(([parent, begin, tokens, prompts, reported, hits]) => ({
    parent,
    begin,
    tokens,
    prompts,
    reported,
    hits,
    children: [],
    left: 0,
  }));
  const roots = [];
  for (const prefix of prefixes) (prefix.parent < 0 ? roots : prefixes[prefix.parent].children).push(prefix);
  const layOut = (siblings, left) => {
    siblings.sort((a, b) => b.prompts - a.prompts);
    for (const one of siblings) {
      one.left = left;
      left += one.prompts;
    }
    return left;
  };
  const width = layOut(roots, 0);
  for (const prefix of prefixes) layOut(prefix.children, prefix.left); // parents stand before children
  if (width === 0) return;
  const deepest = Math.max(...prefixes.map((one) => one.begin + one.tokens));
  // Of the prompts that have a prefix the first cannot hit it.
  const shareHit = (one) => (one.reported > 1 ? Math.min(1, one.hits / (one.reported - 1)) : NaN);
  new Chart(part.grid, {
    title: "Shared prefixes",
    wide: true,
    height: 380,
    note:
      `each as wide as the prompts that have it (at least ${forecast.shown_from}), as deep as its tokens; ` +
      "pale: could be hit by the trace; full: was hit",
    x: countAxis("linear", "prompts", { from: 0, to: width }),
    y: countAxis("root", "tokens from the beginning", { from: deepest, to: 0 }),
    layers: () => [
      {
        kind: "tiles",
        color: "blue",
        under: "pale",
        tiles: prefixes.map((one) => ({
          x0: one.left,
          x1: one.left + one.prompts,
          y0: one.begin,
          y1: one.begin + one.tokens,
          fill: shareHit(one) || 0,
        })),
        describe: (i) => {
          const one = prefixes[i];
          const hit = shareHit(one);
          return [
            `tokens ${whole(one.begin)} to ${whole(one.begin + one.tokens)}`,
            `${plural(one.prompts, "prompt has", "prompts have")} them`,
            Number.isNaN(hit)
              ? "hits are not known"
              : `${whole(one.hits)} took them from the cache (${(100 * hit).toFixed(1)} % of those that could)`,
          ];
        },
      },
    ],
  });
}
