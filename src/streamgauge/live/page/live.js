"use strict";
// Draws what the server sends. All text goes in as text, never as markup.

const KEPT = 1800;
const CLOCK_S = 0.001;
const ROLES = ["engine", "broker", "database", "sender", "harness"];
const COLOURS = 8;
const DASHES = ["", "7 3", "2 3", "9 3 2 3", "4 4"];
const MARKS = new Map([[true, "✓"], [false, "✗"], [null, "–"]]);

const CHARTS = [
  { title: "Rate", unit: rate, least: 10, big: "sent", lines: [
    { name: "offered", of: (s) => s.offered }, { name: "sent", of: (s) => s.sent },
    { name: "finished", of: (s) => s.finished, joined: true } ] }, // whenever the engine reports
  { title: "Lag, records", unit: count, least: 10, big: "lag", absent: "not reported", lines: [{ name: "lag", of: (s) => s.lag }] },
  { title: "Newest latency, a sample", unit: duration, shown: latency, log: true, big: "newest", absent: "none yet",
    lines: [{ name: "newest", of: (s) => s.newest_latency }] },
  { title: "CPU by role, cores", unit: cores, least: 0.1, big: "engine", lines: linesOf(ROLES) },
];
const CPU = CHARTS.at(-1);

const seen = { head: null, samples: [], ended: [], skew_s: 0, running: false, cursor: null };

// ---- words and numbers

function digits(number, significant) { return String(Number(number.toPrecision(significant))); }
function count(number) {
  for (const [factor, prefix] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]])
    if (Math.abs(number) >= factor * 0.9995) return digits(number / factor, 3) + prefix;
  return digits(number, 3);
}
function rate(number) { return count(number) + "/s"; }
function cores(number) { return number.toFixed(2); }
function duration(s) {
  if (s === 0) return "0 s";
  if (Math.abs(s) < 0.9995e-3) return digits(s * 1e6, 3) + " µs";
  if (Math.abs(s) < 0.9995) return digits(s * 1e3, 3) + " ms";
  return Math.abs(s) < 99.95 ? digits(s, 3) + " s" : clock(s) + " min";
}
function latency(s) { return s >= 0 && s < CLOCK_S ? "< 1 ms" : duration(s); } // the resolution of the broker's clock
function clock(s) {
  const whole = Math.max(0, Math.round(s));
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (number) => String(number).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}
function asked(kind) {
  const again = kind.repeat > 1 ? ` (${kind.repeat})` : "";
  return `${kind.query}${again}${kind.rate === null ? "" : ` at ${rate(kind.rate)}`}`;
}

// ---- elements

const byId = (id) => document.getElementById(id);
function element(name, attributes = {}, ...children) {
  const svg = ["svg", "path", "line", "rect", "text"].includes(name);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
function notice(...children) {
  byId("notice").replaceChildren(...children);
  byId("notice").hidden = children.length === 0;
}

// ---- what the server sends

function take(news) {
  seen.skew_s = news.now - Date.now() / 1000;
  const other = !seen.head || seen.head.run !== news.run || seen.head.status !== news.status;
  seen.head = news;
  if (news.status === "waiting") return waitFor(news);
  if (news.whole) { seen.samples = []; seen.ended = []; }
  seen.samples.push(...news.samples);
  seen.samples.splice(0, seen.samples.length - KEPT);
  seen.ended.push(...news.ended);
  showRun(news);
  showTrial(news.trial);
  if (news.whole || other || news.ended.length) showStrip(news);
  findRoles();
  drawAll();
  if (news.status === "running") seen.running = true;
  else finish(news);
}

function waitFor(news) {
  badge("waiting");
  notice(`Waiting for the next run in ${news.runs}.`);
}

function badge(status) {
  byId("status").textContent = status;
  byId("status").className = `badge ${status}`;
}

function showRun(head) {
  byId("what").textContent = head.subject;
  badge(head.status);
  document.title = `${head.status}: ${head.subject}`;
  const tags = Object.entries(head.tags).map(([key, value]) => `${key}=${value}`);
  const quick = head.quick ? ["quick: not a measurement"] : [];
  byId("about").textContent = [head.run, head.experiment, ...tags, ...quick].join(" · ");
  notice(...(head.trial ? [] : ["Services are starting."]));
}

function showTrial(trial) {
  byId("now").hidden = byId("charts").hidden = !trial;
  if (!trial) return;
  const of = trial.planned >= trial.number ? ` of ${trial.planned}` : "";
  byId("trial").textContent = `Trial ${trial.number}${of}: ${asked(trial.kind)}`;
  byId("why").textContent = [because(trial.kind), after(trial)].filter(Boolean).join(" · ");
  const at = trial.phases.indexOf(trial.phase);
  byId("phases").replaceChildren(...trial.phases.map((name, i) => element(
    "li", i === at ? { "aria-current": "step" } : trial.over || i < at ? { class: "passed" } : {}, name)));
  showElapsed();
}

function because(kind) { return kind.why ? `why: ${kind.why}` : ""; }
function after(trial) {
  if (seen.head.status !== "running") return "";
  if (trial.next) return `next: ${asked(trial.next)}${trial.next.why ? `, ${trial.next.why}` : ""}`;
  return trial.number < trial.planned ? "" : "next: nothing more is planned";
}

function showElapsed() {
  const trial = seen.head && seen.head.trial;
  if (!trial || !trial.phase || seen.head.status !== "running") {
    byId("elapsed").textContent = trial && trial.over ? "over" : "";
    return;
  }
  const passed = Date.now() / 1000 + seen.skew_s - trial.phase_at;
  const of = trial.lasts_s ? ` of ${clock(trial.lasts_s)}` : "";
  byId("elapsed").textContent = `${trial.phase} for ${clock(passed)}${of}`;
}

function showStrip(head) {
  const trial = head.trial;
  const tiles = seen.ended.map(endedTile);
  if (trial && !trial.over) tiles.push(tile("now", trial.number, "▶", asked(trial.kind), head.status === "running" ? "under way" : head.status));
  if (trial && trial.next && head.status === "running")
    tiles.push(tile("next", "", "…", asked(trial.next), trial.next.why || "next"));
  byId("past").hidden = tiles.length === 0;
  byId("strip").replaceChildren(...tiles);
  byId("strip").scrollTop = byId("strip").scrollHeight;
}

function endedTile(trial) {
  const verdicts = [trial.valid, trial.correct, trial.kept_up];
  const bad = trial.status !== "done" || verdicts.includes(false);
  const figures = Object.entries(trial.metrics).map(([name, value]) => `${name.split(".").pop()} ${duration(value)}`);
  const kind = bad ? "bad" : verdicts.every((each) => each === true) ? "good" : "untold";
  const status = trial.status === "done" ? [] : [trial.status];
  const details = [...status, ...figures, ...(bad && trial.reason ? [trial.reason] : [])];
  return tile(kind, trial.number, verdicts.map((each) => MARKS.get(each)).join(""), asked(trial.kind), details.join(" · "));
}

function tile(kind, number, marks, text, small) {
  return element("li", { class: kind }, `${number} `, element("span", { class: "marks" }, marks), ` ${text}`, element("small", {}, small));
}

function finish(head) {
  if (head.report && seen.running) return location.assign("/report.html"); // the stream stays open until it exists
  const words = `The run is ${head.status === "interrupted" ? "interrupted" : `over: ${head.status}`}. `;
  if (head.report) notice(words, element("a", { href: "/report.html" }, "Open the report"));
  else notice(words, head.last ? "There is no report." : "Its report is being written.");
  if (head.last) source.close();
}

// ---- charts

function linesOf(roles) { return roles.map((role) => ({ name: role, of: (s) => s.cpu[role] ?? null })); }

function findRoles() { // an engine or a service may add some to the known ones
  const others = new Set(seen.samples.flatMap((s) => Object.keys(s.cpu)));
  for (const role of ROLES) others.delete(role);
  CPU.lines = linesOf([...ROLES, ...[...others].sort()]);
}

function look(i) { return { class: `c${i % COLOURS + 1}`, "stroke-dasharray": DASHES[i % DASHES.length] }; }

const EDGE = { left: 52, right: 6, top: 6, bottom: 18 };

function build(chart) {
  chart.big_value = element("span", { class: "value" });
  chart.keys = element("span", { class: "keys" });
  chart.svg = element("svg", { role: "img", tabindex: "0", "aria-label": chart.title });
  chart.svg.addEventListener("pointermove", (event) => point(chart, event.offsetX));
  chart.svg.addEventListener("pointerleave", () => moveCursor(null));
  chart.svg.addEventListener("keydown", (event) => step(event));
  const caption = element("figcaption", {}, element("span", { class: "title" }, chart.title), chart.big_value, chart.keys);
  byId("charts").append(element("figure", {}, caption, chart.svg));
}

function span() {
  const first = seen.samples[0].at;
  return [first, Math.max(seen.samples.at(-1).at, first + 60)];
}

function point(chart, x) {
  if (!seen.samples.length) return;
  const [first, last] = span();
  const at = first + ((x - EDGE.left) / (chart.svg.clientWidth - EDGE.left - EDGE.right)) * (last - first);
  let best = 0;
  seen.samples.forEach((s, i) => { if (Math.abs(s.at - at) < Math.abs(seen.samples[best].at - at)) best = i; });
  moveCursor(best);
}

function step(event) {
  const moves = { ArrowLeft: -1, ArrowRight: 1, Escape: null };
  if (!(event.key in moves) || !seen.samples.length) return;
  event.preventDefault();
  const last = seen.samples.length - 1;
  const from = seen.cursor === null ? last : seen.samples.findIndex((s) => s.at === seen.cursor);
  const move = moves[event.key];
  moveCursor(move === null ? null : Math.min(last, Math.max(0, from + move)));
}

function moveCursor(index) {
  seen.cursor = index === null ? null : seen.samples[index].at;
  drawAll();
}

function drawAll() {
  byId("charts").dataset.samples = seen.samples.length;
  if (document.hidden) return;
  CHARTS.forEach(draw);
}

function draw(chart) {
  const samples = seen.samples;
  const chosen = (seen.cursor !== null && samples.find((s) => s.at === seen.cursor)) || samples.at(-1);
  showValues(chart, chosen);
  const [width, height] = [chart.svg.clientWidth, chart.svg.clientHeight];
  const values = chart.lines.flatMap((line) => samples.map((s) => line.of(s) ?? null)).filter((value) => value !== null);
  if (!width || !values.length) return chart.svg.replaceChildren();
  const [first, last] = span();
  const scale = chart.log ? logarithmic(values) : linear(chart, values);
  const x = (at) => EDGE.left + ((at - first) / (last - first)) * (width - EDGE.left - EDGE.right);
  const y = (value) => height - EDGE.bottom - scale.share(value) * (height - EDGE.top - EDGE.bottom);
  const parts = [...shades(samples, x, height), ...grid(scale.marks, x, y, first, last, width, height)];
  chart.lines.forEach((line, i) => parts.push(element("path", { ...look(i), d: path(samples, line, x, y) })));
  if (seen.cursor !== null)
    parts.push(element("line", { class: "cursor", x1: x(chosen.at), x2: x(chosen.at), y1: EDGE.top, y2: height - EDGE.bottom }));
  chart.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  chart.svg.replaceChildren(...parts);
}

function showValues(chart, sample) {
  const value = (line) => (line.joined ? newest(line, sample) : sample && line.of(sample)) ?? null;
  const text = (line) => (value(line) === null ? "–" : (chart.shown ?? chart.unit)(value(line)));
  const big = chart.lines.find((line) => line.name === chart.big);
  chart.big_value.textContent = value(big) === null && chart.absent ? chart.absent : text(big);
  chart.svg.setAttribute("aria-label", `${chart.title}: ${chart.lines.map((line) => `${line.name} ${text(line)}`).join(", ")}`);
  if (chart.lines.length > 1)
    chart.keys.replaceChildren(...chart.lines.map((line, i) => element("span", {},
      element("svg", { viewBox: "0 0 24 8" }, element("path", { ...look(i), d: "M0 4H24" })),
      `${line.name} ${text(line)}`)));
  if (sample && seen.cursor !== null) chart.svg.dataset.cursor = sample.at;
  else delete chart.svg.dataset.cursor;
}

function newest(line, sample) {
  return line.of(seen.samples.findLast((s) => s.at <= sample?.at && line.of(s) !== null) ?? {});
}

function path(samples, line, x, y) {
  let drawn = "", pen = "M";
  for (const sample of samples) {
    const value = line.of(sample);
    if (value === null || value === undefined) { pen = line.joined ? pen : "M"; continue; }
    const at = `${x(sample.at).toFixed(1)} ${y(value).toFixed(1)}`;
    drawn += pen === "M" ? `M${at}h.1` : `L${at}`;
    pen = "L";
  }
  return drawn;
}

function shades(samples, x, height) {
  // Shade what is not measured.
  const spans = [];
  samples.forEach((sample, i) => {
    if (sample.phase === "measure") return;
    const end = (samples[i + 1] || sample).at;
    if (spans.length && spans.at(-1)[1] === sample.at) spans.at(-1)[1] = end;
    else spans.push([sample.at, end]);
  });
  return spans.map(([from, to]) => element("rect", { class: "shade", x: x(from), y: EDGE.top,
    width: Math.max(0, x(to) - x(from)), height: height - EDGE.top - EDGE.bottom }));
}

function grid(marks, x, y, first, last, width, height) {
  const parts = [];
  for (const [value, label] of marks) {
    parts.push(element("line", { class: "grid", x1: EDGE.left, x2: width - EDGE.right, y1: y(value), y2: y(value) }));
    parts.push(element("text", { x: EDGE.left - 6, y: y(value) + 4, "text-anchor": "end" }, label));
  }
  for (const [share, anchor] of [[0, "start"], [0.5, "middle"], [1, "end"]]) {
    const at = first + share * (last - first);
    parts.push(element("text", { x: x(at), y: height - 4, "text-anchor": anchor }, clock(at - first)));
  }
  return parts;
}

function linear(chart, values) {
  const top = ceiling(Math.max(chart.least, ...values));
  return { share: (value) => Math.max(0, value) / top, marks: [0, top / 2, top].map((value) => [value, chart.unit(value)]) };
}

function ceiling(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1.2, 1.6, 2, 3, 4, 5, 6, 8, 10, 12].map((step) => step * power).find((step) => step >= value * 1.02);
}

// From the clock's resolution up, each power of ten has the same room: the first output of a cold engine is thousands of times slower than the rest.
function logarithmic(values) {
  const power = (value) => Math.log10(Math.max(value, CLOCK_S));
  const [low, high] = [Math.floor(power(Math.min(...values))), Math.ceil(power(Math.max(...values)))];
  const top = Math.max(high, low + 1);
  const marks = Array.from({ length: top - low + 1 }, (_, k) => 10 ** (low + k));
  return { share: (value) => (power(value) - low) / (top - low), marks: marks.map((value) => [value, value <= CLOCK_S ? "≤ 1 ms" : duration(value)]) };
}

// ---- begin

CHARTS.forEach(build);
setInterval(showElapsed, 1000);
addEventListener("resize", drawAll);
document.addEventListener("visibilitychange", drawAll);
const source = new EventSource("/events");
source.onmessage = (event) => take(JSON.parse(event.data));
source.onerror = () => { if (source.readyState !== EventSource.CLOSED) notice("The connection is lost; trying again."); };
