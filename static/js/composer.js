// The message box: keys, size, drafts. The form works without any of this.

import { showUnreachable } from "./unreachable.js";

const draftKey = `draft:${location.pathname}`;
const SENT_FROM = "draft-sent-from";
const hasTouchKeyboard = matchMedia("(pointer: coarse)");
const growsByItself = CSS.supports("field-sizing", "content");

const form = () => document.getElementById("composer");
const box = () => document.getElementById("composer-text");

function refresh() {
  const text = box();
  form().querySelector(".composer__send").disabled = text.value.trim() === "";
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

function keepDraft() {
  sessionStorage.setItem(draftKey, box().value);
}

/** A first message navigates; its draft goes when its conversation is on the screen, not when it leaves. */
function dropArrivedDraft() {
  const key = sessionStorage.getItem(SENT_FROM);
  if (key === null || !form().hasAttribute("hx-post")) return;
  sessionStorage.removeItem(key);
  sessionStorage.removeItem(SENT_FROM);
}

document.addEventListener("input", (event) => {
  if (event.target.id !== "composer-text") return;
  refresh();
  keepDraft();
});

document.addEventListener("submit", (event) => {
  if (event.target.id === "composer" && !event.target.hasAttribute("hx-post")) sessionStorage.setItem(SENT_FROM, draftKey);
});

// The answer to a message brings a fresh composer. What was typed while it was on its way moves over.
let sent = "";
let typedSince = null;

document.addEventListener("htmx:config:request", (event) => {
  if (event.target.id === "composer") sent = box().value;
});

document.addEventListener("htmx:before:swap", (event) => {
  const { ctx } = event.detail;
  if (event.defaultPrevented || ctx.sourceElement?.id !== "composer" || ctx.response?.status >= 400) return;
  typedSince = box().value === sent ? null : box().value.replace(sent, "").trimStart();
  sessionStorage.removeItem(draftKey);
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
  showUnreachable(document.getElementById("composer-error"), form().dataset.unreachable);
});

dropArrivedDraft();
// Ready to type; where that opens a keyboard over the page, the reader decides.
if (!hasTouchKeyboard.matches && document.activeElement === document.body) box().focus({ preventScroll: true });
if (!box().value) box().value = sessionStorage.getItem(draftKey) ?? "";
refresh();
