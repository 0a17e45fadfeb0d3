// One row: seeds, classes, confusion matrix and command, inserted as text and never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const chooser = document.getElementById("chosen"), details = document.getElementById("details");

function make(tag, parent, text = "", attributes = {}) {
  const made = document.createElement(tag);
  if (text !== "") {
    const inner = tag === "code" ? made : made.appendChild(document.createElement("bdi"));
    inner.textContent = text;
  }
  Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value));
  return parent.appendChild(made);
}

function table(parent, title, columns, id = "") {
  const block = make("div", parent);
  make("h3", block, title);
  const box = make("div", block, "", {class: "scroll", tabindex: "0", role: "region", "aria-label": title});
  const made = make("table", box, "", id ? {id} : {});
  const line = make("tr", make("thead", made));
  columns.forEach(column => make("th", line, column, {scope: "col"}));
  return make("tbody", made);
}

function perClass(parent, row) {
  const body = table(parent, "Per class, mean over seeds", ["class", "precision", "recall", "F1", "examples"]);
  row.classes.forEach((values, i) => {
    const line = make("tr", body);
    make("th", line, data.labels[i] ?? String(i), {scope: "row"});
    values.forEach(value => make("td", line, value.toFixed(3), {class: "number"}));
    make("td", line, String(row.examples[i] / row.seeds.length), {class: "number"});
  });
}

function confusion(parent, row) {
  const name = i => data.labels[i] ?? String(i);
  if (row.cut) {
    const body = table(parent, "Largest confusions, sum over seeds", ["true", "predicted", "examples"]);
    row.confusions.forEach(([i, j, count]) => {
      const line = make("tr", body);
      make("th", line, name(i), {scope: "row"});
      make("td", line, name(j));
      make("td", line, String(count), {class: "number"});
    });
    return;
  }
  const count = row.examples.map(() => row.examples.map(() => 0));
  row.confusions.forEach(([i, j, n]) => { count[i][j] = n; });
  const columns = ["true ↓ predicted →", ...row.examples.map((_, j) => name(j))];
  const body = table(parent, "Confusion matrix, sum over seeds", columns, "confusion");
  count.forEach((answers, i) => {
    const line = make("tr", body);
    make("th", line, name(i), {scope: "row"});
    answers.forEach((n, j) => {
      const cell = make("td", line, String(n), i === j ? {class: "right"} : {});
      cell.style.setProperty("--share", n / Math.max(1, row.examples[i]));
    });
  });
}

function choose(number) {
  const row = data.rows[number];
  chooser.value = number;
  rows.forEach(each => each.classList.toggle("chosen", each.dataset.row === String(number)));
  details.replaceChildren();
  make("p", details, row.summary);
  if (row.command) command(make("div", details, "", {class: "command"}), row.command);
  const columns = make("div", details, "", {class: "columns"});
  if (row.classes) {
    perClass(columns, row);
    confusion(columns, row);
  }
  if (row.seeds.length) {
    const body = table(columns, "Each seed", ["seed", data.metric]);
    row.seeds.forEach(([seed, value]) => {
      const line = make("tr", body);
      make("th", line, seed, {scope: "row"});
      make("td", line, value, {class: "number"});
    });
  }
  if (!row.classes && row.seeds.length) make("p", details, "This row has no results by class.", {class: "muted"});
  if (row.kernels.length) make("p", details, `Kernels that ran: ${row.kernels.join(", ")}`, {class: "small muted"});
}

function command(parent, text) {
  make("code", parent, text, {dir: "ltr"});
  const button = make("button", parent, "Copy", {type: "button", class: "copy screen", "aria-label": "Copy the command of this row"});
  button.addEventListener("click", () => copy(button));
}

async function copy(button) {
  const code = button.parentElement.querySelector("code");
  try {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(code);  // no permission to use the clipboard: selected for Ctrl+C
    button.textContent = "Selected";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 2000);
}

document.querySelectorAll("button.copy").forEach(button => {
  button.hidden = false;
  button.addEventListener("click", () => copy(button));
});
document.querySelectorAll("#results .pick").forEach(button => button.addEventListener("click", () => {
  choose(Number(button.closest("tr").dataset.row));
  const head = document.getElementById("row");
  head.closest("details").open = true;
  head.scrollIntoView();
  head.focus();
}));
chooser.closest("p").hidden = false;
chooser.addEventListener("change", () => choose(Number(chooser.value)));
choose(Number(rows[0].dataset.row));
// A link to a folded section opens it.
const unfold = () => {
  const section = location.hash && document.getElementById(location.hash.slice(1))?.closest("details");
  if (section) section.open = true;
};
addEventListener("hashchange", unfold);
unfold();
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach(each => { each.open = true; }));
