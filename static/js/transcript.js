// The conversation: follows a reply while the reader is at its end, says what happens, stops on Esc, and finds the
// stream again after the connection was lost.

const LINE_PX = 28;
const RETRY_MS = 2000;
const RETRY_MAX_MS = 30_000;

const scroller = document.getElementById("transcript");
const turns = document.getElementById("turns");
const jump = document.getElementById("jump");

// Following: only a reader ends it. Our scrolling leads to the end, so what leads away from it is theirs: the scroll bar,
// a search in the page, the focus. Where the height has changed, the browser may have moved the place by itself.
let isFollowing = true;
let seen = { scrollTop: 0, scrollHeight: 0 };

function isAtEnd() {
  return scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < LINE_PX;
}

function isAbove(element) {
  return element.getBoundingClientRect().top < scroller.getBoundingClientRect().top;
}

function settle() {
  if (isFollowing) scroller.scrollTop = scroller.scrollHeight;
  jump.hidden = isFollowing || isAtEnd();
}

function release() {
  isFollowing = false;
}

function follow() {
  isFollowing = true;
  settle();
}

function watchScrolling() {
  scroller.addEventListener("wheel", (event) => event.deltaY < 0 && release(), { passive: true });
  scroller.addEventListener("touchmove", release, { passive: true });
  scroller.addEventListener("keydown", (event) => {
    if (["PageUp", "Home", "ArrowUp"].includes(event.key)) release();
  });
  // Browsers scroll to what gets the focus, before they say so or after.
  turns.addEventListener("focusin", ({ target }) => {
    if (!target.matches(".turn") && (isAbove(target) || !isAtEnd())) release();
  });
  document.addEventListener("selectionchange", () => {
    const selection = getSelection();
    if (!selection.isCollapsed && turns.contains(selection.anchorNode)) release();
  });
  scroller.addEventListener("scroll", () => {
    const { scrollTop, scrollHeight } = scroller;
    if (isAtEnd() && getSelection().isCollapsed) isFollowing = true;
    else if (scrollTop < seen.scrollTop && scrollHeight === seen.scrollHeight) release();
    seen = { scrollTop, scrollHeight };
    jump.hidden = isFollowing || isAtEnd();
  });
  jump.addEventListener("click", follow);
  const sizes = new ResizeObserver(settle);
  sizes.observe(turns);
  sizes.observe(scroller);
}

// Words for screen readers: one when a reply begins, waits or ends. The transcript itself stays quiet, and holds the words.
const live = new Map();

function announce(text) {
  document.getElementById("status").textContent = text;
}

function ending(turn) {
  const noted = turn.querySelectorAll(".remembered > li").length;
  const said = scroller.dataset;
  const words = said["atLimit" in turn.dataset ? "limited" : turn.dataset.status] ?? "";
  return noted ? `${words}. ${noted === 1 ? said.oneNoted : said.manyNoted.replace("{n}", noted)}` : words;
}

function noteTurn(turn) {
  if ("live" in turn.dataset) {
    const wait = turn.querySelector("[data-waits]");
    const words = wait?.dataset.waits ?? scroller.dataset.answering;
    turn.ariaBusy = String(!wait);
    if (live.get(turn.id) !== words) announce(words);
    live.set(turn.id, words);
  } else if (live.delete(turn.id)) {
    announce(ending(turn));
  }
}

// When what has the focus in a turn is replaced, the turn has it, so that Tab goes on from there.
let focused = null;

function keepFocus() {
  if (focused && document.activeElement === document.body) {
    const turn = document.getElementById(focused);
    if (turn) turn.tabIndex = -1;
    (turn ?? scroller).focus({ preventScroll: true });
  }
  focused = null;
}

function watchTurns() {
  turns.querySelectorAll(".turn").forEach(noteTurn);
  document.addEventListener("htmx:before:swap", (event) => {
    const { ctx } = event.detail;
    if (ctx.sourceElement?.matches("#composer, [data-asks]") && ctx.response?.status < 400) isFollowing = true;
    if (ctx.sourceElement?.matches("[data-stays]")) release(); // the reader looks at what is replaced
    focused ??= document.activeElement?.closest("#turns .turn")?.id;
  });
  document.addEventListener("htmx:after:process", (event) => {
    if (turns.contains(event.target)) {
      turns.querySelectorAll(".turn").forEach(noteTurn);
      showResumed();
    }
    keepFocus();
    settle();
  });
}

// Esc stops the reply in progress, unless it has something nearer to close, or a person was asked something.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.shiftKey || event.defaultPrevented || event.isComposing) return;
  if (document.querySelector(":popover-open, .turn [data-decides]")) return;
  document.querySelector(".turn[data-live] [data-stop]")?.requestSubmit();
});

// A stream reconnects by itself once it has been open; what never opened, or may not be read any more, ends here.
let retryMs = RETRY_MS;

// Said beside what is there, not instead of it: the server sends only what changes, so the line must come back as it was.
function sayLost(turn) {
  const activity = turn.querySelector(".activity");
  if (!activity || activity.querySelector("[data-lost]")) return;
  const words = document.createElement("div");
  words.className = "activity__text";
  words.dataset.lost = "";
  words.textContent = scroller.dataset.lost;
  activity.prepend(words);
  activity.dataset.isLost = "";
  announce(scroller.dataset.lost);
}

function clearLost(turn) {
  const words = turn.querySelector("[data-lost]");
  if (!words) return;
  delete words.parentElement.dataset.isLost;
  words.remove();
  announce(scroller.dataset.back);
}

function retryLater(turn) {
  sayLost(turn);
  setTimeout(() => turn.isConnected && htmx.trigger(turn, "end"), retryMs);
  retryMs = Math.min(retryMs * 2, RETRY_MAX_MS);
}

function showResumed() {
  retryMs = RETRY_MS;
  document.querySelectorAll(".turn[data-live]").forEach(clearLost);
}

document.addEventListener("htmx:error", (event) => {
  const source = event.detail.ctx?.sourceElement;
  if (source?.matches(".turn[data-live], .turn__stream")) retryLater(source.closest(".turn"));
});
document.addEventListener("htmx:sse:error", (event) => {
  const turn = event.target.closest?.(".turn");
  if (!turn) return;
  if (![401, 403, 404, 410].includes(event.detail.status)) return sayLost(turn);
  event.target.remove();
  htmx.trigger(turn, "end");
});
document.addEventListener("htmx:sse:after:connection", showResumed);

if (turns) {
  watchScrolling();
  watchTurns();
  isFollowing = !turns.querySelector(".turn:target");
  settle();
}
