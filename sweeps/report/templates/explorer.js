// One sentence at a time: from the server, or from the bank that the page holds.

const {systems, examples, serves} = await embedded("explorer");
const bank = await embedded("bank");
const byId = id => document.getElementById(id);
const ask = byId("ask"), source = byId("source"), example = byId("example"), find = byId("find");
const translations = byId("translations"), inside = byId("inside");
const LOW = 0.5; // probabilities below it are marked
const TYPING = 200; // milliseconds until a search begins

// Words become text, never markup.
function made(name, properties, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

// Traces. One of the bank is unpacked once it is shown.

async function served(question, signal) {
  const body = JSON.stringify(question), headers = {"Content-Type": "application/json"};
  const response = await fetch("trace", {method: "POST", headers, body, signal});
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

// Questions. A new one ends the one before.

let running = new AbortController();
let traces = []; // [number of a system, its trace], of the sentence that is shown

const chosen = () => [...ask.querySelectorAll("[name=system]:checked")].map(({value}) => +value);
const exampleNumber = () => example?.value ? +example.value : null;

function question() { // the sentence to translate, and its place among the examples
  const number = exampleNumber();
  const text = serves ? source.value : examples[number]?.source ?? "";
  return {text, number: examples[number]?.source === text ? number : null};
}

async function translate() {
  running.abort();
  running = new AbortController();
  const {signal} = running;
  const {text, number} = question(), found = [];
  if (!serves && number === null) return;
  byId("wrong").textContent = "";
  for (const system of chosen()) {
    byId("said").textContent = `${systems[system].label} translates …`;
    try {
      const trace = serves ? await served({system, source: text}, signal)
        : await unpacked(bank[number][system]);
      if (signal.aborted) return;
      found.push([system, trace]);
    } catch (error) {
      if (signal.aborted) return;
      byId("wrong").textContent += `${systems[system].label}: ${error.message}. `;
    }
  }
  traces = found;
  byId("said").textContent =
    found.length ? `Translated by ${found.length} of ${systems.length} systems.` : "";
  await show(text, examples[number]?.reference);
}

// What is shown of all systems.

function wordsOf(words) {
  return words.map(([word, probability]) => {
    const text = probability < LOW ? made("mark", {textContent: word}) : word;
    return made("ruby", {}, text, made("rt", {textContent: Math.round(100 * probability)}));
  });
}

function card([system, {words, ending, unknown}]) {
  const {label, colour} = systems[system];
  const swatch = made("span", {className: "swatch inked"});
  swatch.style.setProperty("--hue", colour);
  const shown = made("section", {className: "card"},
    made("h3", {}, swatch, " ", made("bdi", {textContent: label})),
    made("p", {className: "words"}, made("bdi", {}, ...wordsOf(words))),
    made("p", {className: "soft", textContent: `It ${ending}.`}));
  if (unknown.length) {
    const text = `Not in its vocabulary: ${unknown.join(" ")}`;
    shown.append(made("p", {className: "bad", textContent: text}));
  }
  return shown;
}

async function show(text, reference) {
  translations.hidden = inside.hidden = !traces.length;
  if (!traces.length) return;
  translations.querySelector("[data-shown=source]").textContent = text;
  translations.querySelector("[data-shown=reference]").textContent = reference ?? "";
  translations.querySelectorAll(".known").forEach(part => part.hidden = reference === undefined);
  translations.querySelector(".cards").replaceChildren(...traces.map(card));
  const ends = traces.flatMap(([, trace]) => trace.ends);
  const description = "Probability of the end at each token. "
    + traces.map(([system, {ending}]) => `${systems[system].label} ${ending}.`).join(" ");
  await draw("ends", {...figures.ends, datasets: {ends}, description});
  offer("system", traces.map(([system]) => systems[system].label));
  await look();
}

// What is shown of one system.

const selectOf = name => inside.querySelector(`[data-of=${name}]`);

function offer(name, labels, usual = 0) {
  const select = selectOf(name);
  select.closest("label").hidden = !labels.length;
  if (labels.join("\n") === [...select.options].map(({value}) => value).join("\n")) return;
  select.replaceChildren(...labels.map(label => new Option(label, label)));
  select.selectedIndex = usual;
}

let drawing = Promise.resolve(); // one picture after the other

function draw(id, spec) {
  const place = byId(id).querySelector(".chart");
  drawing = drawing.then(() => render(place, spec, id));
  return drawing;
}

function cell(value, name = "td") {
  if (typeof value !== "number") return made(name, {className: "text"}, made("bdi", {textContent: value}));
  const shown = made(name, {className: "number", textContent: value});
  shown.dataset.value = value;
  return shown;
}

function fill(id, rows) {
  const table = byId(id);
  for (const {cells} of table.tHead.rows) for (const header of cells) header.ariaSort = "none";
  table.tBodies[0].replaceChildren(...rows.map(([first, ...others]) => {
    const header = cell(first, "th");
    header.scope = "row";
    return made("tr", {}, header, ...others.map(value => cell(value)));
  }));
}

function strongest(weights, words) { // the two source tokens with the most weight
  return weights.map((weight, place) => [weight, words[place]])
    .sort(([a], [b]) => b - a).slice(0, 2)
    .map(([weight, word]) => `${word.slice(word.indexOf(" ") + 1)} ${(weight / 1000).toFixed(2)}`)
    .join(", ");
}

async function look() {
  const [system, trace] = traces[selectOf("system").selectedIndex];
  const {steps, beam, finished, map} = trace;
  const layers = map?.heads?.length ?? 0, heads = map?.heads?.[0].length ?? 0;
  const counted = count => Array.from({length: count}, (_, number) => `${number}`);
  offer("layer", counted(layers), layers - 1);
  offer("head", heads ? [...counted(heads - 1), "mean"] : [], heads - 1);
  const [layer, head] = [selectOf("layer").selectedIndex, selectOf("head").selectedIndex];
  const weights = map && (map.heads?.[layer][head] ?? map.weights);
  const others = instead => instead.map(([piece, p]) => `${piece} ${p.toFixed(2)}`).join(", ");
  fill("steps", steps.map(([piece, probability, instead, end], place) => [
    place + 1, piece, probability, others(instead), end,
    weights ? strongest(weights[place], map.source) : "–",
  ]));
  const {nodes, links} = beam.datasets; // the first node, the empty prefix, hangs on no link
  fill("prefixes", links.map(({step, place, from, best}, number) => {
    const {piece, probability, total} = nodes[number + 1];
    return [step, place, piece, probability, total, from, best ? "yes" : "no"];
  }));
  fill("finished", finished.map((row, place) => [place + 1, ...row]));
  byId("attention").hidden = !map;
  inside.querySelector(".note").textContent =
    map ? "" : `${systems[system].label} has no attention: there are no weights to draw.`;
  if (map) {
    const part = map.heads ? `, layer ${layer}, head ${selectOf("head").value}` : "";
    await draw("attention", filled(map, weights, byId("attention").querySelector(".chart"), {head: part}));
  }
  await draw("beam", {...figures.beam, ...beam});
}

// Controls.

function listExamples() {
  const wanted = find.value.trim().toLowerCase();
  const kept = [...examples.entries()].filter(([, {source}]) => source.toLowerCase().includes(wanted));
  example.replaceChildren(...kept.map(([place, {number, source}]) =>
    new Option(`${number}: ${source.length > 80 ? `${source.slice(0, 80)}…` : source}`, place)));
  byId("found").textContent = wanted ? `${kept.length} of ${examples.length} sentences` : "";
}

function takeExample() {
  const number = exampleNumber();
  if (number === null) return;
  if (serves) source.value = examples[number].source;
  translate();
}

byId("systems").append(...systems.map(({label}, value) => made("label", {},
  made("input", {type: "checkbox", name: "system", value, checked: true}), " ", made("bdi", {textContent: label}))));
byId("systems").addEventListener("change", () => traces.length && translate());
inside.addEventListener("change", look);
ask.addEventListener("submit", event => {
  event.preventDefault();
  if (serves) translate();
});
source?.addEventListener("keydown", event => {
  if (event.key !== "Enter" || event.isComposing) return;
  event.preventDefault(); // a sentence is one line
  translate();
});
if (examples.length) {
  let typed;
  find.addEventListener("input", () => {
    clearTimeout(typed);
    typed = setTimeout(() => {
      listExamples();
      if (!serves) takeExample();
    }, TYPING);
  });
  example.addEventListener("change", takeExample);
  listExamples();
  takeExample();
}
