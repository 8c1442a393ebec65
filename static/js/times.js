// The server renders exact times; here the recent ones become relative, with the exact one on hover.

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const words = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: "auto" });

/** "3 hours ago" within a week either way; null beyond, where the date says more. */
function relative(at, now) {
  const distance = at - now;
  const size = Math.abs(distance);
  if (size < MINUTE_MS) return document.body.dataset.justNow;
  if (size < HOUR_MS) return words.format(Math.round(distance / MINUTE_MS), "minute");
  if (size < DAY_MS) return words.format(Math.round(distance / HOUR_MS), "hour");
  if (size < 7 * DAY_MS) return words.format(Math.round(distance / DAY_MS), "day");
  return null;
}

function refresh(root) {
  const now = Date.now();
  for (const time of root.querySelectorAll("time[data-relative]")) {
    time.title ||= time.textContent;
    time.textContent = relative(Date.parse(time.dateTime), now) ?? time.title;
  }
}

refresh(document);
document.addEventListener("htmx:after:process", (event) => refresh(event.target));
setInterval(() => refresh(document), MINUTE_MS);
