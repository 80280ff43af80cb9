// Fingers over a chart. One that goes up or down scrolls the page, as everywhere (touch-action: pan-y);
// one that goes sideways reads the chart; a tap opens what is near. Two over a time chart zoom it: the
// instants under them stay under them.

const fingersApart = 16; // pixels; closer fingers move the time that is shown and do not stretch it

// The stretch of time in which each finger is over its instant. `fingers` are two of {x, at}.
function timeUnder(chart, [one, other]) {
  const { left, right } = chart.area;
  const shown = (clock.to - clock.from) / (right - left);
  const apart = other.x - one.x;
  const stretched = (other.at - one.at) / apart;
  const isStretched = Math.abs(apart) >= fingersApart && stretched > 0;
  const each = isStretched ? stretched : shown;
  const [x, at] = isStretched ? [one.x, one.at] : [(one.x + other.x) / 2, (one.at + other.at) / 2];
  const from = at - (x - left) * each;
  return [from, from + (right - left) * each];
}

function followFingers(chart) {
  const canvas = chart.over;
  const isTime = chart.x.kind === "time";
  const fingers = new Map(); // by pointer: where it is, and over which instant it came down
  let wasTwo = false; // the last of two fingers that goes away taps nothing
  let frame = 0;

  const zoom = () => {
    frame = 0;
    if (fingers.size === 2) showTime(...timeUnder(chart, [...fingers.values()]));
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "touch" || !chart.area) return;
    if (fingers.size === 0) wasTwo = false;
    const x = event.offsetX;
    fingers.set(event.pointerId, { x, y: event.offsetY, from: x, at: isTime ? chart.toX.invert(x) : 0 });
    if (fingers.size < 2) return;
    wasTwo = true;
    pointNowhere(chart);
  });
  canvas.addEventListener("pointermove", (event) => {
    const finger = fingers.get(event.pointerId);
    if (!finger || !chart.area) return;
    finger.x = event.offsetX;
    if (fingers.size === 1 && !wasTwo) pointAt(chart, event, reach.touch, true);
    else if (fingers.size === 2 && isTime && frame === 0) frame = requestAnimationFrame(zoom);
  });
  canvas.addEventListener("pointerup", (event) => {
    const finger = fingers.get(event.pointerId);
    fingers.delete(event.pointerId);
    if (!finger || wasTwo) return;
    const isTap = Math.hypot(event.offsetX - finger.from, event.offsetY - finger.y) < tapped;
    if (!isTap) return;
    pointAt(chart, event, reach.touch, true);
    if (chart.near !== null) pointed.open(chart.hits.rows[chart.near]);
  });
  canvas.addEventListener("pointercancel", (event) => {
    // The page scrolls.
    if (fingers.delete(event.pointerId)) pointNowhere(chart);
  });
  // What two fingers do is done here alone.
  const keep = (event) => {
    if (isTime && event.touches.length > 1 && event.cancelable) event.preventDefault();
  };
  canvas.addEventListener("touchstart", keep, { passive: false });
  canvas.addEventListener("touchmove", keep, { passive: false });
}

// A touch anywhere else puts away what the last one has shown.
document.addEventListener("pointerdown", (event) => {
  if (event.pointerType !== "touch") return;
  for (const chart of charts) if (chart.near != null && chart.over !== event.target) pointNowhere(chart);
  if (!charts.some((chart) => chart.over === event.target)) hideTip();
});
