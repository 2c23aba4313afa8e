// Tables that sort by a column: a button in each heading, the order in aria-sort. Without this
// script they are in the order of the server.
"use strict";
(() => {
  const valueOf = (row, column) => {
    const cell = row.cells[column];
    return cell === undefined ? "" : (cell.dataset.sort ?? cell.textContent.trim());
  };

  const compare = (a, b) => {
    const x = Number(a), y = Number(b);
    if (a !== "" && b !== "" && !Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    return a < b ? -1 : a > b ? 1 : 0;
  };

  const sort = (table, heading, direction) => {
    const column = heading.cellIndex, body = table.tBodies[0];
    const rows = [...body.rows].map((row) => ({ row, value: valueOf(row, column) }));
    const sign = direction === "ascending" ? 1 : -1;
    // What has no value is last either way.
    rows.sort((a, b) => {
      if (a.value === "" || b.value === "") return (a.value === "") - (b.value === "");
      return sign * compare(a.value, b.value);
    });
    body.append(...rows.map(({ row }) => row));
    for (const other of table.tHead.rows[0].cells)
      if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
    heading.setAttribute("aria-sort", direction);
  };

  const enhance = (root) => {
    for (const heading of root.querySelectorAll("table.sortable th[data-sortable]")) {
      if (heading.querySelector("button") || heading.closest("table").tBodies[0].rows.length < 2) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = heading.textContent;
      heading.replaceChildren(button);
      heading.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const ascending = heading.getAttribute("aria-sort") === "ascending";
        sort(heading.closest("table"), heading, ascending ? "descending" : "ascending");
      });
    }
  };

  // A part of the page that was replaced keeps its order.
  const orders = (root) => [...root.querySelectorAll("table.sortable")].map((table) => {
    const heading = [...table.tHead.rows[0].cells]
      .find((cell) => ["ascending", "descending"].includes(cell.getAttribute("aria-sort")));
    return heading && { title: heading.textContent, direction: heading.getAttribute("aria-sort") };
  });
  window.honeTables = {
    orders,
    restore(root, before) {
      enhance(root);
      [...root.querySelectorAll("table.sortable")].forEach((table, i) => {
        const heading = before[i] && [...table.tHead.rows[0].cells]
          .find((cell) => cell.textContent === before[i].title);
        if (heading) sort(table, heading, before[i].direction);
      });
    },
  };
  enhance(document);
})();
