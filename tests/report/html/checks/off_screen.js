// Nothing is beside the screen, and no table needs to be scrolled sideways to see a column.
const wide = document.documentElement.clientWidth;
const wrong = document.documentElement.scrollWidth > wide ? ["the page scrolls sideways"] : [];
const wanted = "#results tr > *, .cards tr > *, figure svg, button, label, select, p, h1, h2, h3";
document.querySelectorAll(wanted).forEach(each => {
  const box = each.getBoundingClientRect();
  if (box.width && !each.matches(".skip") && (box.left < -1 || box.right > wide + 1)) {
    const text = each.textContent.trim().slice(0, 40);
    wrong.push(`${each.tagName} from ${Math.round(box.left)} to ${Math.round(box.right)}: ${text}`);
  }
});
return wrong;
