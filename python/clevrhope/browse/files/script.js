// Lights up the objects that a step of a program gives, and shows or hides boxes, numbers and masks, without
// loading the page again. Everything works without this script too.
"use strict";

const DEFAULTS = { boxes: "1", ids: "1", masks: "0" };
const address = new URLSearchParams(location.search);

function isOn(name) {
  return (address.get(name) ?? DEFAULTS[name]) === "1";
}

function setIn(params, name, value) {
  if (value === null || value === DEFAULTS[name]) params.delete(name);
  else params.set(name, value);
}

// The rest of an address, with toggles as they are now.
function carried(href) {
  const url = new URL(href, location.href);
  for (const name of Object.keys(DEFAULTS)) setIn(url.searchParams, name, address.get(name));
  return url.href;
}

function light(panel, step) {
  const ids = (name) => new Set(step ? step.dataset[name].split(" ").filter(Boolean) : []);
  const objects = ids("objects"), images = ids("images");
  for (const each of panel.querySelectorAll("[data-object]")) each.classList.toggle("lit", objects.has(each.dataset.object));
  for (const each of panel.querySelectorAll("[data-image]")) each.classList.toggle("lit", images.has(each.dataset.image));
  const words = panel.querySelector(".marked-step");
  const text = step ? step.getAttribute("aria-label") : words.dataset.empty;
  if (words.textContent !== text) words.textContent = text;
}

function marked(panel) {
  const number = address.get(panel.dataset.field);
  return [...panel.querySelectorAll("[data-step]")].find((step) => step.dataset.step === number) ?? null;
}

function show() {
  for (const panel of document.querySelectorAll("[data-field]")) {
    for (const name of Object.keys(DEFAULTS)) panel.classList.toggle(`show-${name}`, isOn(name));
    for (const each of panel.querySelectorAll("[data-toggle]")) each.setAttribute("aria-checked", String(isOn(each.dataset.toggle)));
    const chosen = marked(panel);
    for (const step of panel.querySelectorAll("[data-step]")) {
      step.classList.toggle("marked", step === chosen);
      if (step === chosen) step.setAttribute("aria-current", "step");
      else step.removeAttribute("aria-current");
    }
    light(panel, chosen);
  }
  for (const link of document.querySelectorAll("a[data-carry]")) link.href = carried(link.href);
}

function keep(name, value) {
  setIn(address, name, value);
  const query = address.toString();
  history.replaceState(null, "", query ? `?${query}` : location.pathname);
  show();
}

for (const panel of document.querySelectorAll("[data-field]")) {
  for (const step of panel.querySelectorAll("[data-step]")) {
    const begin = () => light(panel, step), end = () => light(panel, marked(panel));
    step.addEventListener("mouseenter", begin);
    step.addEventListener("focus", begin);
    step.addEventListener("mouseleave", end);
    step.addEventListener("blur", end);
    step.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      const field = panel.dataset.field;
      keep(field, address.get(field) === step.dataset.step ? null : step.dataset.step);
    });
  }
  for (const toggle of panel.querySelectorAll("[data-toggle]")) {
    const change = (event) => {
      event.preventDefault();
      keep(toggle.dataset.toggle, isOn(toggle.dataset.toggle) ? "0" : "1");
    };
    toggle.addEventListener("click", change);
    toggle.addEventListener("keydown", (event) => { if (event.key === " ") change(event); });
  }
}

// The arrow keys go to the question before or after, where they have nothing else to do.
document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (event.target.closest("input, select, textarea, summary")) return;
  const link = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
  if (link) document.querySelector(`a[rel="${link}"]`)?.click();
});

show();
