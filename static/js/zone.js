// Offers the browser's time zone where another one is chosen.

const select = document.getElementById("time-zone");
const hint = document.getElementById("time-zone-hint");
const button = hint.querySelector("button");
const here = Intl.DateTimeFormat().resolvedOptions().timeZone;

function refresh() {
  const isListed = [...select.options].some((option) => option.value === here);
  hint.hidden = !isListed || select.value === here;
}

button.textContent = button.dataset.text.replace("{zone}", here);
button.addEventListener("click", () => {
  select.value = here;
  refresh();
  select.focus();
});
select.addEventListener("change", refresh);
refresh();
