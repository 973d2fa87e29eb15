// A click on a column's head sorts the rows by it, another one the other way round. Without this
// script the page is the same table in the order it was written in.

const body = document.querySelector("tbody");
const heads = [...document.querySelectorAll("th")];
const words = new Intl.Collator(undefined, { numeric: true });

/** What a cell is sorted by: its number, its text, or null where there is nothing. */
function key(cell) {
  if (cell.dataset.value) return Number(cell.dataset.value);
  return cell.textContent || null;
}

function sort(column) {
  const sign = heads[column].ariaSort === "ascending" ? -1 : 1;
  heads.forEach((head) => head.removeAttribute("aria-sort"));
  heads[column].setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
  const rows = [...body.rows].map((row) => [key(row.cells[column]), row]);
  rows.sort(([a], [b]) => {
    // What is missing comes last either way.
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (typeof a === "number" ? a - b : words.compare(a, b));
  });
  const sorted = document.createDocumentFragment();
  for (const [, row] of rows) sorted.append(row);
  body.append(sorted);
}

heads.forEach((head, column) => {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...head.childNodes);
  button.addEventListener("click", () => sort(column));
  head.append(button);
});
document.documentElement.dataset.state = "ready";
