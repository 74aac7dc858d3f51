"use strict";
// Flame graphs: a click zooms into a box, a word finds boxes, a task hides what does not belong to it.
(() => {
  const HIGH = 18;
  const WHOLE = 1e6;

  const time = (seconds) => {
    const [factor, unit] = seconds < 1e-3 ? [1e6, "µs"] : seconds < 1 ? [1e3, "ms"] : [1, "s"];
    return `${Number((seconds * factor).toPrecision(3))} ${unit}`;
  };

  class Flame {
    constructor(element) {
      this.element = element;
      Object.assign(this, JSON.parse(document.getElementById(element.dataset.flame).textContent));
      this.canvas = element.querySelector("canvas");
      this.told = element.querySelector("[data-told]");
      this.find = element.querySelector("input");
      this.choice = element.querySelector("select");
      this.children = this.name.map(() => []);
      this.bottom = [];
      this.parent.forEach((parent, box) => (parent < 0 ? this.bottom : this.children[parent]).push(box));
      this.zoomed = -1;
      this.choice.addEventListener("change", () => { this.zoomed = -1; this.draw(); });
      this.find.addEventListener("input", () => this.draw());
      element.querySelector("button").addEventListener("click", () => this.reset());
      this.canvas.addEventListener("click", (event) => this.zoom(this.at(event)));
      this.canvas.addEventListener("mousemove", (event) => this.tell(this.at(event)));
      this.canvas.addEventListener("mouseleave", () => this.tell(null));
      this.canvas.addEventListener("keydown", (event) => { if (event.key === "Escape") this.reset(); });
      new ResizeObserver(() => { if (this.canvas.clientWidth !== this.width) this.draw(); }).observe(element);
      this.draw();
    }

    reset() { this.zoomed = -1; this.find.value = ""; this.choice.value = ""; this.draw(); }

    zoom(drawn) { if (drawn) { this.zoomed = drawn.box === this.zoomed ? this.parent[drawn.box] : drawn.box; this.draw(); } }

    weight(box) {
      const parts = this.parts[box];
      let sum = 0;
      for (let place = 0; place < parts.length; place += 2) {
        if (this.task === null || parts[place] === this.task) sum += parts[place + 1];
      }
      return sum;
    }

    dearest(box) {
      if (this.task !== null) return this.task;
      const parts = this.parts[box];
      let best = 0;
      for (let place = 2; place < parts.length; place += 2) if (parts[place + 1] > parts[best + 1]) best = place;
      return parts[best];
    }

    // Places all boxes that are wide enough to be seen: below the zoomed one its callers, full width.
    place(width) {
      const drawn = [];
      const line = [];
      for (let box = this.zoomed; box >= 0; box = this.parent[box]) line.unshift(box);
      line.forEach((box, depth) => drawn.push({ box, x: 0, width, depth }));
      const above = (boxes, x, scale, depth) => {
        for (const box of boxes) {
          const wide = this.weight(box) * scale;
          if (wide >= 0.4) {
            drawn.push({ box, x, width: wide, depth });
            above(this.children[box], x, scale, depth + 1);
          }
          x += wide;
        }
      };
      const start = this.zoomed < 0 ? this.bottom : this.children[this.zoomed];
      const whole = this.zoomed < 0 ? start.reduce((sum, box) => sum + this.weight(box), 0) : this.weight(this.zoomed);
      above(start, 0, whole ? width / whole : 0, line.length);
      return drawn;
    }

    draw() {
      this.task = this.choice.value === "" ? null : Number(this.choice.value);
      const width = (this.width = this.canvas.clientWidth);
      if (!width) return;
      this.drawn = this.place(width);
      const high = (1 + Math.max(0, ...this.drawn.map((each) => each.depth))) * HIGH;
      const sharp = window.devicePixelRatio || 1;
      this.canvas.width = width * sharp;
      this.canvas.height = high * sharp;
      this.canvas.style.height = `${high}px`;
      const pen = this.canvas.getContext("2d");
      pen.scale(sharp, sharp);
      pen.font = "11px ui-monospace, monospace";
      pen.textBaseline = "middle";
      this.wanted = this.find.value.toLowerCase();
      let found = 0;
      for (const each of this.drawn) if (this.paint(pen, each, high)) found += this.outermost(each.box) ? this.weight(each.box) : 0;
      this.said = this.wanted ? `${this.share(found)} in boxes with “${this.find.value}”` : "";
      this.tell(null);
    }

    fits(box) { return this.wanted !== "" && this.names[this.name[box]].toLowerCase().includes(this.wanted); }

    outermost(box) {
      for (let below = this.parent[box]; below >= 0; below = this.parent[below]) if (this.fits(below)) return false;
      return true;
    }

    paint(pen, { box, x, width, depth }, high) {
      const fits = this.fits(box);
      const y = high - (depth + 1) * HIGH;
      pen.globalAlpha = this.wanted && !fits ? 0.25 : this.isCarrier(box) ? 0.5 : 1;
      pen.fillStyle = fits ? "#c2185b" : this.colours[this.dearest(box)];
      pen.fillRect(x, y + 0.5, Math.max(width - 0.5, 0.4), HIGH - 1);
      if (width > 24) {
        pen.fillStyle = "#fff";
        const text = this.short(this.names[this.name[box]]);
        pen.fillText(text.slice(0, Math.floor((width - 6) / 6.6)), x + 3, y + HIGH / 2 + 0.5);
      }
      return fits;
    }

    isCarrier(box) {
      for (let over = this.zoomed < 0 ? -1 : this.parent[this.zoomed]; over >= 0; over = this.parent[over]) if (over === box) return true;
      return false;
    }

    short(name) { return name.includes("(") || name.includes("::") ? name : name.split(".").slice(-2).join("."); }

    at(event) {
      const place = this.canvas.getBoundingClientRect();
      const x = event.clientX - place.left;
      const depth = Math.floor((place.height - (event.clientY - place.top)) / HIGH);
      return this.drawn.find((each) => each.depth === depth && each.x <= x && x < each.x + each.width) || null;
    }

    share(weight) {
      const seconds = (weight / WHOLE) * this.seconds;
      const each = this.events ? `${time(seconds / this.events)} per record` : time(seconds);
      return `${((100 * weight) / WHOLE).toFixed(1)} %, ${each}`;
    }

    tell(drawn) {
      this.canvas.style.cursor = drawn ? "pointer" : "default";
      this.told.textContent = drawn
        ? `${this.names[this.name[drawn.box]]}: ${this.share(this.weight(drawn.box))}, ${this.tasks[this.dearest(drawn.box)]}`
        : this.said || "\u00a0";  // an empty line, so that nothing moves under the cursor
    }
  }

  document.querySelectorAll("[data-flame]").forEach((element) => new Flame(element));
})();
