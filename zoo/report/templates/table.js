// The table: a click on a head sorts it; the box above it shows the rows that contain its words.
const rows = [...document.querySelectorAll("#results tbody tr")];
document.querySelectorAll("#results thead button").forEach(button => button.addEventListener("click", () => {
  const head = button.parentElement, column = head.cellIndex;
  const sign = -Number(head.dataset.sign || -button.dataset.first);
  document.querySelectorAll("#results thead th").forEach(each => { delete each.dataset.sign; each.ariaSort = "none"; });
  head.dataset.sign = sign;
  head.ariaSort = sign > 0 ? "ascending" : "descending";
  const number = head.classList.contains("number"), key = row => row.cells[column].dataset.key;
  rows[0].parentElement.append(...[...rows].sort((a, b) => {
    const one = key(a), other = key(b);
    if (!one || !other) return (one === "") - (other === "");  // empty cells come last
    return sign * (number ? one - other : one.localeCompare(other));
  }));
}));
const box = document.querySelector("#filter input"), status = document.querySelector("#filter [role=status]");
box.closest("p").hidden = false;
box.addEventListener("input", () => {
  const words = box.value.toLowerCase().split(/\s+/);
  rows.forEach(row => { row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word)); });
  status.textContent = `${rows.filter(row => !row.hidden).length} of ${rows.length} rows`;
});
