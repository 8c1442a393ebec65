// The message box: keys, size, drafts. The form works without any of this.

import { showUnreachable } from "./unreachable.js";

const DRAFT_DELAY_MS = 150;
const draftKey = `draft:${location.pathname}`;
const hasTouchKeyboard = matchMedia("(pointer: coarse)");
const growsByItself = CSS.supports("field-sizing", "content");

const form = () => document.getElementById("composer");
const box = () => document.getElementById("composer-text");

function refresh() {
  const text = box();
  form().querySelector("[type=submit]").disabled = text.value.trim() === "";
  if (growsByItself) return;
  text.style.blockSize = "auto";
  text.style.blockSize = `${text.scrollHeight}px`;
}

/** Enter that belongs to an input method never sends; Safari says so only by the key code. */
function isComposing(event) {
  return event.isComposing || event.keyCode === 229;
}

function sends(event) {
  if (event.key !== "Enter" || isComposing(event)) return false;
  if (event.ctrlKey || event.metaKey) return true;
  return !event.shiftKey && !event.altKey && !hasTouchKeyboard.matches;
}

document.addEventListener("keydown", (event) => {
  if (event.target.id === "composer-text" && sends(event)) {
    event.preventDefault();
    if (box().value.trim()) form().requestSubmit();
  } else if (event.key === "Escape" && event.shiftKey) {
    box().focus();
  }
});

let draftTimer;

function keepDraft() {
  clearTimeout(draftTimer);
  draftTimer = setTimeout(() => sessionStorage.setItem(draftKey, box().value), DRAFT_DELAY_MS);
}

function dropDraft() {
  clearTimeout(draftTimer);
  sessionStorage.removeItem(draftKey);
}

document.addEventListener("input", (event) => {
  if (event.target.id !== "composer-text") return;
  refresh();
  keepDraft();
});

document.addEventListener("submit", (event) => {
  if (event.target.action.endsWith("/logout/")) sessionStorage.clear();
  if (event.target.id === "composer" && !event.target.hasAttribute("hx-post")) dropDraft();
});

// The answer to a message brings a fresh composer. What was typed while it was on its way moves over.
let sent = "";
let typedSince = null;

document.addEventListener("htmx:config:request", (event) => {
  if (event.target.id === "composer") sent = box().value;
});

document.addEventListener("htmx:before:swap", (event) => {
  const { ctx } = event.detail;
  if (ctx.sourceElement?.id !== "composer" || ctx.response?.status >= 400) return;
  typedSince = box().value === sent ? null : box().value.replace(sent, "").trimStart();
  dropDraft();
});

document.addEventListener("htmx:after:swap", () => {
  if (typedSince !== null) {
    box().value = typedSince;
    typedSince = null;
    keepDraft();
  }
  refresh();
});

document.addEventListener("htmx:error", (event) => {
  if (event.detail.ctx?.sourceElement?.id !== "composer") return;
  showUnreachable(document.getElementById("composer-error"), "Strata cannot be reached. Your message is still here; send it again in a moment.");
});

// Ready to type; where that opens a keyboard over the page, the reader decides.
if (!hasTouchKeyboard.matches && document.activeElement === document.body) box().focus({ preventScroll: true });
if (!box().value) box().value = sessionStorage.getItem(draftKey) ?? "";
refresh();
