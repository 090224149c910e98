// The pages work without this script. It adds the `/` shortcut to the search, the live map, and on narrow
// screens scrolls the navigation to the current tab.
"use strict";

const tab = document.querySelector("nav a[aria-current]");
if (tab) {
  // Not `scrollIntoView`: that would change where the Tab key starts.
  const nav = tab.parentElement;
  nav.scrollLeft = tab.offsetLeft - nav.offsetLeft - (nav.clientWidth - tab.offsetWidth) / 2;
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select, [contenteditable]");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const field = document.querySelector("[data-slash]");
  if (!field) return;
  event.preventDefault();
  field.focus();
  field.select();
});

/** Replaces the map by that of a newer page, and marks the files that changed. */
function redraw(live, page) {
  const next = new DOMParser().parseFromString(page, "text/html").getElementById("live");
  if (!next) return;
  const files = (root) => [...root.querySelectorAll("a.file")];
  const known = new Map(files(live).map((file) => [file.dataset.path, file.dataset.hash]));
  live.replaceChildren(...next.childNodes);
  live.dataset.version = next.dataset.version;
  for (const file of files(live)) {
    if (known.get(file.dataset.path) !== file.dataset.hash) file.classList.add("fresh");
  }
}

async function poll(live) {
  if (document.hidden) return;
  const response = await fetch(live.dataset.live);
  if (!response.ok) return;
  const { version } = await response.json();
  if (version === live.dataset.version) return;
  const page = await fetch(location.href);
  if (page.ok) redraw(live, await page.text());
}

const live = document.querySelector("[data-live]");
if (live) {
  const note = document.querySelector("[data-live-note]");
  if (note) note.textContent = "The map updates when files change.";
  const schedule = () => setTimeout(() => poll(live).catch(() => {}).finally(schedule), 2000);
  schedule();
}
