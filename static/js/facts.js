// Picking facts in a list, and correcting one in its place. Without this the checkboxes and forms work by themselves.
// Keys mean something outside of fields only, and not at all where <html data-keys="off">, which is in the settings.

const form = document.getElementById("bulk");
const boxes = () => [...document.querySelectorAll("[data-fact] [name=fact]")];
const onPage = () => [...document.querySelectorAll("[data-facts] [name=fact]")]; // not what may fit, too
const rows = () => [...document.querySelectorAll("[data-fact]")];

function showCount() {
  if (!form) return;
  const all = form.querySelector("#pick-all");
  const picked = boxes().filter((box) => box.checked).length;
  const note = form.querySelector("#bulk-count");
  note.textContent = all?.checked ? note.dataset.all : note.dataset.counting.replace("0", picked);
  form.hidden = !picked && !all?.checked;
  for (const button of form.querySelectorAll("button")) button.disabled = form.hidden;
  for (const label of form.querySelectorAll("button [data-counting]")) {
    label.textContent = label.dataset.counting.replace("0", all?.checked ? all.dataset.total : picked);
  }
  const page = document.getElementById("pick-page");
  if (!page) return;
  const here = onPage().filter((box) => box.checked).length;
  page.checked = here > 0 && here === onPage().length;
  page.indeterminate = here > 0 && here < onPage().length;
}

let last = null;

document.addEventListener("click", (event) => {
  const box = event.target.closest?.("[data-fact] [name=fact]");
  if (!box) return;
  if (event.shiftKey && last) {
    const all = boxes();
    const [from, to] = [all.indexOf(last), all.indexOf(box)].sort((one, other) => one - other);
    for (const between of all.slice(from, to + 1)) between.checked = box.checked;
  }
  last = box;
  showCount();
  if (box.checked) box.closest("[data-fact]").scrollIntoView({ block: "nearest" }); // not under the bar
});

document.addEventListener("change", (event) => {
  if (event.target.id === "pick-page") for (const box of onPage()) box.checked = event.target.checked;
  showCount();
});

// Coming back from the browser's cache, what was picked is picked.
addEventListener("pageshow", showCount);
showCount();

/** What is picked, else the fact where the reader is, which is picked by that. */
function forget() {
  if (!form) return;
  if (form.hidden) KEYS.x();
  form.querySelector("[value=forget]:enabled")?.click();
}

function at() {
  return document.querySelector("[data-at]");
}

function go(step) {
  const all = rows();
  if (!all.length) return;
  const here = all.indexOf(at());
  const next = all[Math.min(Math.max(here + step, 0), all.length - 1)];
  at()?.removeAttribute("data-at");
  next.setAttribute("data-at", "");
  next.querySelector("[name=fact]").focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

const KEYS = {
  j: () => go(1),
  k: () => go(-1),
  x: () => at()?.querySelector("[name=fact]").click(),
  e: () => (at()?.querySelector("a.fact, .fact__statement") ?? document.getElementById("fact-edit"))?.click(),
  "#": forget,
  z: () => document.querySelector(".undo__form button")?.click(),
  "/": () => document.getElementById("facts-q")?.focus(),
};

document.addEventListener("keydown", (event) => {
  if (document.documentElement.dataset.keys === "off" || event.defaultPrevented || event.isComposing) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable], dialog")) return;
  const act = Object.hasOwn(KEYS, event.key) ? KEYS[event.key] : null;
  if (!act) return;
  event.preventDefault();
  act();
});

// Correcting a fact in its place: Enter saves, Shift+Enter begins a line, Esc cancels.
document.addEventListener("keydown", (event) => {
  const edit = event.target.closest?.("[data-fact-edit]");
  if (!edit || event.isComposing || event.keyCode === 229) return;
  if (event.key === "Escape") {
    event.preventDefault();
    edit.querySelector("[data-cancel-fact]").click();
  } else if (event.key === "Enter" && !event.shiftKey && event.target.matches("textarea")) {
    event.preventDefault();
    edit.requestSubmit();
  }
});

// The focus follows: into the words when the form opens, back to its button when it closes.
document.addEventListener("htmx:after:process", (event) => {
  const head = event.target.closest?.("#head"); // not the whole page, which is processed when it loads
  if (!head) return;
  const words = head.querySelector("#statement");
  if (words) {
    words.focus();
    words.setSelectionRange(words.value.length, words.value.length);
  } else {
    head.querySelector("#fact-edit")?.focus();
  }
});
