// In plots, no label covers another or is cut off, and none is smaller than 11 pixels.
const scaleOf = matrix => Math.sqrt(Math.abs(matrix.a * matrix.d - matrix.b * matrix.c));
const corners = text => {
  const {x, y, width, height} = text.getBBox(), matrix = text.getScreenCTM();
  const dx = 1 / scaleOf(matrix), dy = 2 / scaleOf(matrix);  // letters do not fill their boxes
  const [left, right, top, bottom] = [x + dx, x + width - dx, y + dy, y + height - dy];
  return [[left, top], [right, top], [right, bottom], [left, bottom]]
    .map(([a, b]) => new DOMPoint(a, b).matrixTransform(matrix));
};
// Rectangles are apart if their shadows on a line along one of the edges are.
const apart = (one, other) => [one, other].some(shape => [0, 1].some(i => {
  const dx = shape[i + 1].x - shape[i].x, dy = shape[i + 1].y - shape[i].y;
  const [a, b] = [one, other].map(points => points.map(p => p.x * dx + p.y * dy));
  return Math.max(...a) <= Math.min(...b) || Math.max(...b) <= Math.min(...a);
}));
const wrong = [];
let seen = 0;
document.querySelectorAll("figure svg").forEach(svg => {
  const whole = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll("text")].filter(text => text.textContent.trim());
  const shapes = texts.map(corners);
  texts.forEach((text, i) => {
    seen += 1;
    const name = `${svg.closest("figure").id}: ${text.textContent}`;
    const size = parseFloat(getComputedStyle(text).fontSize) * scaleOf(text.getScreenCTM());
    if (size < 10.99) wrong.push(`${size.toFixed(1)} pixels: ${name}`);
    const box = text.getBoundingClientRect();
    if (box.left < whole.left - 1 || box.right > whole.right + 1
        || box.top < whole.top - 1 || box.bottom > whole.bottom + 1) wrong.push(`cut off: ${name}`);
    shapes.slice(i + 1).forEach((shape, j) => {
      if (!apart(shapes[i], shape)) wrong.push(`${name} covers ${texts[i + 1 + j].textContent}`);
    });
  });
});
return seen < 10 ? ["no label was found"] : wrong;
