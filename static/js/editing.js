// Editing a message in its place, and dialogs. Both are ordinary forms on pages of their own without this.

/** What Esc leaves first: an edit that has the focus, else any that is open. */
function openEdit() {
  return document.activeElement?.closest("[data-edit]") ?? document.querySelector("[data-edit]");
}

document.addEventListener("keydown", (event) => {
  const form = event.target.closest?.("[data-edit]");
  if (!form || event.key !== "Enter" || event.isComposing || event.keyCode === 229) return;
  if (!event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  form.requestSubmit();
});

// In the capture phase, so that Esc cancels the edit instead of stopping a reply.
document.addEventListener(
  "keydown",
  (event) => {
    if (event.key !== "Escape" || event.isComposing || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]")) {
      event.stopPropagation(); // the browser closes it
      return;
    }
    const form = openEdit();
    if (!form || form.closest("[hx-ignore]")) return;
    event.preventDefault();
    event.stopPropagation();
    form.querySelector("[data-cancel]").click();
  },
  { capture: true },
);

// The way back from a cancelled edit leads to where it began.
let cancelled = "";

document.addEventListener("htmx:before:swap", (event) => {
  const { ctx } = event.detail;
  const source = ctx.sourceElement;
  if (source?.matches("[data-cancel]")) cancelled = source.closest(".turn").id;
  const dialog = source?.closest("dialog");
  if (dialog && !source.matches("[data-keeps-open]") && ctx.response?.status < 400) dialog.close();
});

document.addEventListener("htmx:after:process", (event) => {
  const { target } = event;
  const words = target.matches("[data-edit]") ? target.querySelector("textarea") : null;
  if (words) words.setSelectionRange(words.value.length, words.value.length);
  if (cancelled && target.id === cancelled) {
    target.querySelector("[id$='-edit']")?.focus();
    cancelled = "";
  }
  const dialog = target.matches("dialog") ? target : target.querySelector("dialog[data-opens]:not([open])");
  if (!dialog) return;
  // Its menu closes, and has the focus again when the dialog closes.
  const menu = document.querySelector("details.menu[open]");
  if (menu) menu.open = false;
  menu?.querySelector("summary").focus();
  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
});

document.addEventListener("click", (event) => {
  const closer = event.target.closest("[data-close-dialog]");
  const dialog = closer?.closest("dialog") ?? event.target;
  if (closer || dialog.matches("dialog")) dialog.close(); // the dialog itself is clicked beside its contents only
});

// At the end of the chat a menu opens below what is seen.
document.addEventListener(
  "toggle",
  (event) => {
    if (event.target.matches(".turn details.menu[open]")) event.target.querySelector(".menu__panel").scrollIntoView({ block: "nearest" });
  },
  { capture: true },
);
