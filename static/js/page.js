// What every page shares: menus, closing and dismissing, one submission per form, and requests that never arrived.
// Modules with side effects are linked by the templates only, never imported: under hashed names an import would be a
// second instance, with every listener twice.

import { showUnreachable } from "./unreachable.js";

const YEAR_S = 365 * 24 * 3600;

/** A dismissal is kept where the server can read it before it renders. */
function rememberDismissal(name) {
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `${name}=1; Path=/; Max-Age=${YEAR_S}; SameSite=Lax${secure}`;
}

function closeNearest(control) {
  const box = control.closest(control.dataset.close);
  if (box.dataset.dismissCookie) rememberDismissal(box.dataset.dismissCookie);
  box.remove();
}

function closeMenus(except = null) {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (menu !== except) menu.open = false;
  }
}

document.addEventListener("click", (event) => {
  const control = event.target.closest("[data-close]");
  if (control) closeNearest(control);
  closeMenus(event.target.closest("details.menu"));
});

// In the capture phase, so that Esc closes an open menu before it can mean anything else.
document.addEventListener(
  "keydown",
  (event) => {
    if (event.key !== "Escape") return;
    const menu = document.querySelector("details.menu[open]");
    if (!menu) return;
    menu.open = false;
    menu.querySelector("summary").focus();
    event.stopPropagation();
    event.preventDefault();
  },
  { capture: true },
);

// The list is scrolled, not its entry into view: that would have the first Tab begin there, behind the skip link.

// Of tabs that do not fit, the one where the reader is, in the middle.
for (const tabs of document.querySelectorAll(".tabs")) {
  const tab = tabs.querySelector("[aria-current]")?.getBoundingClientRect();
  const box = tabs.getBoundingClientRect();
  if (tab) tabs.scrollLeft += tab.left + tab.width / 2 - (box.left + box.width / 2);
}

// Of many chats, the open one.
for (const list of document.querySelectorAll(".sidebar__scroll")) {
  const chat = list.querySelector(".conversations [aria-current]")?.getBoundingClientRect();
  const box = list.getBoundingClientRect();
  if (chat && chat.bottom > box.bottom) list.scrollTop += chat.bottom - box.bottom;
}

// A form that navigates: the second submission is dropped. The server settles what still gets through by its key.
document.addEventListener("submit", (event) => {
  const form = event.target;
  // By the attribute: a control that is called "action" would be in its place.
  if (form.getAttribute("action")?.endsWith("/logout/")) sessionStorage.clear(); // drafts, on a machine that others may use
  if (form.hasAttribute("hx-post") || form.method !== "post") return;
  if (form.dataset.submitted) event.preventDefault();
  form.dataset.submitted = "true";
});

// Coming back from the browser's cache, the page may be sent again.
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-submitted]")) delete form.dataset.submitted;
});

document.addEventListener("htmx:error", (event) => {
  if (!event.detail.ctx?.sourceElement?.matches("form:not(#composer)")) return;
  showUnreachable(document.getElementById("alert"), document.body.dataset.unreachable);
});

// Only a lost session redirects a request of htmx. The page itself then asks to sign in, and comes back to where it was.
document.addEventListener("htmx:before:swap", (event) => {
  if (!event.detail.ctx.response?.raw.redirected) return;
  event.preventDefault();
  location.reload();
});
