// The map of one layer and head; tokens are inserted as text and never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const at = id => document.getElementById(id);
const layer = at("layer"), head = at("head"), details = at("details"), matrix = at("matrix");
const make = (tag, text, parent) => {
  const made = document.createElement(tag);
  made.textContent = text;
  return parent.appendChild(made);
};

data.layers.forEach(number => make("option", number, layer));
function offerHeads() {  // layers may differ in their number of heads
  const chosen = Math.max(0, head.selectedIndex);
  head.replaceChildren();
  make("option", "mean", head);
  data.heads[layer.selectedIndex].forEach((_, i) => make("option", i + 1, head));
  head.selectedIndex = chosen < head.options.length ? chosen : 0;
}

const words = data.tokens.map((token, i) => {
  at("text").append(" ");
  const word = make("span", token, at("text"));
  word.dataset.query = i;
  return word;
});
const columns = data.tokens.map(token => {
  const head = make("th", "", at("columns"));
  make("span", token, head);
  return head;
});
const rows = data.tokens.map((token, i) => {
  const row = make("tr", "", at("rows")), name = make("th", token, row);
  const cells = data.tokens.map((_, j) => {
    const cell = make("td", "", row);
    cell.dataset.query = i;
    cell.dataset.key = j;
    return cell;
  });
  name.dataset.query = i;
  return {name, cells};
});

function map() {
  return head.selectedIndex ? data.heads[layer.selectedIndex][head.selectedIndex - 1]
                            : data.mean[layer.selectedIndex];
}
// The weights of a long text are near 1/L: too pale to see on a scale up to 1.
function paint() {
  const most = Math.max(...map().map(row => Math.max(...row)));
  at("most").textContent = most.toFixed(3);
  map().forEach((row, i) => row.forEach((weight, j) => {
    rows[i].cells[j].style.setProperty("--share", (weight / most).toFixed(3));
  }));
  if (shown) show(...shown);
}

let shown = null;  // the query, and the key where one was chosen
function show(i, j) {
  clear();
  shown = [i, j];
  const row = map()[i], most = Math.max(...row);
  words.forEach((word, k) => word.style.setProperty("--share", (row[k] / most).toFixed(3)));
  words[i].classList.add("active");
  rows[i].name.classList.add("active");
  if (j === undefined) {
    const first = row.map((weight, k) => [weight, k]).sort((a, b) => b[0] - a[0]).slice(0, 3);
    details.textContent = `${data.tokens[i]} attends most to ` +
      first.map(([weight, k]) => `${data.tokens[k]} (${weight.toFixed(3)})`).join(", ");
  } else {
    columns[j].classList.add("active");
    rows[i].cells[j].classList.add("active");
    details.textContent = `${data.tokens[i]} → ${data.tokens[j]}: ${row[j].toFixed(3)}`;
  }
}
function clear() {
  shown = null;
  document.querySelectorAll(".active").forEach(each => each.classList.remove("active"));
  words.forEach(word => word.style.removeProperty("--share"));
  details.textContent = "";
}

// A page that scrolls under a pointer at rest sends the events of a move, but from the same place.
let place = "";
function moved(event) {
  const before = place;
  place = `${event.screenX},${event.screenY}`;
  return place !== before;
}

const numbers = ({query, key}) => [query, key].map(n => n === undefined ? n : Number(n));
[at("text"), matrix].forEach(area => {
  const point = event => {
    const token = event.target.closest("[data-query]");
    if (token) show(...numbers(token.dataset));
  };
  area.addEventListener("pointermove", event => { if (moved(event)) point(event); });
  area.addEventListener("click", point);  // a tap
  // After a tap the numbers stay; a mouse leaves.
  area.addEventListener("pointerleave", event => {
    if (event.pointerType === "mouse" && moved(event)) clear();
  });
  area.addEventListener("keydown", event => {
    const steps = {ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1]};
    const step = steps[event.key], last = data.tokens.length - 1;
    if (!step) return;
    event.preventDefault();
    const limited = n => Math.min(last, Math.max(0, n));
    const [i, j] = shown || [0, 0];
    if (area === matrix) show(...(shown ? [limited(i + step[0]), limited((j ?? 0) + step[1])] : [0, 0]));
    else show(shown ? limited(i + step[0] + step[1]) : 0);
    const to = area === matrix ? rows[shown[0]].cells[shown[1]] : words[shown[0]];
    to.scrollIntoView({block: "nearest", inline: "nearest"});
  });
});
layer.addEventListener("change", () => { offerHeads(); paint(); });
head.addEventListener("change", paint);
offerHeads();
paint();
