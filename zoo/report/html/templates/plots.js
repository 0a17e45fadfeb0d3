// The plots: below each, the name of the mark under the pointer or reached with the arrow keys.
const NEAR = 24;  // pixels

function spots(mark) {
  // Positions of a mark in pixels: points along a line, the middle of anything else.
  const path = mark.querySelector("path"), use = mark.querySelector("use");
  if (!use && path && getComputedStyle(path).fill === "none") {
    const matrix = path.getScreenCTM(), length = path.getTotalLength();
    return Array.from({length: 40}, (_, i) => path.getPointAtLength(length * i / 39).matrixTransform(matrix));
  }
  const box = (use || mark).getBoundingClientRect();
  return [{x: box.x + box.width / 2, y: box.y + box.height / 2}];
}

function nearest(marks, event) {
  const under = event.target.closest(".mark");
  if (under) return under;
  let best = null, least = NEAR ** 2;
  marks.forEach(mark => {
    if (mark.classList.contains("out")) return;
    spots(mark).forEach(spot => {
      const distance = (spot.x - event.clientX) ** 2 + (spot.y - event.clientY) ** 2;
      if (distance < least) [best, least] = [mark, distance];
    });
  });
  return best;
}

function point(mark, readout) {
  document.querySelectorAll(".here").forEach(each => each.classList.remove("here"));
  readout.classList.toggle("on", Boolean(mark));
  if (!mark) return;
  readout.textContent = mark.querySelector("title").textContent;
  const row = mark.dataset.row;
  const same = row === undefined ? [mark] : document.querySelectorAll(`[data-row="${row}"]`);
  same.forEach(each => each.classList.add("here"));
}

document.querySelectorAll("figure").forEach(figure => {
  const svg = figure.querySelector("svg"), readout = figure.querySelector(".readout");
  const left = mark => mark.getBoundingClientRect().x;
  const marks = [...svg.querySelectorAll(".mark")];
  const arrange = () => {  // from left to right, which is known once the plot is visible
    marks.sort((a, b) => left(a) - left(b));
    marks.forEach((mark, i) => mark.setAttribute("tabindex", i ? "-1" : "0"));
  };
  arrange();
  figure.closest("details")?.addEventListener("toggle", arrange);
  marks.forEach(mark => {
    mark.setAttribute("role", "img");
    mark.addEventListener("focus", () => point(mark, readout));
    mark.addEventListener("blur", () => point(null, readout));
  });
  const act = mark => {  // the page of a profile has no details of a row
    if (mark?.dataset.row !== undefined && typeof choose === "function") choose(Number(mark.dataset.row));
  };
  svg.addEventListener("pointermove", event => point(nearest(marks, event), readout));
  svg.addEventListener("pointerleave", () => point(null, readout));
  svg.addEventListener("click", event => {
    const mark = nearest(marks, event);
    point(mark, readout);
    act(mark);
  });
  svg.addEventListener("keydown", event => {
    const seen = marks.filter(mark => !mark.classList.contains("out"));
    const at = seen.indexOf(document.activeElement);
    const steps = {ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: seen.length - 1};
    if (event.key === "Enter") act(document.activeElement);
    const next = seen[steps[event.key]];
    if (!next) return;
    event.preventDefault();
    marks.forEach(mark => mark.setAttribute("tabindex", mark === next ? "0" : "-1"));
    next.focus();
  });
});
