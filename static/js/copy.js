// Copy buttons on replies, secrets and code. Pages served over plain http have no clipboard API: then a selection does it.

const CONFIRMATION_MS = 2000;

async function copyText(text) {
  if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "visually-hidden";
  area.readOnly = true;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  if (!isCopied) throw new Error("the browser refused to copy");
}

/** What the reader sees, without the headers of code blocks. */
function visibleText(source) {
  source.dataset.copying = "";
  const text = source.innerText.trimEnd();
  delete source.dataset.copying;
  return text;
}

async function copyFrom(button, source) {
  const label = button.querySelector("[data-copy-label]") ?? button;
  const words = (button.dataset.words ??= label.textContent);
  let result = document.body.dataset.copied;
  try {
    await copyText(visibleText(source));
  } catch {
    result = document.body.dataset.notCopied;
  }
  label.textContent = result;
  button.dataset.copied = "";
  document.getElementById("status").textContent = result;
  setTimeout(() => {
    label.textContent = words;
    delete button.dataset.copied;
  }, CONFIRMATION_MS);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = button.dataset.copy ? document.querySelector(button.dataset.copy) : button.closest(".code-block").querySelector("pre");
  copyFrom(button, source);
});
