"use strict";
const embedded = id => JSON.parse(document.getElementById(id).textContent);
const figures = embedded("figures");
const files = embedded("tables");
const views = new Map(); // of what is drawn, by place

// Pictures. What is folded away has no width yet: it is drawn when it is opened.

async function draw(place) {
  if (views.has(place)) return;
  views.set(place, null); // being drawn
  const options = {renderer: "svg", actions: false};
  const {view} = await vegaEmbed(place, figures[place.dataset.figure], options);
  views.set(place, view);
}

for (const place of document.querySelectorAll(".chart")) {
  const fold = place.closest("details:not([open])");
  if (fold) fold.addEventListener("toggle", () => draw(place)); else draw(place);
}

// Paper has no folds.

const opened = [];
addEventListener("beforeprint", () => {
  opened.push(...document.querySelectorAll("details:not([open])"));
  for (const fold of opened) fold.open = true;
  document.querySelectorAll(".chart").forEach(draw);
});
addEventListener("afterprint", () => {
  for (const fold of opened.splice(0)) fold.open = false;
});

// Tables sort by a column: up, down, and back to the order of the page.

const NEXT = {none: "ascending", ascending: "descending", descending: "none"};
const words = new Intl.Collator(undefined, {numeric: true});

function compare(a, b, direction) {
  const [first, second] = [a.dataset.value, b.dataset.value];
  if (first === undefined) return direction * words.compare(a.textContent, b.textContent);
  if (first === "" || second === "") return (first === "") - (second === ""); // nothing comes last
  return direction * (first - second);
}

function sort(header) {
  const body = header.closest("table").tBodies[0];
  const order = NEXT[header.ariaSort];
  for (const other of header.parentElement.cells) other.ariaSort = "none";
  header.ariaSort = order;
  const rows = [...body.rows];
  rows.forEach((row, place) => row.dataset.place ??= place);
  rows.sort((a, b) => a.dataset.place - b.dataset.place);
  const direction = order === "ascending" ? 1 : -1;
  const column = header.cellIndex;
  if (order !== "none") rows.sort((a, b) => compare(a.cells[column], b.cells[column], direction));
  body.append(...rows);
}

for (const header of document.querySelectorAll(".sorts thead th")) {
  header.querySelector("button").addEventListener("click", () => sort(header));
}

// One of several panels is shown at a time.

for (const choice of document.querySelectorAll(".choice")) {
  const [select, panels] = [choice.querySelector("select"), choice.querySelectorAll(".panel")];
  select.addEventListener("change", () => {
    panels.forEach((panel, place) => panel.hidden = place !== select.selectedIndex);
  });
}

// Files are made here, of what the page holds: it may be read far from its folder.

function save(name, address) {
  const link = document.createElement("a");
  Object.assign(link, {download: name, href: address});
  link.click();
}

function saveText(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], {type}));
  save(name, address);
  setTimeout(() => URL.revokeObjectURL(address), 60000); // the browser reads it after the click
}

async function savePicture(place, ending) {
  const view = views.get(place);
  const name = `${place.dataset.figure}.${ending}`;
  if (ending === "svg") saveText(name, await view.toSVG(), "image/svg+xml");
  else save(name, await view.toImageURL("png", 2));
}

document.addEventListener("click", ({target}) => {
  const {csv, picture} = target.dataset;
  if (csv) saveText(`${csv}.csv`, files[csv], "text/csv");
  if (picture) savePicture(target.closest(".drawing").querySelector(".chart"), picture);
});
