"use strict";

// The data are packed, so that the page can be mailed; the browser unpacks them while it waits.

async function unpacked(packed) {
  const bytes = Uint8Array.from(atob(packed), letter => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}
const embedded = id => unpacked(JSON.parse(document.getElementById(id).textContent));

let figures, files;
const ready = Promise.all(["figures", "tables"].map(embedded)).then(found => [figures, files] = found);
const views = new Map(); // of what is drawn, by place

const library = embedded("vega").then(script => (0, eval)(script)); // defines vegaEmbed

// Pictures. What is not shown has no width yet: it is drawn when it is.

const SEEN_THROUGH = {background: null}; // the card shows, in light and in dark

async function render(place, spec, name) {
  place.dataset.name = name;
  await library;
  const {view} = await vegaEmbed(place, spec, {renderer: "svg", actions: false, config: SEEN_THROUGH});
  views.set(place, view);
  view.addEventListener("click", (_, item) => bringOut(view, item));
  place.role = "img"; // a screen reader tells of one picture, not of each mark
  place.ariaLabel = spec.description ?? name.replaceAll("_", " ");
}

// A name at the end of a line brings it out, as a name of the legend does, which Vega sees to. A
// second click, or one elsewhere in the chart, brings all back.

function bringOut(view, item) {
  if (item?.mark.role.startsWith("legend")) return;
  const isLegend = signal => signal?.endsWith("_system_legend");
  const [legend] = Object.keys(view.getState({signals: isLegend, data: () => false}).signals);
  if (!legend) return;
  const name = item?.mark.marktype === "text" ? item.datum?.system : null;
  view.signal(legend, name && view.signal(legend) !== name ? name : null).runAsync();
}

// A map fits its place and the screen: the cells of long sentences are small.

const HIGHEST = 640, SMALLEST_TYPE = 8;

function filled(map, weights, place, {head = "", legend = true} = {}) {
  const {spec, source, target, margin} = map, made = structuredClone(spec);
  const room = place.clientWidth - margin;
  const step = Math.min(spec.width.step, room / source.length, HIGHEST / target.length);
  made.width = made.height = {step};
  made.title.limit = place.clientWidth;
  made.title.subtitle += head;
  made.description = described(made.title, map, weights);
  for (const {encoding: {x, y, color, stroke}} of made.layer) {
    for (const {axis} of [x, y]) axis.labelFontSize = Math.max(SMALLEST_TYPE, Math.min(axis.labelFontSize, step));
    if (!legend) (color ?? stroke).legend = null;
  }
  if (made.layer[1]) made.layer[1].mark.strokeWidth = Math.min(2, step / 6);
  made.layer[0].data = {name: "cells", values: cellsOf(map, weights)};
  return made;
}

function cellsOf({source, target}, weights) {
  return target.flatMap((row, j) => source.map((column, i) =>
    ({source: column, target: row, weight: (weights[j]?.[i] ?? 0) / 1000})));
}

function described({text, subtitle}, {source, target}, weights) { // for a screen reader
  const most = weights.map((row, j) => {
    const i = highest(row);
    return `${unnumbered(target[j])} on ${unnumbered(source[i])} (${share(row[i])})`;
  });
  return `Attention of ${text}, ${subtitle}. Most weight: ${most.join("; ")}.`;
}

const share = weight => (weight / 1000).toFixed(2);
const unnumbered = word => word.slice(word.indexOf(" ") + 1); // words of maps have their positions
const highest = values => values.reduce((best, value, place) => value > values[best] ? place : best, 0);

// Charts of many cards are one description, to which each brings its data.
const specOf = ({like, ...own}) => like ? {...figures[like], ...own} : own;

function draw(place) {
  const {figure, name} = place.dataset;
  if (!name) return render(place, specOf(figures[figure]), figure);
}

// The browser shows each picture before the next one is drawn.
const shownSoFar = () => new Promise(resolve => setTimeout(resolve));

async function drawVisible(part) {
  await ready;
  const places = part.querySelectorAll(".chart[data-figure]");
  for (const place of places) {
    if (!place.checkVisibility()) continue;
    await draw(place);
    await shownSoFar();
  }
}

const firstDrawn = drawVisible(document);
for (const fold of document.querySelectorAll("details")) {
  fold.addEventListener("toggle", () => drawVisible(fold));
}

function openTarget() { // of a link to a folded part
  const target = document.getElementById(location.hash.slice(1));
  if (target?.tagName === "DETAILS") target.open = true;
}
addEventListener("hashchange", openTarget);
openTarget();

// The contents are open where they stand beside the page, and mark what is being read.

const contents = document.querySelector("nav details");

function follow(contents) {
  const wide = matchMedia("(min-width: 70rem)");
  const fit = () => contents.open = wide.matches;
  fit();
  wide.addEventListener("change", fit);
  const links = new Map([...contents.querySelectorAll("a")]
    .map(link => [document.getElementById(link.hash.slice(1)), link]));
  const parts = [...links.keys()];
  const shown = new Set();
  const mark = () => { // at the end, the last part, which may never reach the upper half
    const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
    const read = atEnd ? parts.at(-1) : parts.find(part => shown.has(part));
    for (const [part, link] of links) link.ariaCurrent = part === read ? "true" : null;
  };
  const observer = new IntersectionObserver(entries => {
    for (const {target, isIntersecting} of entries) shown[isIntersecting ? "add" : "delete"](target);
    mark();
  }, {rootMargin: "0px 0px -60% 0px"});
  for (const part of parts) observer.observe(part);
  addEventListener("scroll", mark, {passive: true});
}

if (contents) follow(contents);

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
  select?.addEventListener("change", () => {
    panels.forEach((panel, place) => panel.hidden = place !== select.selectedIndex);
    drawVisible(choice);
  });
}

// One of several tables is shown at a time; the arrow keys go through their tabs.

function choose(tab) {
  for (const other of tab.parentElement.children) {
    other.ariaSelected = `${other === tab}`;
    other.tabIndex = other === tab ? 0 : -1;
    document.getElementById(other.getAttribute("aria-controls")).hidden = other !== tab;
  }
}

for (const list of document.querySelectorAll("[role=tablist]")) {
  list.addEventListener("click", ({target}) => choose(target.closest("[role=tab]") ?? list.firstElementChild));
  list.addEventListener("keydown", event => {
    const by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!by) return;
    event.preventDefault();
    const tabs = [...list.children];
    const next = tabs.at((tabs.indexOf(event.target) + by) % tabs.length);
    choose(next);
    next.focus();
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

async function savePicture(drawing, ending) {
  const place = drawing.querySelector(".chart");
  const view = views.get(place);
  const name = `${place.dataset.name}.${ending}`;
  view.background("white"); // a file is seen on any ground
  if (ending === "svg") saveText(name, await view.toSVG(), "image/svg+xml");
  else save(name, await view.toImageURL("png", 2));
  view.background(null);
}

document.addEventListener("click", ({target}) => {
  const {csv, picture} = target.dataset;
  if (csv) saveText(`${csv}.csv`, files[csv], "text/csv");
  if (picture) savePicture(target.closest(".drawing"), picture);
});
