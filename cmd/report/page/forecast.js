// Forecast: what prompts share by the trace, and what the server has hit of it.

const forecast = data.forecast;

// What the servers say that their caches hold, in tokens; null where none says it.
const cacheSize = data.cache_size;

// The shares of prompt tokens that a cache of that size hits by the trace: at least, at most.
function sharesAt(tokens, rates, size) {
  const above = tokens.findIndex((one) => one >= size);
  if (above < 0) return [rates[rates.length - 1], rates[rates.length - 1]];
  return [tokens[above] === size ? rates[above] : above > 0 ? rates[above - 1] : 0, rates[above]];
}

function sizeSentence(tokens, rates, observed) {
  const [low, high] = sharesAt(tokens, rates, cacheSize.tokens).map((rate) => `${(100 * rate).toFixed(1)} %`);
  const holders =
    cacheSize.caches === null
      ? "the cache of each worker holds"
      : cacheSize.caches === 1
        ? "its cache holds"
        : `${whole(cacheSize.caches)} separate caches hold`;
  const hit = observed === null ? "" : `; ${(100 * observed).toFixed(1)} % were hit`;
  return (
    `According to the server, ${holders} ${whole(cacheSize.tokens)} tokens (${cacheSize.metric}). One cache of that ` +
    `size could hit ${low === high ? low : `${low} to ${high}`} of the prompt tokens of the trace${hit}. ` +
    "Running requests also use this space."
  );
}

function addCapacityCurve(part) {
  const tokens = forecast.curve.map(([blocks]) => blocks * forecast.block_size);
  const rates = forecast.curve.map(([, hits]) => hits / forecast.input_tokens);
  const observed = forecast.reported_tokens > 0 ? forecast.cached_tokens / forecast.reported_tokens : null;
  const curve = { x: [...tokens], y: [...rates] };
  if (cacheSize) {
    part.grid.before(make("p", { class: "lead" }, sizeSentence(tokens, rates, observed)));
    if (cacheSize.tokens > tokens[tokens.length - 1]) {
      // Beyond the size that hits all that can be hit.
      curve.x.push(cacheSize.tokens);
      curve.y.push(rates[rates.length - 1]);
    }
  }
  new Chart(part.grid, {
    title: "Hit rate by cache size",
    note: `for the trace, in blocks of ${whole(forecast.block_size)} tokens, evicting the least recently used`,
    x: countAxis("log", "tokens that the cache holds"),
    y: percentAxis("share of prompt tokens", { to: Math.min(1, 1.15 * Math.max(...rates, observed || 0)) }),
    layers: () => [
      { kind: "line", name: "by the trace", color: "blue", ...curve },
      observed === null
        ? null
        : {
            kind: "rule",
            color: "orange",
            level: observed,
            dash: true,
            name: `hit by this server ${(100 * observed).toFixed(1)} %`,
          },
      cacheSize && {
        kind: "rule",
        color: "purple",
        at: cacheSize.tokens,
        dash: true,
        name: `size that the server reports ${short(cacheSize.tokens)}`,
      },
      cacheSize && observed !== null
        ? { kind: "ring", color: "orange", x: [cacheSize.tokens], y: [observed] }
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
      "pale: could be hit according to the trace; full: was hit",
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
