// The table: clicking a head sorts it; forms above it filter by component and choose columns.
const rows = [...document.querySelectorAll("#results tbody tr")];
const heads = [...document.querySelectorAll("#results thead button")];
const filters = document.getElementById("filters");

function sortBy(button) {
  const head = button.parentElement, column = head.cellIndex;
  const other = {ascending: "descending", descending: "ascending"};
  const order = other[head.ariaSort] || button.dataset.first;
  heads.forEach(each => { each.parentElement.ariaSort = "none"; });
  head.ariaSort = order;
  const sign = order === "ascending" ? 1 : -1, number = "number" in button.dataset;
  const key = row => row.cells[column].dataset.key;
  const compare = (a, b) => {
    const one = key(a), two = key(b);
    if (one === "" || two === "") return (one === "") - (two === "");  // empty cells come last
    return sign * (number ? one - two : one < two ? -1 : one > two ? 1 : 0);
  };
  rows[0].parentElement.append(...[...rows].sort(compare));
}

function filter() {
  const chosen = new Map();
  filters.querySelectorAll("input[name]:checked").forEach(box => {
    chosen.set(box.name, [...(chosen.get(box.name) || []), box.value]);
  });
  const complete = document.getElementById("only-ok")?.checked;
  const baselines = document.getElementById("baselines").checked;
  const fits = row => "baseline" in row.dataset
    ? baselines
    : [...chosen].every(([axis, values]) => values.includes(row.getAttribute(`data-${axis}`)));
  const shown = new Set();
  rows.forEach(row => {
    row.hidden = !fits(row) || (complete && "bad" in row.dataset);
    if (!row.hidden) shown.add(row.dataset.row);
  });
  document.getElementById("count").textContent = `${shown.size} of ${rows.length} rows`;
  document.querySelectorAll(".mark[data-row]").forEach(mark => {
    mark.classList.toggle("out", !shown.has(mark.dataset.row));
  });
}

const results = document.getElementById("results");
const boxes = [...document.querySelectorAll("#columns input")];
let byHand = false;  // whether somebody chose columns, which are then left alone

function switchColumn(box, on) {
  box.checked = on;
  [...results.rows].forEach(row => row.cells[box.dataset.column].classList.toggle("off", !on));
}

const FEWEST = 2;  // columns besides the ranking metric, before all choices of a row share a column

// As many columns as the page is wide enough for.
function fit() {
  if (byHand) return;
  const frame = results.parentElement, wide = () => frame.scrollWidth > frame.clientWidth;
  results.classList.remove("named");
  boxes.forEach(box => switchColumn(box, true));
  const order = boxes.filter(box => box.checked).sort((a, b) => a.dataset.order - b.dataset.order);
  while (wide() && order.length > FEWEST) switchColumn(order.shift(), false);
  results.classList.toggle("named", wide());
  while (wide() && order.length) switchColumn(order.shift(), false);
}

boxes.forEach(box => box.addEventListener("change", () => {
  byHand = true;
  switchColumn(box, box.checked);
}));
let width = 0;
new ResizeObserver(entries => {  // the height changes with every filter
  if (entries[0].contentRect.width === width) return;
  width = entries[0].contentRect.width;
  fit();
}).observe(results.parentElement);
heads.forEach(button => button.addEventListener("click", () => sortBy(button)));
document.getElementById("choices").hidden = false;
filters.addEventListener("change", filter);
filters.addEventListener("submit", event => event.preventDefault());
filters.addEventListener("reset", () => setTimeout(filter));
filter();
