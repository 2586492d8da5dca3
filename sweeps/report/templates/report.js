"use strict";

// The data are packed, so that the page can be mailed; the browser unpacks them while it waits.

async function unpacked(packed) {
  const bytes = Uint8Array.from(atob(packed), letter => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}
const embedded = id => unpacked(JSON.parse(document.getElementById(id).textContent));

let figures, files, sentences;
const ready = Promise.all(["figures", "tables", "attentions"].map(embedded))
  .then(found => [figures, files, sentences] = found);
const views = new Map(); // of what is drawn, by place

const library = embedded("vega").then(script => (0, eval)(script)); // defines vegaEmbed

// Pictures. What is not shown has no width yet: it is drawn when it is.

async function render(place, spec, name) {
  place.dataset.name = name;
  await library;
  const {view} = await vegaEmbed(place, spec, {renderer: "svg", actions: false});
  views.set(place, view);
  place.role = "img"; // a screen reader tells of one picture, not of each mark
  place.ariaLabel = spec.description ?? name.replaceAll("_", " ");
}

// A map fits its place and the screen: the cells of long sentences are small.

const HIGHEST = 640;

function filled({spec, source, target, margin}, weights, place, head = "") {
  const made = structuredClone(spec);
  const room = place.clientWidth - margin;
  const step = Math.min(spec.width.step, room / source.length, HIGHEST / target.length);
  made.width = made.height = {step};
  made.title.limit = place.clientWidth;
  if (head) made.description = `Attention of ${made.title.text}, ${made.title.subtitle}${head}`;
  made.title.subtitle += head;
  if (made.layer[1]) made.layer[1].mark.strokeWidth = Math.min(2, step / 6);
  const values = target.flatMap((row, j) => source.map((column, i) =>
    ({source: column, target: row, weight: weights[j][i] / 1000})));
  made.layer[0].data = {values};
  return made;
}

// Charts of many cards are one description, to which each brings its data.
const specOf = ({like, ...own}) => like ? {...figures[like], ...own} : own;

function draw(place) {
  const {figure, map, name} = place.dataset;
  if (name) return;
  if (figure) return render(place, specOf(figures[figure]), figure);
  const [sentence, system] = map.split("-");
  const drawn = sentences[sentence].translations[system].heat_map;
  return render(place, filled(drawn, drawn.weights, place), `attention-${map}`);
}

// The browser shows each picture before the next one is drawn.
const shownSoFar = () => new Promise(resolve => setTimeout(resolve));

async function drawVisible(part) {
  await ready;
  const places = part.querySelectorAll(".chart:is([data-figure], [data-map])");
  for (const place of places) {
    if (!place.checkVisibility()) continue;
    await draw(place);
    await shownSoFar();
  }
}

drawVisible(document);
for (const fold of document.querySelectorAll("details")) {
  fold.addEventListener("toggle", () => drawVisible(fold));
}

function openTarget() { // of a link to a folded part
  const target = document.getElementById(location.hash.slice(1));
  if (target?.tagName === "DETAILS") target.open = true;
}
addEventListener("hashchange", openTarget);
openTarget();

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
    drawVisible(choice);
  });
}

// One heat map at a time, of the sentence, system, layer and head that are chosen.

const look = document.getElementById("look");
let drawing = Promise.resolve(); // one after the other

function selectOf(name) {
  return look.querySelector(`[data-of=${name}]`);
}

function offer(name, labels, usual = 0) {
  const select = selectOf(name);
  select.closest("label").hidden = !labels.length;
  if (labels.join("\n") === [...select.options].map(option => option.value).join("\n")) return;
  select.replaceChildren(...labels.map(label => new Option(label, label)));
  select.selectedIndex = usual;
}

function show() {
  const sentence = sentences[selectOf("sentence").selectedIndex];
  offer("system", sentence.translations.map(({label}) => label));
  const {hypothesis, heat_map: map, note} = sentence.translations[selectOf("system").selectedIndex];
  const layers = map?.heads?.length ?? 0, heads = map?.heads?.[0].length ?? 0;
  const counted = count => Array.from({length: count}, (_, number) => `${number}`);
  offer("layer", counted(layers), layers - 1);
  offer("head", heads ? [...counted(heads - 1), "mean"] : [], heads - 1);
  look.querySelector("[data-shown=source]").textContent = sentence.source ?? "–";
  look.querySelector("[data-shown=hypothesis]").textContent = hypothesis;
  look.querySelector(".note").textContent = map ? "" : note;
  look.querySelector(".drawing").hidden = !map;
  if (!map) return;
  const [layer, head] = [selectOf("layer").selectedIndex, selectOf("head").selectedIndex];
  const place = look.querySelector(".chart");
  const part = map.heads ? `, layer ${layer}, head ${selectOf("head").value}` : "";
  const spec = filled(map, map.heads?.[layer][head] ?? map.weights, place, part);
  const name = `attention-${sentence.number}` + (map.heads ? `-layer${layer}-head${head}` : "");
  drawing = drawing.then(() => render(place, spec, name));
}

function step(name, by) {
  const select = selectOf(name);
  select.selectedIndex = (select.selectedIndex + by + select.length) % select.length;
  show();
}

const ARROWS = {
  ArrowLeft: ["sentence", -1], ArrowRight: ["sentence", 1],
  ArrowUp: ["system", -1], ArrowDown: ["system", 1],
};

if (look) ready.then(() => {
  offer("sentence", sentences.map(({number, why}) => `${number}: ${why}`));
  offer("system", sentences[0].translations.map(({label}) => label),
    Math.max(0, sentences[0].translations.findIndex(({heat_map: map}) => map)));
  show();
  look.addEventListener("change", show);
  look.addEventListener("click", ({target}) => {
    const {step: name, by} = target.closest("button")?.dataset ?? {};
    if (name) step(name, Number(by));
  });
  look.addEventListener("keydown", event => {
    if (!(event.key in ARROWS) || event.target.matches("select")) return;
    event.preventDefault();
    step(...ARROWS[event.key]);
  });
});

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
  if (ending === "svg") saveText(name, await view.toSVG(), "image/svg+xml");
  else save(name, await view.toImageURL("png", 2));
}

document.addEventListener("click", ({target}) => {
  const {csv, picture} = target.dataset;
  if (csv) saveText(`${csv}.csv`, files[csv], "text/csv");
  if (picture) savePicture(target.closest(".drawing"), picture);
});
