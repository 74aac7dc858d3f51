"use strict";
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const page = document.getElementById("page") ? read("page") : {}; // a page with charts of its own has none
  const make = (name, attributes, ...content) => {
    const svg = ["svg", "line", "rect", "circle"].includes(name);
    const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...content);
    return made;
  };

  // Values as people read them.
  const digits = (value, most = 3) => Number(value.toPrecision(most)).toLocaleString("en", { maximumFractionDigits: 4 });
  const thousands = (value) => Math.abs(value) >= 1e6 ? `${digits(value / 1e6, 4)}M` : Math.abs(value) >= 1e4 ? `${digits(value / 1e3, 4)}k` : digits(value, 4);
  const write = {
    "ms": (value) => value >= 1000 ? `${digits(value / 1000)} s` : value < 1 && value >= 0 ? "< 1 ms" : `${digits(value)} ms`,
    "s": (value) => `${digits(value)} s`,
    "records": (value) => thousands(value),
    "1/s": (value) => `${thousands(value)}/s`,
    "cores": (value) => value.toFixed(2),
    "GiB": (value) => value < 1 ? `${digits(value * 1024)} MiB` : `${digits(value)} GiB`,
    "MiB/s": (value) => `${digits(value)} MiB/s`,
    "": (value) => value.toFixed(2),
  };

  const look = (place, colours, dashed) => ({
    c: colours[place % colours.length],
    d: dashed ? page.dashes[place % page.dashes.length] : [],
  });

  // Round numbers on a logarithmic axis, as far apart as possible, but enough of them; none below the clock's resolution.
  const roundNumbers = (values) => {
    const [low, high] = [Math.min, Math.max].map((choose) => values.reduce((a, b) => choose(a, b)));
    const powers = Array.from({ length: Math.ceil(Math.log10(high)) + 1 }, (_, power) => 10 ** power);
    let found = [];
    for (const steps of page.steps) {
      found = powers.flatMap((power) => steps.map((step) => step * power)).filter((each) => each >= low * 0.98 && each <= high * 1.02);
      if (found.length >= page.fewest) break;
    }
    return low < 1 ? [page.floor, ...found] : found;
  };

  const nearest = (sorted, wanted) => {
    let low = 0, high = sorted.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (sorted[middle] < wanted) low = middle; else high = middle;
    }
    return wanted - sorted[low] <= sorted[high] - wanted ? low : high;
  };

  const swatch = ({ c, d, o = 1 }, shape) => {
    const drawn = make("svg", { width: 22, height: 10, "aria-hidden": "true" });
    const shapes = {
      lines: () => make("line", { x1: 0, x2: 22, y1: 5, y2: 5, stroke: c, "stroke-width": 2.5, "stroke-dasharray": d.join(" ") }),
      areas: () => make("rect", { x: 4, y: 0, width: 14, height: 10, rx: 2, fill: c, opacity: o }),
      points: () => make("circle", { cx: 11, cy: 5, r: 3, fill: c }),
      ticks: () => make("line", { x1: 11, x2: 11, y1: 1, y2: 10, stroke: c, "stroke-width": 1.5 }),
    };
    drawn.append(shapes[shape]());
    return drawn;
  };

  // Charts that share one axis: its ends and the cursor are the same in all of them.
  class Group {
    constructor(tellCursor) {
      this.drawn = [];
      this.tellCursor = tellCursor;
      this.cursor = null;
      this.stale = false;
    }
    clear(from, to, step) {
      for (const each of this.drawn) each.view.finalize();
      this.drawn = [];
      Object.assign(this, { first: from, last: to, from, to, step });
    }
    async add(figure, spec, datasets, readouts) {
      const place = figure.querySelector(".chart");
      figure.hidden = false;
      const whole = structuredClone(spec);
      whole.datasets = datasets;
      whole.layer = whole.layer.filter(({ data }) => data.values || datasets[data.name].length);
      if (datasets.rows.every(({ v }) => !v)) {
        // Otherwise zeros would be drawn half-way up.
        for (const { data, encoding } of whole.layer) if (data.name === "rows" && encoding.y.scale.zero) encoding.y.scale.domain = [0, 1];
      }
      for (const { data, mark, encoding } of whole.layer) {
        if (data.name !== "rows") continue;
        if (encoding.y.scale.type === "log") encoding.y.axis.values = roundNumbers(datasets.rows.filter(({ v }) => v !== null).map(({ v }) => Math.max(v, page.floor)));
        if (mark.type === "circle") mark.size = datasets.rows.length < 300 ? 36 : datasets.rows.length < 1000 ? 18 : 9;
      }
      for (const param of whole.params) param.value = this.signals()[param.name];
      const options = { mode: "vega-lite", renderer: "svg", actions: false, tooltip: false, ast: true };
      const { view } = await vegaEmbed(place, whole, options);
      const chart = { figure, place, view, readouts };
      this.drawn.push(chart);
      this.read(chart);
      return chart;
    }
    signals() { return { from: this.from, to: this.to, here: this.cursor }; }
    moveTo(cursor) { this.set({ cursor: cursor === null ? null : Math.min(this.to, Math.max(this.from, cursor)) }); }
    zoomTo(from, to) {
      const width = Math.min(this.last - this.first, Math.max(4 * this.step, to - from));
      const start = Math.min(this.last - width, Math.max(this.first, from));
      this.set({ from: start, to: start + width });
    }
    zoomBy(factor) {
      const middle = this.cursor ?? (this.from + this.to) / 2;
      this.zoomTo(middle - (middle - this.from) * factor, middle + (this.to - middle) * factor);
    }
    all() { this.zoomTo(this.first, this.last); }
    set(changes) {
      Object.assign(this, changes);
      if (this.stale) return;
      this.stale = true;
      requestAnimationFrame(() => {
        this.stale = false;
        for (const chart of this.drawn) {
          for (const [name, value] of Object.entries(this.signals())) chart.view.signal(name, value);
          chart.view.runAsync();
          this.read(chart);
        }
        this.tellCursor(this.cursor);
      });
    }
    read(chart) {
      for (const { times, values, unit, output } of chart.readouts) {
        const value = this.cursor === null || !times.length ? null : values[nearest(times, this.cursor)];
        output.textContent = value === null || value === undefined ? "" : write[unit](value);
      }
    }
    keys(event) {
      const step = this.step * (event.shiftKey ? 10 : 1);
      const now = this.cursor ?? this.from;
      const acts = {
        ArrowLeft: () => this.follow(now - step), ArrowRight: () => this.follow(now + step),
        "+": () => this.zoomBy(0.5), "=": () => this.zoomBy(0.5), "-": () => this.zoomBy(2),
        "0": () => this.all(), Escape: () => { this.all(); this.moveTo(null); },
        Home: () => this.follow(this.first), End: () => this.follow(this.last),
      };
      if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in acts)) return;
      event.preventDefault();
      acts[event.key]();
    }
    follow(cursor) {
      const width = this.to - this.from;
      if (cursor < this.from) this.zoomTo(cursor, cursor + width);
      if (cursor > this.to) this.zoomTo(cursor - width, cursor);
      this.moveTo(cursor);
    }
    // The plotting area, without axes, as it is on the screen.
    area(place) { return place.querySelector(".root > g > .background").getBoundingClientRect(); }
    at(place, clientX) {
      const { left, width } = this.area(place);
      return this.from + Math.min(1, Math.max(0, (clientX - left) / width)) * (this.to - this.from);
    }
    listen(place) {
      let begun = null, brush = null;
      const end = (event) => {
        if (brush) this.zoomTo(...[begun, event.clientX].map((x) => this.at(place, x)).sort((a, b) => a - b));
        brush?.remove();
        begun = brush = null;
      };
      place.addEventListener("keydown", (event) => this.keys(event));
      place.addEventListener("dblclick", () => this.all());
      place.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse" && begun === null) this.moveTo(null); });
      place.addEventListener("pointerdown", (event) => {
        if (event.pointerType === "mouse" && event.button === 0) {
          begun = event.clientX;
          place.setPointerCapture(event.pointerId);
        }
        if (this.drawn.length) this.moveTo(this.at(place, event.clientX));
      });
      place.addEventListener("pointermove", (event) => {
        if (!place.querySelector(".root")) return;
        this.moveTo(this.at(place, event.clientX));
        if (begun === null || Math.abs(event.clientX - begun) < 5) return;
        brush ??= place.appendChild(make("div", { class: "brush" }));
        const left = Math.min(begun, event.clientX) - place.getBoundingClientRect().left;
        brush.style.left = `${left}px`;
        brush.style.width = `${Math.abs(event.clientX - begun)}px`;
      });
      place.addEventListener("pointerup", end);
      place.addEventListener("pointercancel", () => { brush?.remove(); begun = brush = null; });
    }
  }

  // What the legend names besides the series, if the chart has it.
  const beside = (figure, spec, { charts, limit }) => {
    const named = { outside: figure.classList.contains("wide") && "not measured", fit: charts.fit && "fitted slope", limit: limit.length && `${limit[0].v} cores`, boundaries: charts.boundaries && (charts.boundaries.t.length > page.marks ? "start of a batch (zoom in)" : "start of a batch"), acts: charts.acts && (charts.acts.says.length > 1 ? "done on purpose" : charts.acts.says[0]) };
    return spec.layer.filter(({ data }) => named[data.name])
      .map(({ data, mark }) => [named[data.name], { c: mark.color, d: mark.strokeDash ?? [], o: mark.opacity ?? 1 }, { boundaries: "ticks", outside: "areas" }[data.name] ?? "lines"]);
  };

  const legend = (figure, entries, shape, unit, others = []) => {
    const readouts = [];
    const items = entries.map(({ name, times, values, looks }) => {
      const output = make("b", {});
      readouts.push({ times, values, unit, output });
      return make("li", {}, swatch(looks, shape), name, output);
    });
    items.push(...others.map(([name, looks, drawn]) => make("li", {}, swatch(looks, drawn), name)));
    figure.querySelector(".legend").replaceChildren(...items);
    return readouts;
  };

  // A line breaks where nothing is known for longer than that.
  const withGaps = (line, longest) => line.flatMap((row, k) => k && row.x - line[k - 1].x > longest ? [{ ...row, x: line[k - 1].x, v: null }, row] : [row]);

  const places = (columns) => (columns?.t ?? []).map((x) => ({ x }));

  // One run: the charts of the chosen trial, and the distribution of all trials.
  class Run {
    constructor(element) {
      this.name = element.dataset.run;
      this.element = element;
      const readout = element.querySelector("output.cursor");
      this.time = new Group((cursor) => { readout.textContent = cursor === null ? "" : `at ${cursor.toFixed(this.time.step < 1 ? 1 : 0)} s`; });
      this.nines = new Group(() => {});
      this.round = 0;
      this.work = Promise.resolve();
      for (const figure of element.querySelectorAll("figure")) {
        const group = figure.dataset.chart ? this.time : this.nines;
        group.listen(figure.querySelector(".chart"));
      }
      for (const choice of element.querySelectorAll("input[type=radio]")) {
        choice.addEventListener("change", () => this.show(choice.value));
      }
      const zooms = { in: () => this.time.zoomBy(0.5), out: () => this.time.zoomBy(2), all: () => this.time.all() };
      for (const button of element.querySelectorAll("[data-zoom]")) {
        button.addEventListener("click", zooms[button.dataset.zoom]);
      }
      for (const link of document.querySelectorAll(`#${this.name} [data-trial]`)) {
        link.addEventListener("click", () => this.element.querySelector(`input[value="${link.dataset.trial}"]`).click());
      }
    }
    async start() {
      const chosen = this.element.querySelector("input:checked");
      await this.show(chosen.value);
      await this.distribute();
    }
    // One trial after the other; only the last of those chosen meanwhile is drawn.
    show(number) {
      const round = ++this.round;
      this.work = this.work.catch(() => {}).then(() => this.redraw(number, round));
      return this.work;
    }
    async redraw(number, round) {
      if (round !== this.round) return;
      const trial = read(`${this.name}-trial-${number}`);
      this.bringIntoSight(number);
      this.time.clear(trial.from, trial.to, trial.bin);
      this.element.querySelector(".none").hidden = Object.keys(trial.charts).length > 0;
      // All places before any chart: one without a neighbour takes the whole width.
      const figures = [...this.element.querySelectorAll("figure[data-chart]")];
      for (const figure of figures) figure.hidden = Object.keys(trial.charts[figure.dataset.chart] ?? {}).length < 2;
      for (const figure of figures.filter(({ hidden }) => !hidden)) {
        if (round !== this.round) return;
        await this.draw(figure, trial);
      }
      this.element.dataset.drawn = number;
    }
    // Sideways only: the page stays where it is.
    bringIntoSight(number) {
      const row = this.element.querySelector(".picker fieldset");
      const choice = row.querySelector(`input[value="${number}"]`).parentNode;
      row.scrollLeft = choice.offsetLeft - row.offsetLeft - (row.clientWidth - choice.offsetWidth) / 2;
    }
    async draw(figure, trial) {
      const name = figure.dataset.chart;
      const columns = trial.charts[name];
      const { spec, unit, shape, colours, dashed } = page.charts[name];
      const series = Object.keys(columns).filter((key) => key !== "t");
      const entries = series.map((key, place) => ({ name: key, times: columns.t, values: columns[key], looks: look(place, colours, dashed) }))
        .filter(({ values }) => values.some((value) => value !== null));
      // Each lies on those before it and is thinner or dashed, so that none hides another.
      const width = (i) => (dashed || entries.length === 1 ? 1.6 : 2.6 - 0.5 * i);
      const drawn = entries.map(({ name: s, times, values, looks }, i) => times.map((x, k) => ({ x, v: values[k], s, i, w: width(i), ...looks }))
        .filter(({ v }) => v !== null));
      const rows = shape === "lines" ? drawn.flatMap((line) => withGaps(line, 2.5 * trial.bin)) : drawn.flat();
      const { fit, boundaries, acts } = trial.charts;
      figure.querySelector(".said").textContent = trial.said[name] ?? "";
      const readouts = legend(figure, entries, shape, unit, beside(figure, spec, trial));
      await this.time.add(figure, spec, {
        rows,
        outside: trial.outside,
        limit: trial.limit,
        boundaries: places(boundaries),
        acts: places(acts),
        fit: fit ? fit.t.map((x, k) => ({ x, v: fit.v[k] })) : [],
      }, shape === "points" ? [] : readouts);
    }
    async distribute() {
      const lines = read(`${this.name}-distribution`);
      if (!lines.length) return;
      const figure = this.element.querySelector("figure.distribution");
      const rows = lines.flatMap(({ place, bold, t, v }, s) => t.map((x, k) => ({ x, v: v[k], s, w: bold ? 2.4 : 1, o: bold ? 1 : 0.55, ...look(place, page.colours, true) })));
      const entries = lines.filter(({ bold }) => bold).map(({ name, place, t, v }) => ({ name, times: t, values: v, looks: look(place, page.colours, true) }));
      this.nines.clear(0, Math.max(...lines.flatMap(({ t }) => t)), 0.05);
      await this.nines.add(figure, page.distribution, { rows }, legend(figure, entries, "lines", "ms"));
      this.element.dataset.distributed = "yes";
    }
  }

  // A chart by itself, with its data in it.
  const drawAlone = (figure) => {
    const options = { mode: "vega-lite", renderer: "svg", actions: false, ast: true, tooltip: { disableDefaultStyle: true } };
    return vegaEmbed(figure.querySelector(".chart"), read(figure.dataset.spec), options);
  };

  const sortable = (table) => {
    const body = table.tBodies[0];
    [...table.tHead.rows[0].cells].forEach((header, column) => {
      const button = make("button", { type: "button" }, ...header.childNodes);
      header.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = header.getAttribute("aria-sort") === "ascending";
        for (const each of header.parentNode.cells) each.removeAttribute("aria-sort");
        header.setAttribute("aria-sort", down ? "descending" : "ascending");
        const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
        const compare = (a, b) => {
          const [x, y] = [key(a), key(b)];
          const numbers = [Number(x), Number(y)];
          return numbers.some(Number.isNaN) ? x.localeCompare(y, "en", { numeric: true }) : numbers[0] - numbers[1];
        };
        const rows = [...body.rows].sort(compare);
        body.append(...(down ? rows.reverse() : rows));
      });
    });
  };

  const copy = async (button) => {
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
    } catch {
      getSelection().selectAllChildren(source);
      document.execCommand("copy");
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  };

  // Paper cannot be unfolded.
  const folded = () => document.querySelectorAll("details.on-paper:not([open])");
  addEventListener("beforeprint", () => folded().forEach((each) => { each.open = true; each.dataset.folded = ""; }));
  addEventListener("afterprint", () => document.querySelectorAll("details[data-folded]").forEach((each) => { each.open = false; delete each.dataset.folded; }));

  document.querySelectorAll("table.sortable").forEach(sortable);
  document.querySelectorAll("[data-copy]").forEach((button) => button.addEventListener("click", () => copy(button)));
  (async () => {
    const alone = [...document.querySelectorAll("figure[data-spec]")];
    for (const figure of alone) figure.hidden = false;
    for (const figure of alone) await drawAlone(figure);
    for (const element of document.querySelectorAll("[data-run]")) await new Run(element).start();
    document.documentElement.dataset.ready = "yes";
  })();
})();
