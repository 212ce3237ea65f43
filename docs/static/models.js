// Filters the table of networks by the words that a row has to have, and sorts it by the column that is clicked.
document.addEventListener("DOMContentLoaded", () => {
  const table = document.querySelector("table.networks");
  if (!table) return;
  const filter = document.getElementById("filter");
  const count = document.getElementById("count");
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => ({ row, text: row.textContent.toLowerCase() }));

  const show = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { row, text } of rows) {
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    count.textContent = `${shown} of ${rows.length} networks`;
  };
  filter.addEventListener("input", show);
  show();

  [...table.tHead.rows[0].cells].forEach((head, k) => {
    let descending = false;
    head.addEventListener("click", () => {
      const value = (row) => row.cells[k].dataset.value ?? row.cells[k].textContent;
      const number = rows[0].row.cells[k].dataset.value !== undefined;
      const order = (a, b) => number ? (parseFloat(value(a)) || -1) - (parseFloat(value(b)) || -1) : value(a).localeCompare(value(b));
      const sorted = rows.map(({ row }) => row).sort((a, b) => (descending ? order(b, a) : order(a, b)));
      descending = !descending;
      body.append(...sorted);
    });
  });
});
