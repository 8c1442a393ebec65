// Light, dark or as the system says. The server keeps the choice, so a page never flashes in the other theme.

const THEMES = ["light", "dark", "system"];
const form = document.getElementById("theme-toggle");

function show(theme) {
  document.documentElement.dataset.theme = theme;
  let label = "";
  for (const icon of form.querySelectorAll("[data-theme-icon]")) {
    icon.hidden = icon.dataset.themeIcon !== theme;
    if (!icon.hidden) label = icon.dataset.label;
  }
  form.querySelector("[data-theme-label]").textContent = label;
  form.querySelector("button").title = label;
}

if (form) {
  show(document.documentElement.dataset.theme);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    event.stopPropagation();
    const next = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length];
    form.elements.theme.value = next;
    show(next);
    fetch(form.action, { method: "POST", body: new FormData(form) }); // failing, the choice lasts for this page
  });
}
