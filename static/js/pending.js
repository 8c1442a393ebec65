// What waits for a word: a digit on a card gives its answer, and once it is decided the next card has the focus.

const CARD = "[data-waiting]";

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !event.target.matches?.(CARD)) return;
  const answer = event.target.querySelectorAll("button[name=answer]")[Number(event.key) - 1];
  if (!answer) return;
  event.preventDefault();
  answer.click();
});

/** The card after the one that was decided, else the first that is left, else the page's title. */
function goOn(decided) {
  let next = decided.nextElementSibling;
  while (next && !next.matches(CARD)) next = next.nextElementSibling;
  next ??= document.querySelector(CARD) ?? document.getElementById("pending-title");
  next.focus();
}

document.addEventListener("htmx:after:swap", () => {
  const decided = document.querySelector("[data-decided='']");
  if (!decided) return;
  decided.dataset.decided = "told";
  goOn(decided);
});
