// Tests the web pages in Chromium: every view in both colour schemes, on a desktop and on a phone, every
// form, the live map, the keyboard, and the page without scripts. axe checks accessibility; the browser's
// measurements of each view are written to record.json, beside the screenshots.
import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import assert from "node:assert/strict";

const { OUTSIDE, CHROMIUM, PROFILE, KNOWLEDGE, ADDRESS, PROTECTED, TOKEN, SCREENSHOTS, PICTURES } = process.env;
const require = createRequire(join(OUTSIDE, "package.json"));
const { default: puppeteer } = await import(pathToFileURL(require.resolve("puppeteer-core")));
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const VIEWS = {
  overview: "/",
  search: "/search?query=how+long+is+an+access+token+valid",
  discover: "/search?task=write+a+migration&task_type=implement&budget=2000",
  node: "/node?id=guidelines%2FSECURITY.md",
  agents: "/catalog",
  claim: "/catalog/claim?agent=claude-code&capability=Hooks",
  registry: "/registry?agent=7",
  gaps: "/gaps?status=all",
  usage: "/usage",
  map: "/map",
  compose: "/compose",
  artifact: "/compose/artifact/agents-md?preview=yes",
  content: "/compose/content/agents-md",
  api: "/api",
};
/** Limit for the cumulative layout shift; up to 0.1 is called good. */
const MAX_SHIFT = 0.01;
const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844, isMobile: true, hasTouch: true };

const browser = await puppeteer.launch({
  executablePath: execFileSync("which", [CHROMIUM], { encoding: "utf8" }).trim(),
  userDataDir: PROFILE,
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
  ],
});

const problems = [];

/** Runs in the page before its own scripts: collects what only the browser can measure. */
function observe() {
  const measured = { shift: 0, largest: 0, first: 0, violations: [] };
  globalThis.measured = measured;
  const on = (type, record) => new PerformanceObserver((list) => list.getEntries().forEach(record))
    .observe({ type, buffered: true });
  on("layout-shift", (entry) => { if (!entry.hadRecentInput) measured.shift += entry.value; });
  on("largest-contentful-paint", (entry) => { measured.largest = entry.startTime; });
  on("paint", (entry) => { if (entry.name === "first-contentful-paint") measured.first = entry.startTime; });
  document.addEventListener("securitypolicyviolation", (event) => {
    measured.violations.push(`${event.violatedDirective} ${event.blockedURI}`);
  });
}

async function tab() {
  const page = await browser.newPage();
  await page.setViewport(DESKTOP);
  await page.evaluateOnNewDocument(observe);
  page.on("console", (message) => {
    const expected = /the server responded with a status of 4/.test(message.text());
    if (message.type() === "error" && !expected) problems.push(`${page.url()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`${page.url()}: ${error}`));
  return page;
}

async function open(page, path, base = ADDRESS) {
  const response = await page.goto(base + path, { waitUntil: "load" });
  assert.equal(response.status(), 200, path);
}

async function checkAccessibility(page, name) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  for (const { id, impact, nodes } of violations) {
    const where = nodes.slice(0, 3).map((node) => node.target.join(" ")).join(", ");
    const finding = `${name}: ${id} (${impact}): ${where}`;
    if (impact === "serious" || impact === "critical") problems.push(finding);
    else console.log(finding);
  }
}

/** Fills in the form with this action, sends it and waits for the next page. */
async function send(page, action, fields = {}) {
  const form = `form[action^="${action}"]`;
  for (const [name, value] of Object.entries(fields)) {
    const field = `${form} [name="${name}"]`;
    const isSelect = await page.$eval(field, (element) => element.tagName === "SELECT");
    if (isSelect) await page.select(field, value);
    else {
      await page.$eval(field, (element) => { element.value = ""; });
      await page.type(field, value);
    }
  }
  await Promise.all([page.waitForNavigation(), page.click(`${form} button`)]);
}

async function text(page) {
  return page.$eval("main", (main) => main.innerText);
}

async function says(page, words) {
  const content = await text(page);
  assert.ok(content.includes(words), `${page.url()} does not say "${words}":\n${content.slice(0, 600)}`);
}

/** Reports a missing capability, and waits until there is a gap for it. */
async function reportMissing(page, capability, number) {
  const event = {
    callId: `00000000-0000-4000-8000-00000000000${number}`,
    toolName: "mcpeye_request_capability",
    arguments: { capability },
    timestamp: Date.now() + number,
  };
  const body = JSON.stringify({ projectId: "shop", identity: { client: "a shop" }, events: [event] });
  const headers = { "Content-Type": "application/json" };
  assert.ok((await fetch(`${ADDRESS}/ingest`, { method: "POST", headers, body })).ok);
  for (;;) {
    await open(page, "/gaps?status=all");
    const links = await page.$$eval("td a", (all) => all.map((a) => [a.textContent, a.pathname]));
    const found = links.find(([label]) => label === capability);
    if (found) return found[1];
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function propose(title) {
  const body = JSON.stringify({ title, markdown: "Like this.", targetPath: `${title}.md` });
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(`${ADDRESS}/api/v1/proposals`, { method: "POST", headers, body });
  return `/proposals/${(await response.json()).proposal.id}`;
}

async function forms(page) {
  await open(page, "/registry");
  await send(page, "/registry/agents", { name: "deploy-bot", id: "7" });
  await says(page, "The agent was added.");
  await send(page, "/registry/skills", { agent: "7", skill: "k8s-rollout", version: "1.4" });
  await says(page, "Invalid semantic version");
  await send(page, "/registry/skills", { version: "1.4.0" });
  await says(page, "The skill was registered.");
  await send(page, "/registry/deactivate");
  await says(page, "The skill was deactivated");
  await open(page, "/registry");
  await page.type('form[action="/registry"] [name="query"]', "roll out to kubernetes");
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  await says(page, "Matching skills");

  const invoice = await reportMissing(page, "print an invoice", 1);
  const room = await reportMissing(page, "reserve a meeting room", 2);
  await open(page, invoice);
  await checkAccessibility(page, "an open gap");
  await send(page, `${invoice}/mute`);
  await says(page, "The gap was muted");
  await send(page, `${invoice}/reopen`, { because: "it is wanted" });
  await says(page, "The gap was reopened.");
  await send(page, `${invoice}/close`, { by: "Ada", note: "there is a tool now" });
  await says(page, "The gap was closed.");
  await send(page, `${invoice}/reopen`);
  await send(page, `${invoice}/merge`, { into: room.split("/").pop() });
  await says(page, "The gaps were merged.");
  VIEWS.gap = room;
  await open(page, "/gaps");
  await send(page, "/gaps", { status: "merged" });
  await says(page, "print an invoice");
  await open(page, "/usage");
  await send(page, "/usage", { days: "7" });
  assert.equal(new URL(page.url()).searchParams.get("days"), "7");

  for (const [title, verb, notice] of [
    ["Invoices", "accept", "The proposal was accepted."],
    ["Rooms", "reject", "The proposal was rejected."],
  ]) {
    const proposal = await propose(title);
    VIEWS.proposal = proposal;
    await open(page, proposal);
    await checkAccessibility(page, "an open proposal");
    await send(page, `${proposal}/${verb}`, { by: "Ada" });
    await says(page, notice);
  }
}

/** Presses Tab until the element with this text has the focus, which must be visible. */
async function tabTo(page, words) {
  for (let step = 0; step < 60; step += 1) {
    await page.keyboard.press("Tab");
    const [label, outline] = await page.evaluate(() => {
      const { activeElement: focused } = document;
      return [focused.textContent.trim(), getComputedStyle(focused).outlineStyle];
    });
    if (label === words) {
      assert.notEqual(outline, "none", `${page.url()}: "${words}" has no visible focus`);
      return;
    }
  }
  assert.fail(`${page.url()}: Tab does not reach "${words}"`);
}

const enter = (page) => Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);

/** Without a mouse: past the navigation, through its tabs, to a search and a node among its results. */
async function keyboardOnly(page) {
  await open(page, "/");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  for (const [name, path] of [["Gaps", "/gaps"], ["Compose", "/compose"], ["Search", "/search"]]) {
    await open(page, "/");
    await tabTo(page, name);
    await enter(page);
    assert.equal(new URL(page.url()).pathname, path);
  }
  await open(page, "/usage");
  await page.keyboard.press("/");
  await page.keyboard.type("incident");
  await enter(page);
  await says(page, "Results");
  await tabTo(page, "Incident Response");
  await enter(page);
  assert.equal(new URL(page.url()).pathname, "/node");
}

/** Composed files: previewed, written, and not written over changes by others. */
async function compose(page) {
  await open(page, "/compose");
  await checkAccessibility(page, "compose");
  await Promise.all([page.waitForNavigation(), page.click('a[href="/compose/artifact/agents-md"]')]);
  await page.type('[name="v.max_tokens"]', "900");
  await enter(page);
  await says(page, "tokens");
  assert.ok(page.url().includes("preview=yes") && !page.url().includes("form_token"), page.url());
  const write = () => Promise.all([page.waitForNavigation(), page.click('button[formaction$="/build"]')]);
  await write();
  await says(page, "The files were written.");
  const file = join(KNOWLEDGE, "AGENTS.md");
  assert.ok(existsSync(file));
  await write();
  await says(page, "Nothing was written");
  appendFileSync(file, "\nA note by hand.\n");
  await write();
  await says(page, "was changed since");
  await checkAccessibility(page, "a file that was changed by hand");
  await page.click('[name="force"]');
  await write();
  await says(page, "The files were written.");
  assert.ok(!readFileSync(file, "utf8").includes("by hand"));

  await open(page, "/compose/content/client-config");
  await Promise.all([page.waitForNavigation(), page.click('button[formaction$="/generate"]')]);
  await says(page, "The text was generated");
  await says(page, "Version of");
  await checkAccessibility(page, "a content with a version");
  VIEWS.version = page.url().slice(ADDRESS.length).replace(/&done=.*/, "");
  await Promise.all([page.waitForNavigation(), page.click('button[name="preview"]')]);
  await says(page, "not saved");
}

async function searches(page) {
  await open(page, "/");
  await page.keyboard.press("/");
  await page.keyboard.type("access token");
  await enter(page);
  await says(page, "Results");
  await page.select("#type", "keyword");
  await page.$eval("#scope", (element) => { element.value = "guidelines/SECURITY.md"; });
  await Promise.all([page.waitForNavigation(), page.click('form[role="search"] button')]);
  await says(page, "Results");
  await page.type("#task", "write a migration");
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  await says(page, "Recommendations");
  await open(page, "/catalog");
  await page.select("#category", "security");
  await Promise.all([page.waitForNavigation(), page.click('form[action="/catalog"] button')]);
  await Promise.all([page.waitForNavigation(), page.click(".matrix td a")]);
  await says(page, "Sources");
}

async function liveMap(page) {
  await open(page, "/map");
  writeFileSync(join(KNOWLEDGE, "TEA.md"), "# Tea for the team\n\nGreen.\n");
  await page.waitForFunction(() => document.querySelector("a.file.fresh title")?.textContent.startsWith("Tea"));
  assert.ok(await page.evaluate(() => performance.getEntriesByType("navigation").length === 1));
}

/** Waits until all vectors are computed. */
async function waitForVectors(page) {
  do await open(page, "/"); while ((await text(page)).includes("Vectors are being computed"));
}

/** Calls that are counted, so that the usage page has something to show. */
async function use() {
  for (const question of ["access token", "migration", "release", "incident"]) {
    await fetch(`${ADDRESS}/api/v1/search_knowledge?query=${encodeURIComponent(question)}`);
  }
  await fetch(`${ADDRESS}/api/v1/retrieve_knowledge?ids=guidelines%2FSECURITY.md`);
}

/** The browser's measurements of the open page, loaded without a cache. */
async function measurements(page) {
  await page.waitForFunction(() => globalThis.measured.first > 0 && globalThis.measured.largest > 0, { polling: 50 });
  return page.evaluate(() => {
    const loaded = ["navigation", "resource"].flatMap((type) => performance.getEntriesByType(type));
    const { measured } = globalThis;
    return {
      shift: measured.shift,
      first_paint_ms: Math.round(measured.first),
      largest_paint_ms: Math.round(measured.largest),
      bytes: loaded.reduce((sum, entry) => sum + entry.transferSize, 0),
      elements: document.querySelectorAll("*").length,
      violations: measured.violations,
      too_wide: document.documentElement.scrollWidth - innerWidth,
    };
  });
}

/** The pictures of the README, in both colour schemes. */
async function forReadme(page) {
  if (!PICTURES) return;
  await page.setViewport({ width: 1180, height: 980, deviceScaleFactor: 2 });
  for (const scheme of ["light", "dark"]) {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await open(page, VIEWS.search);
    await page.evaluate(() => document.activeElement.blur());
    const path = join(PICTURES, `search-${scheme}.webp`);
    await page.screenshot({ path, type: "webp", quality: 80 });
  }
}

async function pictures(page) {
  const record = [];
  await page.setCacheEnabled(false);
  for (const scheme of ["light", "dark"]) {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    for (const [device, viewport] of [["desktop", DESKTOP], ["phone", PHONE]]) {
      await page.setViewport(viewport);
      for (const [name, path] of Object.entries(VIEWS)) {
        const label = `${name}-${scheme}-${device}`;
        await open(page, path);
        const found = await measurements(page);
        record.push({ view: name, path, scheme, device, ...found });
        if (found.too_wide > 1) problems.push(`${label}: ${found.too_wide} pixels too wide`);
        if (found.shift >= MAX_SHIFT) problems.push(`${label}: layout shift of ${found.shift}`);
        problems.push(...found.violations.map((violation) => `${label}: violates the content security policy: ${violation}`));
        await checkAccessibility(page, label);
        await page.screenshot({ path: join(SCREENSHOTS, `${label}.png`), fullPage: true });
      }
    }
  }
  writeFileSync(join(SCREENSHOTS, "record.json"), JSON.stringify(record, null, 1));
}

async function withoutScript() {
  const page = await tab();
  await page.setJavaScriptEnabled(false);
  for (const path of Object.values(VIEWS)) await open(page, path);
  await open(page, "/search");
  await page.type("#query", "release");
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  assert.ok((await page.content()).includes("Results"));
  await page.close();
}

async function login() {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  await page.goto(`${PROTECTED}/registry`);
  assert.equal(new URL(page.url()).pathname, "/login");
  await checkAccessibility(page, "login");
  await page.screenshot({ path: join(SCREENSHOTS, "login.png") });
  await page.type("#token", TOKEN);
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  assert.equal(new URL(page.url()).pathname, "/registry");
  assert.equal(await page.$('form[action="/registry/agents"]'), null, "a reader sees no forms");
  await send(page, "/logout");
  assert.equal(new URL(page.url()).pathname, "/login");
  await context.close();
}

try {
  const page = await tab();
  await waitForVectors(page);
  await use();
  await forReadme(page);
  await page.setViewport(DESKTOP);
  await page.emulateMediaFeatures([]);
  await forms(page);
  await compose(page);
  await keyboardOnly(page);
  await searches(page);
  await liveMap(page);
  await pictures(page);
  await withoutScript();
  await login();
} finally {
  await browser.close();
}
assert.deepEqual(problems, [], "the browser found problems");
console.log(`no problems found; screenshots are in ${SCREENSHOTS}`);
