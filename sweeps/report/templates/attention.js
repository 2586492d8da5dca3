
// Attention: one sentence with the words and maps of all systems, which are linked with each other,
// and one map over the validations of a training.

const NARROWEST = 248; // pixels of a map: four stand side by side on a wide screen
const SMALLEST = SMALLEST_TYPE + 1; // pixels of a cell whose word has room: maps of long sentences are wider
const BETWEEN = 8; // pixels between two maps of a row
const PLAYING = 400; // milliseconds between two validations

function keysOf(words) { // a word and how often it stood before: so it is found in other lines
  const seen = new Map();
  return words.map(word => {
    seen.set(word, (seen.get(word) ?? -1) + 1);
    return `${word} ${seen.get(word)}`;
  });
}

const places = values => Array.from(values, (_, place) => place);

function rowsOf(count, most) { // how many stand in each row: nearly as many in all of them
  const rows = Math.ceil(count / most);
  return places({length: rows}).map(row => Math.ceil((count - row) / rows));
}

const marked = parts => // a line in parts, as nodes
  parts.map(([text, mark]) => mark ? element("mark", {className: mark, textContent: text}) : text);

// A line is one stop of the Tab key; its words are buttons, which the arrow keys reach.

function wordLine(name, words) {
  const buttons = words.map((parts, place) => element("button",
    {type: "button", className: "word", tabIndex: place ? -1 : 0},
    ...marked(parts)));
  const line = element("div", {className: "line", role: "toolbar", ariaLabel: name, dir: "auto"},
    ...buttons.flatMap(button => [button, " "]));
  if (!words.length) line.append(element("em", {className: "soft", textContent: "nothing"}));
  line.addEventListener("focusin", ({target}) => {
    for (const button of buttons) button.tabIndex = button === target ? 0 : -1;
  });
  line.addEventListener("keydown", event => {
    const from = buttons.indexOf(event.target);
    const ahead = getComputedStyle(line).direction === "rtl" ? -1 : 1;
    const to = {ArrowLeft: from - ahead, ArrowRight: from + ahead, Home: 0, End: buttons.length - 1}[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    buttons[to]?.focus();
  });
  return {line, buttons};
}

function chooser(title, of, options, usual) {
  const select = element("select", {ariaLabel: `${title} of ${of}`}, ...options.map(option => new Option(option, option)));
  select.selectedIndex = usual;
  return {select, label: element("label", {}, `${title} `, select)};
}

class SystemPanel { // the map and the words of one system
  constructor({label, bleu, words, map, note}, named, name, redraw) { // `named`: its name as the page marks it
    Object.assign(this, {label, map, name, cells: []});
    this.glyph = named?.querySelector(".system")?.dataset.mark;
    this.texts = words.map(parts => parts.map(([text]) => text).join(""));
    this.keys = keysOf(this.texts);
    const {line, buttons} = wordLine(`Translation of ${label}`, words);
    this.buttons = buttons;
    const title = element("h3", {className: map ? "unseen" : ""}, named?.cloneNode(true) ?? isolated(label), " ",
      element("small", {className: "soft", textContent: `BLEU ${bleu.toFixed(1)}`}));
    this.card = element("section", {}, title);
    if (map) this.card.append(...this.drawingOf(map, redraw));
    this.card.append(line);
    if (note) this.card.append(element("p", {className: "note soft", textContent: note}));
  }

  drawingOf(map, redraw) {
    this.place = element("div", {className: "chart"});
    const saves = ["svg", "png"].map(ending => {
      const button = element("button", {type: "button", className: "save",
        textContent: ending.toUpperCase(), ariaLabel: `${ending.toUpperCase()} of the attention of ${this.label}`});
      button.dataset.picture = ending;
      return button;
    });
    const drawing = element("div", {className: "drawing"},
      element("div", {className: "paper wide"}, this.place),
      element("p", {className: "saves"}, ...saves));
    if (!map.heads) return [drawing];
    const [layers, heads] = [places(map.heads), places(map.heads[0].slice(1))];
    const layer = chooser("Layer", this.label, layers, layers.length - 1);
    const head = chooser("Head", this.label, [...heads, "mean"], heads.length); // the mean stands last
    Object.assign(this, {layer: layer.select, head: head.select});
    const controls = element("p", {className: "controls"}, layer.label, head.label);
    controls.addEventListener("change", () => redraw(this));
    return [drawing, controls]; // below, so that the maps of a row begin at one height
  }

  get weights() {
    return this.layer ? this.map.heads[this.layer.selectedIndex][this.head.selectedIndex] : this.map.weights;
  }

  async draw() {
    const of = this.layer ? [`layer ${this.layer.value}`, `head ${this.head.value}`] : [];
    const name = [this.name, ...of.map(part => part.replace(" ", ""))].join("-");
    const head = of.map(part => `, ${part}`).join("");
    const spec = filled(this.map, this.weights, this.place, {head, legend: false});
    if (this.glyph) spec.title.text = `${this.glyph} ${spec.title.text}`;
    await render(this.place, spec, name);
    this.cells = [...this.place.querySelectorAll(".layer_0_marks path")]; // in the order of the data
  }

  mark(source, row, linked) {
    this.buttons.forEach((button, place) => button.classList.toggle("on", place === row));
    if (!this.map) return;
    this.place.classList.toggle("linked", linked);
    const columns = this.map.source.length;
    this.cells.forEach((cell, index) =>
      cell.classList.toggle("on", index % columns === source || Math.floor(index / columns) === row));
  }

  told(source, row) { // the weight of both words, or of the strongest partner of one
    const weights = this.weights;
    const [i, j] = [source ?? highest(weights[row]), row ?? highest(weights.map(each => each[source]))];
    const partner = source === undefined ? unnumbered(this.map.source[i]) : this.texts[j];
    const gold = this.map.gold.some(([from, to]) => from === i && to === j) ? " (gold link)" : "";
    return [isolated(this.label), " ", ...(source !== undefined && row !== undefined ? [] : [isolated(partner), " "]),
      `${share(weights[j][i])}${gold}`];
  }
}

class SentenceStrip {
  constructor(look, sentences) {
    Object.assign(this, {look, sentences, links: new Map(), drawing: Promise.resolve()});
    this.names = new Map([...look.querySelectorAll("template")].map(each => [each.dataset.system, each.content]));
    this.strip = look.querySelector(".strip");
    this.select = look.querySelector("[data-of=sentence]");
    this.select.append(...sentences.map(({number, why}) => new Option(`${number}: ${why}`)));
    this.select.addEventListener("change", () => this.show());
    look.addEventListener("click", ({target}) => {
      const by = target.closest("[data-step]")?.dataset.step;
      if (by) this.step(Number(by));
    });
    look.addEventListener("keydown", event => {
      const by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
      if (!by || event.target.matches("select")) return;
      event.preventDefault();
      this.step(by);
    });
    look.addEventListener("pointerover", ({target}) => this.link(target.closest(".word, path")));
    look.addEventListener("pointerleave", () => this.link());
    for (const name of ["focusin", "focusout"]) look.addEventListener(name, () => this.link());
    this.show();
    new ResizeObserver(() => this.arrange()).observe(this.strip);
  }

  step(by) {
    const {select} = this;
    select.selectedIndex = (select.selectedIndex + by + select.length) % select.length;
    this.show();
  }

  shown(name) {
    return this.look.querySelector(`[data-shown=${name}]`);
  }

  show() {
    const {number, source, reference, translations} = this.sentences[this.select.selectedIndex];
    this.links = new Map();
    this.source = source ?? [];
    for (const part of this.look.querySelectorAll(".known")) part.hidden = source === null;
    const {line, buttons} = wordLine("Source", this.source.map(word => [[word, ""]]));
    this.sources = buttons;
    buttons.forEach((button, place) => this.links.set(button, {source: place}));
    this.shown("source").replaceChildren(line);
    this.shown("reference").replaceChildren(...marked(reference));
    const panels = translations.map((each, place) =>
      new SystemPanel(each, this.names.get(each.label), `attention-${number}-${place}`, panel => this.draw(panel)));
    this.panels = panels.sort((a, b) => !a.map - !b.map); // maps first, in the order of the systems
    for (const {buttons, keys} of this.panels) {
      buttons.forEach((button, place) => this.links.set(button, {word: keys[place]}));
    }
    this.strip.replaceChildren(...this.panels.map(({card}) => card));
    this.link();
    this.arranged = "";
    this.arrange();
  }

  arrange() { // maps fill their rows; a text without a map has a row of its own
    const maps = this.panels.filter(({map}) => map);
    const widths = maps.map(({map}) => map.margin + SMALLEST * map.source.length);
    const least = Math.max(NARROWEST, ...widths) + BETWEEN;
    const most = Math.max(1, Math.floor((this.strip.clientWidth + BETWEEN) / least));
    const inRows = rowsOf(maps.length, most);
    if (`${inRows}` === this.arranged) return;
    this.arranged = `${inRows}`;
    const counts = inRows.flatMap(count => Array(count).fill(count));
    maps.forEach(({card}, place) => card.style.setProperty("--in-row", counts[place]));
    for (const panel of maps) this.draw(panel);
  }

  draw(panel) { // one map after the other
    this.drawing = this.drawing.then(async () => {
      if (!panel.map || !panel.card.isConnected) return; // another sentence is shown by now
      await panel.draw();
      const columns = panel.map.source.length;
      panel.cells.forEach((cell, index) => this.links.set(cell,
        {source: index % columns, word: panel.keys[Math.floor(index / columns)]}));
      await shownSoFar();
    });
  }

  link(pointed) { // mark what is pointed at, else the word that has the focus
    const {source, word} = this.links.get(pointed) ?? this.links.get(document.activeElement) ?? {};
    const linked = source !== undefined || word !== undefined;
    this.sources.forEach((button, place) => button.classList.toggle("on", place === source));
    const said = [];
    for (const panel of this.panels) {
      const found = panel.keys.indexOf(word), row = found < 0 ? undefined : found;
      panel.mark(source, row, linked);
      if (!linked || !panel.map) continue;
      const lacks = word !== undefined && !panel.weights[row];
      said.push("; ", ...(lacks ? [isolated(panel.label), " does not write it"] : panel.told(source, row)));
    }
    const names = [this.source[source], word?.slice(0, word.lastIndexOf(" "))].filter(Boolean);
    this.shown("linked").replaceChildren(
      ...names.flatMap((name, place) => [place ? " → " : "", isolated(name)]),
      ...(said.length ? [": ", ...said.slice(1)] : []));
  }
}

const look = document.getElementById("look");
if (look) firstDrawn.then(async () => new SentenceStrip(look, await embedded("sentences")));

// The validations of a training, one at a time.

class TrainingSlider {
  constructor(section, sentences) {
    Object.assign(this, {sentences, playing: null, drawing: Promise.resolve()});
    for (const name of ["select", "input", "output"]) this[name] = section.querySelector(name);
    this.place = section.querySelector(".chart");
    this.button = section.querySelector("[data-play]");
    this.select.append(...sentences.map(({name}) => new Option(name)));
    this.select.addEventListener("change", () => this.choose());
    this.input.addEventListener("input", () => {
      this.pause();
      this.show();
    });
    this.button.addEventListener("click", () => this.playing ? this.pause() : this.play());
    this.choose();
  }

  choose() { // the last validation first
    this.pause();
    const last = this.sentences[this.select.selectedIndex].steps.length - 1;
    this.input.max = this.input.value = last;
    this.input.disabled = this.button.disabled = !last;
    this.show();
  }

  show() {
    const number = this.select.selectedIndex;
    const {map, steps} = this.sentences[number];
    const {at, weights} = steps[this.input.value];
    this.output.textContent = this.input.ariaValueText = at;
    this.drawing = this.drawing.then(async () => {
      const {place} = this, name = `attention-forms-${number}`;
      if (place.dataset.name !== name) return render(place, filled(map, weights, place, {legend: false}), name);
      place.ariaLabel = described(map.spec.title, map, weights);
      await views.get(place).data("cells", cellsOf(map, weights)).runAsync();
    });
  }

  play() {
    const last = Number(this.input.max);
    if (Number(this.input.value) === last) this.input.value = 0;
    this.button.textContent = "Pause";
    this.show();
    this.playing = setInterval(() => {
      this.input.value = Number(this.input.value) + 1;
      this.show();
      if (Number(this.input.value) === last) this.pause();
    }, PLAYING);
  }

  pause() {
    clearInterval(this.playing);
    this.playing = null;
    this.button.textContent = "Play";
  }
}

const formed = document.getElementById("formed");
if (formed) firstDrawn.then(async () => new TrainingSlider(formed, await embedded("formed-data")));
