// What every page does as a whole: links to its parts, its foot, light and dark, paper, and how its
// parts are shown. Shared by all pages.

function drawAll() {
  for (const chart of charts) chart.refresh();
}

// A link to each part of the page.
function partLinks() {
  const links = [...document.querySelectorAll("main > section")].map((part) =>
    make("a", { href: `#${part.id}` }, part.querySelector("h2").textContent),
  );
  return make("div", { class: "links" }, links);
}

// The foot: lines of the page's own, and whose scales and number formats these are.
function addFoot(...lines) {
  const credit = "Scales and number formats by d3 (BSD-3-Clause; the licence is in the source of this page).";
  document.getElementById("foot").append(...[...lines, credit].map((line) => make("p", {}, line)));
}

// Each part is painted before the next is made, so that the words above stand at once.
async function showParts(parts) {
  const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  for (const add of parts) {
    await painted();
    const before = charts.length;
    add();
    for (const chart of charts.slice(before)) chart.refresh();
  }
}

// The theme may change, and on paper the page is light, whatever the screen is.
function followLooks() {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  for (const event of ["beforeprint", "afterprint"]) {
    window.addEventListener(event, () => {
      document.documentElement.classList.toggle("paper", event === "beforeprint");
      drawAll();
    });
  }
}
