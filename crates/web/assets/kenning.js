// Kenning's page works without this. With it, `/` goes to the search, the map follows the files, and
// a narrow screen shows which tab is open.
"use strict";

const tab = document.querySelector("nav a[aria-current]");
if (tab) {
  // Scrolling the tab itself into view would move where the Tab key begins.
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

/** Puts the map of a newer page in the place of this one, and marks the files that changed. */
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

async function look(live) {
  if (document.hidden) return;
  const answer = await fetch(live.dataset.live);
  if (!answer.ok) return;
  const { version } = await answer.json();
  if (version === live.dataset.version) return;
  const page = await fetch(location.href);
  if (page.ok) redraw(live, await page.text());
}

const live = document.querySelector("[data-live]");
if (live) {
  const note = document.querySelector("[data-live-note]");
  if (note) note.textContent = "It follows the files as they change.";
  const soon = () => setTimeout(() => look(live).catch(() => {}).finally(soon), 2000);
  soon();
}
