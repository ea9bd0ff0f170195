"use strict";
(() => {
  const all = (query, root = document) => [...root.querySelectorAll(query)];
  const byId = (id) => document.getElementById(id);

  const BOX = ".rlx-layer[data-layer]";
  const pane = byId("graph");
  const drawing = pane.querySelector("svg");
  const boxes = all(BOX, pane);

  // Scrolls the pane, not the page, until the box is entirely visible.
  const reveal = (box) => {
    const a = box.getBoundingClientRect(), b = pane.getBoundingClientRect();
    if (a.top < b.top || a.bottom > b.bottom)
      pane.scrollTop += a.top - b.top - Math.max(0, (b.height - a.height) / 2);
    if (a.left < b.left || a.right > b.right)
      pane.scrollLeft += a.left - b.left - Math.max(0, (b.width - a.width) / 2);
  };

  // Everything that shows a layer has its number in data-layer. Tab reaches only the selected box.
  const select = (layer) => {
    for (const one of all("[data-layer]")) one.classList.toggle("on", one.dataset.layer === layer);
    for (const box of boxes) {
      const on = box.dataset.layer === layer;
      box.setAttribute("aria-selected", on);
      box.tabIndex = on ? 0 : -1;
      if (on) reveal(box);
    }
  };

  document.addEventListener("click", (event) => {
    const one = event.target.closest("[data-layer]");
    if (one && !one.classList.contains("layer")) select(one.dataset.layer);
  });

  const width = drawing.width.baseVal.value, height = drawing.height.baseVal.value;
  let scale = 1;

  // Keeps the point (x, y) of the pane where it is.
  const zoom = (wanted, x = pane.clientWidth / 2, y = pane.clientHeight / 2) => {
    const next = Math.min(4, Math.max(.1, wanted)), factor = next / scale;
    const left = (pane.scrollLeft + x) * factor - x, top = (pane.scrollTop + y) * factor - y;
    pane.style.minHeight ||= `${pane.clientHeight}px`;
    drawing.setAttribute("width", width * next);
    drawing.setAttribute("height", height * next);
    pane.scrollTo(left, top);
    scale = next;
    byId("level").textContent = `${Math.round(100 * next)} %`;
  };
  const zooms = {
    "-": () => zoom(scale / 1.25),
    "+": () => zoom(scale * 1.25),
    0: () => zoom(1),
    f: () => zoom(Math.min(1, pane.clientWidth / width, pane.clientHeight / height)),
  };
  zooms["="] = zooms["+"];
  for (const button of all("[data-zoom]"))
    button.addEventListener("click", () => zooms[button.dataset.zoom]());
  pane.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const frame = pane.getBoundingClientRect();
    zoom(scale * Math.exp(-event.deltaY / 300), event.clientX - frame.left, event.clientY - frame.top);
  }, { passive: false });

  const find = byId("find");
  const texts = new Map(all("#layers tbody tr").map((row) =>
    [row.dataset.layer, `${row.querySelector("a").lastChild.data} ${row.cells[1].textContent}`.toLowerCase()]));
  let hits = [], current = -1;
  const search = () => {
    const words = find.value.trim().toLowerCase();
    hits = boxes.filter((box) => words && texts.get(box.dataset.layer).includes(words));
    current = -1;
    for (const box of boxes) {
      box.classList.toggle("hit", hits.includes(box));
      box.classList.toggle("dim", words !== "" && !hits.includes(box));
    }
    byId("found").textContent = words && `${hits.length} of ${boxes.length}`;
    if (hits.length) reveal(hits[0]);
  };
  find.addEventListener("input", search);
  find.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      find.value = "";
      search();
    } else if (event.key === "Enter" && hits.length) {
      current = event.shiftKey ? (current > 0 ? current : hits.length) - 1 : (current + 1) % hits.length;
      select(hits[current].dataset.layer);
      byId("found").textContent = `${current + 1} of ${hits.length}`;
    }
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("input, textarea, select, [contenteditable]")) return;
    event.preventDefault();
    find.focus();
    find.select();
  });

  pane.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key, place = boxes.indexOf(event.target.closest(BOX)), last = boxes.length - 1;
    const next = boxes[{
      ArrowDown: place + 1, ArrowRight: place + 1, ArrowUp: place - 1, ArrowLeft: place - 1,
      Home: 0, End: last, Enter: place, " ": place,
    }[key]];
    if (next) {
      next.focus();
      select(next.dataset.layer);
    } else if (key in zooms) zooms[key]();
    else if (!key.startsWith("Arrow")) return;
    event.preventDefault();
  });

  // Two cells in a byte, each from 1 (the most negative) over 8 (zero) to 15.
  const levelsOf = (canvas) => {
    const bytes = atob(canvas.dataset.cells);
    return Array.from({ length: canvas.width * canvas.height },
      (_, place) => (bytes.charCodeAt(place >> 1) >> 4 * (1 - place % 2) & 15) - 8);
  };
  const weightAt = (canvas, x, y) => {
    const [tall, wide] = canvas.dataset.block.split(","), size = canvas.dataset.shape.split(",");
    const row = Math.floor(y * canvas.height), column = Math.floor(x * canvas.width);
    const value = levelsOf(canvas)[row * canvas.width + column] / 7 * canvas.dataset.scale;
    const range = (place, step, end) => {
      const first = place * step, stop = Math.min(first + Number(step), end) - 1;
      return stop > first ? `${first} to ${stop}` : first;
    };
    return `Row ${range(row, tall, size[0])}, column ${range(column, wide, size[1])}: about ${+value.toPrecision(2)}`;
  };
  const barAt = (chart, x) => {
    const counts = chart.querySelector("path").getAttribute("d").match(/(?<=V)\d+/g).slice(0, -1);
    const bar = Math.floor((x * 320 - 10) * counts.length / 300);
    const low = +chart.dataset.low + bar * chart.dataset.step;
    return counts[bar] ? `${Number(counts[bar]).toLocaleString("en")} from ${+low.toPrecision(4)} on` : "";
  };
  const readable = (query, textAt) => {
    for (const one of all(query)) {
      const output = one.closest(".readable").querySelector("output");
      one.addEventListener("pointermove", (event) => {
        const frame = one.getBoundingClientRect();
        const x = (event.clientX - frame.left) / frame.width, y = (event.clientY - frame.top) / frame.height;
        output.textContent = x >= 0 && x < 1 && y >= 0 && y < 1 ? textAt(one, x, y) : "";
      });
      one.addEventListener("pointerleave", () => { output.textContent = ""; });
    }
  };
  readable("canvas", weightAt);
  readable(".histogram", barAt);
  for (const canvas of all("canvas")) {
    const context = canvas.getContext("2d");
    const image = context.createImageData(canvas.width, canvas.height);
    levelsOf(canvas).forEach((level, place) => image.data.set(
      [...(level < 0 ? [200, 64, 32] : [42, 120, 214]), Math.abs(level) * 36], 4 * place));
    context.putImageData(image, 0, 0);
  }

  for (const box of all(".scroll:not(.tall)")) {
    const hint = document.createElement("p");
    hint.className = "hint";
    hint.textContent = "Wider than the window: scroll sideways →";
    box.before(hint);
    const update = () => {
      const rest = box.scrollWidth - box.clientWidth;
      hint.hidden = rest < 2;
      box.classList.toggle("cut", rest - box.scrollLeft > 1);
    };
    box.addEventListener("scroll", update);
    new ResizeObserver(update).observe(box);
  }

  const valueOf = (row, column, isNumber) => {
    const text = row.cells[column].dataset.value ?? row.cells[column].textContent;
    return isNumber ? parseFloat(text.replaceAll(",", "")) || 0 : text;
  };

  const sort = (table, heading) => {
    const column = heading.cellIndex, isNumber = column === 0 || heading.classList.contains("n");
    const ascending = heading.getAttribute("aria-sort") === "descending" ||
      (!heading.hasAttribute("aria-sort") && !heading.classList.contains("n"));
    for (const other of all("th[aria-sort]", table)) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const body = table.tBodies[0];
    const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    const rows = [...body.rows].sort((a, b) =>
      compare(valueOf(a, column, isNumber), valueOf(b, column, isNumber)));
    if (!ascending) rows.reverse();
    body.append(...rows);
  };

  for (const table of all("table.sortable"))
    for (const button of all("th button", table))
      button.addEventListener("click", () => sort(table, button.closest("th")));

  const copy = byId("copy");
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    const code = byId("command");
    try {
      await navigator.clipboard.writeText(code.textContent);
      copy.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      copy.textContent = "Selected";
    }
  });

  document.documentElement.classList.add("js");
  if (boxes.length) pane.removeAttribute("tabindex");
  const shares = all("#layers tbody tr");
  const first = shares.length ? shares.reduce((best, row) => {
    const value = (one) => Number(one.querySelector(".share").closest("td").dataset.value);
    return value(row) > value(best) ? row : best;
  }) : null;
  const named = /^#layer-(\d+)$/.exec(location.hash);
  select(named ? named[1] : first ? first.dataset.layer : "0");
})();
