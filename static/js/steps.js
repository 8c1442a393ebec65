// A link to a step opens it: from the chat, from the timeline, from a decision.

function openTarget() {
  const step = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!(step instanceof HTMLDetailsElement)) return;
  step.open = true;
  step.scrollIntoView({ block: "nearest" });
}

addEventListener("hashchange", openTarget);
openTarget();
