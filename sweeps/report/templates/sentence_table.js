
// Every test sentence: unpacked and drawn once the fold is open, some rows at a time.

const ROWS_AT_ONCE = 50;
const everySentence = document.getElementById("every-sentence");

function element(name, given, ...children) {
  const made = Object.assign(document.createElement(name), given);
  made.append(...children);
  return made;
}

const isolated = text => element("bdi", {textContent: text}); // its script may run the other way

class SentenceTable {
  constructor(fold, {systems, kinds, unit, rows}) {
    Object.assign(this, {fold, systems, kinds, rows, order: {column: -1, direction: 1}});
    this.searched = rows.map(([, , source, reference, texts]) =>
      [source ?? "", reference, ...texts].join("\n").toLocaleLowerCase());
    this.values = [row => row[0], row => row[1], ...systems.map((_, place) => row => row[5][place])];
    this.input = fold.querySelector("input");
    this.kind = fold.querySelector("[data-of=kind]");
    this.system = fold.querySelector("[data-of=system]");
    this.kind.append(new Option("any", ""), ...kinds.map((kind, place) => new Option(kind, place)));
    this.system.append(new Option("any system", ""),
      ...systems.map((system, place) => new Option(system, place)));
    const titles = ["sentence", unit, ...systems];
    this.heads = titles.map((title, column) => element("th", {ariaSort: "none", scope: "col"},
      element("button", {type: "button", textContent: title, onclick: () => this.sort(column)})));
    fold.querySelector("thead").append(element("tr", {}, ...this.heads));
    fold.querySelector("table").classList.add("sorts");
    this.more = fold.querySelector("[data-more]");
    this.more.onclick = () => this.append();
    const form = fold.querySelector("form");
    form.addEventListener("input", () => this.find());
    form.addEventListener("submit", event => event.preventDefault());
    this.find();
  }

  find() { // the rows that hold the words and are of the kind, in order
    const words = this.input.value.trim().toLocaleLowerCase();
    const [kind, system] = [this.kind.value, this.system.value];
    const places = system === "" ? this.systems.map((_, place) => place) : [Number(system)];
    const {column, direction} = this.order;
    this.found = this.rows.filter((row, place) =>
      (!words || `${row[0]}` === words || this.searched[place].includes(words)) &&
      (kind === "" || places.some(each => row[6][each] === Number(kind))));
    const value = this.values[column];
    if (value) this.found.sort((a, b) => direction * (value(a) - value(b)));
    const count = this.found.length.toLocaleString("en");
    this.fold.querySelector("[data-shown=count]").textContent =
      `${count} of ${this.rows.length.toLocaleString("en")}`;
    this.fold.querySelector("tbody").replaceChildren();
    this.append();
  }

  sort(column) {
    const next = NEXT[this.heads[column].ariaSort];
    for (const head of this.heads) head.ariaSort = "none";
    this.heads[column].ariaSort = next;
    this.order = {column: next === "none" ? -1 : column, direction: next === "ascending" ? 1 : -1};
    this.find();
  }

  append() {
    const body = this.fold.querySelector("tbody");
    const from = body.querySelectorAll("tr.row").length;
    body.append(...this.found.slice(from, from + ROWS_AT_ONCE).map(row => this.row(row)));
    this.more.hidden = from + ROWS_AT_ONCE >= this.found.length;
  }

  row(row) {
    const [number, length, , , , scores, kinds] = row;
    const button = element("button", {type: "button", textContent: number, ariaExpanded: "false"});
    const made = element("tr", {className: "row"},
      element("th", {scope: "row"}, button),
      element("td", {textContent: length}),
      ...scores.map((score, place) => element("td", {},
        score.toFixed(1), element("br"),
        element("small", {textContent: this.kinds[kinds[place]]}))));
    button.onclick = () => {
      const opened = button.ariaExpanded === "true";
      button.ariaExpanded = `${!opened}`;
      if (opened) made.nextElementSibling.remove();
      else made.after(this.detail(row));
    };
    return made;
  }

  detail([, , source, reference, texts]) {
    const terms = [...(source === null ? [] : [["Source", source]]), ["Reference", reference],
      ...this.systems.map((system, place) => [system, texts[place]])];
    const list = element("dl", {}, ...terms.flatMap(([term, text]) =>
      [element("dt", {}, isolated(term)), element("dd", {}, isolated(text))]));
    return element("tr", {className: "detail"},
      element("td", {colSpan: 2 + this.systems.length, className: "text"}, list));
  }
}

everySentence?.addEventListener("toggle", async () => {
  if (everySentence.dataset.drawn) return;
  everySentence.dataset.drawn = "begun";
  new SentenceTable(everySentence, await embedded("translations"));
});
