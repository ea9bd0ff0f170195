"use strict";
// Layers are selected in the drawing or in the table; the pane shows what was written for them.
const everywhere = (label) =>
  [...document.querySelectorAll("[data-layer]")].filter((e) => e.dataset.layer === label);

function select(label, scroll) {
  const shown = everywhere(label);
  if (!shown.some((e) => e.matches("section"))) return;
  for (const e of document.querySelectorAll(".rlx-selected")) e.classList.remove("rlx-selected");
  for (const e of document.querySelectorAll("#details section")) e.hidden = true;
  for (const e of shown) {
    if (e.matches("section")) e.hidden = false;
    else e.classList.add("rlx-selected");
    if (scroll && e.closest("#graph")) e.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}

function sort(cell) {
  const body = cell.closest("table").tBodies[0];
  const column = cell.cellIndex;
  const down = cell.dataset.down !== "1";
  cell.dataset.down = down ? "1" : "0";
  const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
  const order = (a, b) => key(a).localeCompare(key(b), "en", { numeric: true });
  const rows = [...body.rows].sort((a, b) => (down ? order(b, a) : order(a, b)));
  body.append(...rows);
}

document.addEventListener("click", (event) => {
  const heading = event.target.closest("th");
  if (heading) return sort(heading);
  const layer = event.target.closest("[data-layer]");
  if (layer && !layer.closest("#details")) select(layer.dataset.layer, layer.matches("tr"));
});
document.addEventListener("keydown", (event) => {
  const layer = event.target.closest(".rlx-layer");
  if (layer && (event.key === "Enter" || event.key === " ")) {
    event.preventDefault();
    select(layer.dataset.layer, false);
  }
});
for (const box of document.querySelectorAll(".rlx-layer")) box.tabIndex = 0;
const first = document.querySelector("tbody tr[data-layer]") ?? document.querySelector("section");
if (first) select(first.dataset.layer, true);
