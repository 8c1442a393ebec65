// The page of all chats: what is ticked is counted on the buttons, and ticked in ranges with Shift.

const form = document.getElementById("chats");

function boxes() {
  return [...form.elements].filter((control) => control.name === "id");
}

/** What the element says of this many chats. */
function told({ dataset }, count) {
  return count === 1 ? dataset.one : dataset.many.replace("{n}", count);
}

function refresh() {
  const count = boxes().filter((box) => box.checked).length;
  const all = document.getElementById("select-all");
  all.checked = count === boxes().length;
  all.indeterminate = count > 0 && !all.checked;
  for (const button of form.querySelectorAll("[data-bulk]")) {
    button.disabled = count === 0;
    button.querySelector("span").textContent = count ? told(button, count) : button.dataset.none;
  }
}

// From the last box that was ticked or cleared to this one, all become as this one is.
let last = null;

function extend(box) {
  const all = boxes();
  const [from, to] = [all.indexOf(last), all.indexOf(box)].sort((one, other) => one - other);
  if (from >= 0) for (const between of all.slice(from, to + 1)) between.checked = box.checked;
}

if (form) {
  document.addEventListener("click", (event) => {
    if (event.target.name !== "id" || event.target.form !== form) return;
    if (event.shiftKey) extend(event.target);
    last = event.target;
    refresh();
  });
  document.addEventListener("change", (event) => {
    if (event.target.form !== form) return;
    if (event.target.id === "select-all") for (const box of boxes()) box.checked = event.target.checked;
    refresh();
    document.getElementById("status").textContent = told(form, boxes().filter((box) => box.checked).length);
  });
  addEventListener("pageshow", refresh); // back from another page, the boxes are as they were left
  refresh();
}
