"use strict";
(() => {
  const all = (query, root = document) => [...root.querySelectorAll(query)];

  const BOX = ".rlx-layer[data-layer]";

  // Everything that stands for a layer has its number in data-layer.
  const select = (layer) => {
    for (const one of all("[data-layer]")) one.classList.toggle("on", one.dataset.layer === layer);
    for (const box of all(BOX)) box.setAttribute("aria-pressed", String(box.dataset.layer === layer));
  };

  document.addEventListener("click", (event) => {
    const one = event.target.closest("[data-layer]");
    if (one && !one.classList.contains("layer")) select(one.dataset.layer);
  });

  document.addEventListener("keydown", (event) => {
    const box = event.target.closest(BOX);
    if (!box) return;
    if (event.key === "Enter" || event.key === " ") {
      select(box.dataset.layer);
      event.preventDefault();
    }
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps) {
      const boxes = all(BOX);
      const next = boxes[boxes.indexOf(box) + steps[event.key]];
      if (next) {
        next.focus();
        select(next.dataset.layer);
      }
      event.preventDefault();
    }
  });

  const valueOf = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
  };

  const sort = (table, heading) => {
    const column = heading.cellIndex;
    const ascending = heading.getAttribute("aria-sort") === "descending" ||
      (!heading.hasAttribute("aria-sort") && !heading.classList.contains("n"));
    for (const other of all("th[aria-sort]", table)) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const body = table.tBodies[0];
    const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    const rows = [...body.rows].sort(
      (a, b) => (ascending ? 1 : -1) * compare(valueOf(a, column), valueOf(b, column)));
    body.append(...rows);
  };

  for (const table of all("table.sortable"))
    for (const button of all("th button", table))
      button.addEventListener("click", () => sort(table, button.closest("th")));

  const copy = document.getElementById("copy");
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    const code = document.getElementById("command");
    try {
      await navigator.clipboard.writeText(code.textContent);
      copy.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      copy.textContent = "Selected";
    }
  });

  document.documentElement.classList.add("js");
  const shares = all("#layers tbody tr");
  const first = shares.length ? shares.reduce((best, row) => {
    const value = (one) => Number(one.querySelector(".share").closest("td").dataset.value);
    return value(row) > value(best) ? row : best;
  }) : null;
  const named = /^#layer-(\d+)$/.exec(location.hash);
  select(named ? named[1] : first ? first.dataset.layer : "0");
})();
