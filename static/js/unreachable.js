/** Says in `slot` that the server was not reached. */
export function showUnreachable(slot, text) {
  const notice = document.createElement("div");
  notice.className = "notice notice--error";
  const words = document.createElement("p");
  words.className = "notice__body";
  words.textContent = text;
  notice.append(words);
  slot.replaceChildren(notice);
}
