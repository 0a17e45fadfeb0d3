// WCAG 2.2, 1.4.3: text has a contrast of 4.5 to what is behind it, large text one of 3.
const canvas = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
const known = new Map();
const rgba = colour => {
  if (!known.has(colour)) {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    known.set(colour, [r, g, b, a / 255]);
  }
  return known.get(colour);
};
const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3]));
const linear = part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
const luminance = colour => {
  const [r, g, b] = colour.map(part => linear(part / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const isSvg = element => element instanceof SVGElement;
const paint = element => {
  const style = getComputedStyle(element);
  if (!isSvg(element)) return rgba(style.backgroundColor);
  const filled = element instanceof SVGGeometryElement && /^rgb|^color/.test(style.fill);
  if (!filled) return [0, 0, 0, 0];
  const [r, g, b, a] = rgba(style.fill);
  return [r, g, b, a * style.fillOpacity * style.opacity];
};
const wrong = [];
let seen = 0;
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode, element = node.parentElement;
  if (!node.data.trim() || element.closest("script, style, title, desc, option")) continue;
  const range = document.createRange();
  range.selectNodeContents(node);
  const box = range.getClientRects()[0];
  if (!box || !box.width) continue;
  const there = document.elementsFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  const at = there.indexOf(element);
  if (at < 0) continue;  // scrolled away inside its box
  seen += 1;
  const behind = there.slice(isSvg(element) ? at + 1 : at).reverse();
  const ground = behind.reduce((below, each) => over(paint(each), below), [255, 255, 255]);
  const style = getComputedStyle(element);
  const ink = over(rgba(isSvg(element) ? style.fill : style.color), ground);
  const [light, dark] = [luminance(ink), luminance(ground)].sort((a, b) => b - a);
  const contrast = (light + 0.05) / (dark + 0.05), size = parseFloat(style.fontSize);
  const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
  if (contrast < (large ? 3 : 4.5)) {
    wrong.push(`contrast ${contrast.toFixed(2)}: ${node.data.trim()}`);
  }
}
return seen < 10 ? ["no text was found"] : wrong;
