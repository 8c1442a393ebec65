// Counts down to the next try of a turn that waits for the model. The server says the time; by how much is counted here,
// so that a wrong clock does not matter.

const SECOND_MS = 1000;
const MINUTE_S = 60;
const SHORT_S = 100; // longer waits read better in minutes

const ends = new WeakMap();

function remaining(time) {
  if (!ends.has(time)) ends.set(time, performance.now() + Number(time.dataset.countdown) * SECOND_MS);
  return Math.ceil((ends.get(time) - performance.now()) / SECOND_MS);
}

function words(seconds, said) {
  if (seconds <= 0) return said.soon;
  return seconds < SHORT_S ? said.seconds.replace("{n}", seconds) : said.minutes.replace("{n}", Math.round(seconds / MINUTE_S));
}

function refresh() {
  for (const time of document.querySelectorAll("time[data-countdown]")) {
    time.textContent = words(remaining(time), time.closest("[data-soon]").dataset);
  }
}

refresh();
document.addEventListener("htmx:after:process", refresh);
setInterval(refresh, SECOND_MS);
