// The controls beside and below the view. Text from the page goes in as text, never as markup.

import { cssColor, gradient, hex, mapped, pick } from "./theme.js";

/** A DOM element: `h("button", { type: "button" }, "Reset")`. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** The mean of (N, 3) bytes as a colour. */
function mean(colors) {
  const sums = [0, 0, 0];
  for (let i = 0; i < colors.length; i++) sums[i % 3] += colors[i];
  return `rgb(${sums.map((sum) => Math.round((3 * sum) / colors.length)).join(" ")})`;
}

const counted = (count) => count.toLocaleString("en");

/** "21,712 points", or "50,000 of 1,204,113 points" if only some are shown. */
function shownOf(count, total, noun) {
  const all = Math.max(count, total);
  return `${counted(count)}${total > count ? ` of ${counted(total)}` : ""} ${noun}${all === 1 ? "" : "s"}`;
}

const MANY = 8;

/** Check boxes, one for each cloud and each set of lines; `paint` gives them the clouds' colours. */
export function layerList(things, onChange) {
  const swatches = [];
  const boxes = [];
  const rows = things.map(({ layer, object }) => {
    const swatch = h("span", { class: layer.points ? "swatch" : "swatch line", "aria-hidden": "true" });
    swatches.push([swatch, layer]);
    const count = layer.pairs ? layer.pairs.length : (layer.points ?? layer.source).length / 3;
    const box = h("input", {
      type: "checkbox",
      checked: layer.visible,
      onchange: () => {
        object.visible = box.checked;
        onChange();
      },
    });
    boxes.push([box, object]);
    return h(
      "label",
      { class: "layer" },
      box,
      swatch,
      h("span", { class: "name" }, layer.name),
      h("span", { class: "count" }, shownOf(count, layer.total, layer.points ? "point" : "line")),
    );
  });
  const paint = (by) => {
    for (const [swatch, { color, points, pairs, values, colors }] of swatches) {
      const plain = pairs ? pick(color) : cssColor(points ? "--muted-cloud" : "--soft");
      const own = colors ? mean(colors) : pick(color);
      const shown = { cloud: pick(color), values: values ? gradient() : plain, colors: own };
      swatch.style.background = shown[by];
    }
  };
  /** Update the check boxes after layers were shown or hidden elsewhere. */
  const sync = () => {
    for (const [box, object] of boxes) box.checked = object.visible;
  };
  const clouds = boxes.slice(0, things.filter(({ layer }) => layer.points).length);
  if (clouds.length <= MANY) return { rows, paint, sync };
  const show = (on) => {
    for (const [, object] of clouds) object.visible = on;
    sync();
    onChange();
  };
  const button = (label, on) =>
    h("button", { type: "button", class: "copy", onclick: () => show(on) }, label);
  const head = h("div", { class: "head" }, h("span", {}, `${clouds.length} scans`));
  head.append(h("span", {}, button("All", true), " ", button("None", false)));
  const many = h("div", { class: "many", tabindex: "0" }, ...rows.slice(0, clouds.length));
  return { rows: [head, many, ...rows.slice(clouds.length)], paint, sync };
}

const BARS = 36;

/** The legend of the colours by value: a histogram, the colours, and a slider for their end. */
export class Legend {
  constructor(scale, layers, onChange) {
    this.scale = scale;
    this.rows = layers.flatMap(({ values }) => (values ? [values] : []));
    this.onChange = onChange;
    this.bars = Array.from({ length: BARS }, () => h("span"));
    this.bar = h("div", { class: "bar" });
    this.end = h("span");
    this.slider = h("input", {
      type: "range",
      min: 1,
      max: 100,
      step: 1,
      "aria-label": "End of the colour scale, in per cent of the points",
      oninput: () => this.stretchTo(this.quantile(this.slider.valueAsNumber / 100)),
    });
    this.element = h(
      "div",
      { class: "legend" },
      h("div", { class: "histogram", "aria-hidden": "true" }, ...this.bars),
      this.bar,
      h("div", { class: "ends" }, h("span", {}, this.text(scale.low)), this.end),
      h("label", { class: "row" }, h("span", {}, "Scale end"), this.slider),
    );
    this.look(Infinity);
    this.slider.value = 100 * this.below(scale.high);
    this.stretchTo(scale.high);
  }

  text(value) {
    return `${Number(value.toPrecision(3))}${this.scale.unit}`;
  }

  /** The values at a stop, in order, as shares of the whole range. */
  look(stop) {
    const bytes = this.rows.map((values) => values[Math.min(stop, values.length - 1)]);
    const all = Float32Array.from({ length: bytes.reduce((n, row) => n + row.length, 0) });
    let at = 0;
    for (const row of bytes) for (const byte of row) all[at++] = (byte / 255) ** 2;
    this.sorted = all.sort();
    if (this.stretch) this.draw();
  }

  value(share) {
    return this.scale.low + share * (this.scale.top - this.scale.low);
  }

  quantile(share) {
    return this.value(this.sorted[Math.round(share * (this.sorted.length - 1))]);
  }

  /** The share of points whose value is at most this. */
  below(value) {
    const most = (value - this.scale.low) / (this.scale.top - this.scale.low || 1) + 1e-6;
    let [from, to] = [0, this.sorted.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (this.sorted[middle] <= most) from = middle + 1;
      else to = middle;
    }
    return from / this.sorted.length;
  }

  /** Let the colours end at a value. */
  stretchTo(end) {
    const range = this.scale.top - this.scale.low;
    this.high = Math.max(end, this.scale.low + 0.002 * range);
    this.stretch = range ? range / (this.high - this.scale.low) : 1;
    this.draw();
    this.onChange(this.stretch);
  }

  draw() {
    const counts = new Array(BARS).fill(0);
    for (const share of this.sorted) {
      counts[Math.min(Math.floor(share * this.stretch * BARS), BARS - 1)] += 1;
    }
    // The last bar also holds all that lies beyond the end, and must not flatten the others.
    const most = Math.max(...counts.slice(0, -1), 1);
    this.bars.forEach((bar, i) => {
      bar.style.height = `${Math.min(100, (100 * counts[i]) / most)}%`;
      bar.style.background = hex(mapped((i + 0.5) / BARS));
    });
    const share = Math.round(100 * this.below(this.high));
    this.end.textContent = `${this.text(this.high)} (${share}% are nearer)`;
    this.bar.style.background = gradient();
  }
}

/** "By cloud", "by residual" or "as scanned", and the scale's legend, which `paint` colours. */
export function colorChoice(legend, hasColors, onChange) {
  const scale = legend?.scale;
  const inputs = [];
  const choice = (label, value) => {
    const input = h("input", { type: "radio", name: "colour", onchange: () => onChange(value) });
    inputs.push([input, value]);
    return h("label", {}, input, h("span", {}, label));
  };
  const by = scale && hasColors ? "" : "by "; // three have no room for more than a word
  const choices = h(
    "div",
    { class: "choice", role: "radiogroup", "aria-label": "Colour" },
    choice(`${by}cloud`, "cloud"),
    ...(scale ? [choice(by + scale.label, "values")] : []),
    ...(hasColors ? [choice("as scanned", "colors")] : []),
  );
  const paint = (by) => {
    legend?.draw();
    if (legend) legend.element.hidden = by !== "values";
    for (const [input, value] of inputs) input.checked = value === by;
  };
  return { rows: [choices, ...(legend ? [legend.element] : [])], paint };
}

/** Buttons over the view; `mark` checks the one whose look the page has, or none. */
export function viewChoice(element, views, onChoose) {
  const inputs = views.map((view) =>
    h("input", { type: "radio", name: "view", onchange: () => onChoose(view) }),
  );
  const labels = views.map(({ name }, i) => h("label", {}, inputs[i], h("span", {}, name)));
  element.append(...labels);
  element.hidden = !views.length;
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const view = views[Number(event.key) - 1];
    if (view) onChoose(view);
  });
  const mark = (fits) => {
    const which = views.findIndex(fits);
    inputs.forEach((input, i) => (input.checked = i === which));
  };
  return { mark };
}

/** A labelled slider. */
export function slider(label, { min, max, step, value }, onChange) {
  const oninput = () => onChange(input.valueAsNumber);
  const input = h("input", { type: "range", min, max, step, value, oninput });
  return h("label", { class: "row" }, h("span", {}, label), input);
}

/** Let a button copy `text()`; it stays hidden where the browser has no clipboard. */
export function copies(button, text) {
  if (!button || !navigator.clipboard) return;
  const label = button.textContent;
  const say = (word) => {
    button.textContent = word;
    setTimeout(() => (button.textContent = label), 1500);
  };
  button.hidden = false;
  button.addEventListener("click", () =>
    navigator.clipboard.writeText(text()).then(
      () => say("Copied"),
      () => say("Not allowed"),
    ),
  );
}

/** A number for reading: five significant digits, or two decimals where it has more than that. */
function shownNumber(value) {
  const whole = Math.ceil(Math.log10(Math.abs(value) || 1));
  return String(Number(value.toPrecision(Math.max(5, whole + 2))));
}

/** A 4x4 matrix for reading, its columns in line. */
export function shownMatrix(matrix) {
  const cells = matrix.map((row) => row.map(shownNumber));
  const widths = cells[0].map((_, j) => Math.max(...cells.map((row) => row[j].length)));
  return cells.map((row) => row.map((cell, j) => cell.padStart(widths[j])).join("  ")).join("\n");
}

/** Call `step` with 0 ... 1, starting and ending slowly; returns a function that stops it. */
export function tween(duration, calm, step) {
  let frame = null;
  let elapsed = 0;
  let before = null;
  const tick = (now) => {
    // On a machine that stutters the motion slows down rather than jumps to its end.
    elapsed += Math.min(now - (before ?? now), 100);
    before = now;
    const done = Math.min(elapsed / duration, 1);
    frame = done < 1 ? requestAnimationFrame(tick) : null;
    step(done * done * (3 - 2 * done));
  };
  if (calm) step(1);
  else frame = requestAnimationFrame(tick);
  return () => cancelAnimationFrame(frame);
}

const PLAY = "M5 3.2v9.6L13 8z";
const PAUSE = "M4 3h3v10H4zM9 3h3v10H9z";

/** The slider over the poses: drag, press play, or choose a stop by its name. */
export class Timeline {
  constructor(element, stops, onChange, onPlay) {
    this.stops = stops;
    this.last = stops.length - 1;
    this.onChange = onChange;
    this.onPlay = onPlay;
    this.calm = matchMedia("(prefers-reduced-motion: reduce)").matches;

    this.icon = document.createElementNS("http://www.w3.org/2000/svg", "path");
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 16 16");
    svg.setAttribute("aria-hidden", "true");
    svg.append(this.icon);
    this.button = h("button", { type: "button", class: "play", onclick: () => this.toggle() }, svg);
    this.name = h("strong");
    this.caption = h("span", { class: "caption" });
    this.input = h("input", {
      type: "range",
      min: 0,
      max: this.last,
      step: 0.001,
      value: 0,
      "aria-label": "Pose of the source",
      onpointerdown: () => this.stop(),
      oninput: () => this.go(this.snap(this.input.valueAsNumber)),
      onkeydown: (event) => this.onKey(event),
    });
    this.marks = stops.map((stop, i) =>
      h(
        "button",
        {
          type: "button",
          class: "stop",
          title: stop.name,
          "aria-label": stop.name, // its label may be hidden for want of room
          onclick: () => this.glide(i),
        },
        h("span", { class: "dot" }),
        h("span", { class: "label" }, stop.name),
      ),
    );
    this.marks.forEach((mark, i) => (mark.style.left = `${(100 * i) / this.last}%`));
    this.track = h("div", { class: "stops" }, ...this.marks);
    element.append(
      this.button,
      h(
        "div",
        { class: "track" },
        h("div", { class: "now" }, this.name, this.caption),
        this.input,
        this.track,
      ),
    );
    new ResizeObserver(() => this.fitLabels()).observe(this.track);
    this.stop();
  }

  /** Drags catch on a stop, so that its exact pose can be reached. */
  snap(time) {
    const nearest = Math.round(time);
    return Math.abs(time - nearest) < 0.02 * Math.max(1, this.last) ? nearest : time;
  }

  go(time) {
    this.time = Math.min(Math.max(time, 0), this.last);
    this.input.value = this.time;
    const nearest = Math.round(this.time);
    const settled = this.time === nearest;
    const [from, to] = [Math.floor(this.time), Math.ceil(this.time)];
    this.name.textContent = settled
      ? this.stops[nearest].name
      : `${this.stops[from].name} → ${this.stops[to].name}`;
    this.caption.textContent = settled ? this.stops[nearest].caption : "";
    this.input.setAttribute("aria-valuetext", this.name.textContent);
    this.input.style.setProperty("--filled", `${(100 * this.time) / this.last}%`);
    this.marks.forEach((mark, i) => mark.classList.toggle("current", settled && i === nearest));
    this.onChange(this.time);
  }

  onKey(event) {
    const moves = {
      ArrowLeft: -0.05,
      ArrowDown: -0.05,
      ArrowRight: 0.05,
      ArrowUp: 0.05,
    };
    let time = this.time + (moves[event.key] ?? 0);
    if (event.key === "PageUp") time = Math.floor(this.time) + 1;
    else if (event.key === "PageDown") time = Math.ceil(this.time) - 1;
    else if (!(event.key in moves)) return;
    event.preventDefault();
    this.stop();
    this.go(Math.round(time * 1000) / 1000);
  }

  toggle() {
    if (this.playing) this.stop();
    else this.play();
  }

  /** From here, or from the first stop if this is the last, to the last. */
  play() {
    this.onPlay();
    if (this.time === this.last) this.go(0);
    this.glide(this.last, Math.max(1400, 700 * (this.last - this.time)));
  }

  stop() {
    this.playing?.();
    this.playing = null;
    this.icon.setAttribute("d", PLAY);
    this.button.setAttribute("aria-label", "Play the poses");
  }

  /** Move smoothly to a stop, starting and ending slowly. */
  glide(to, duration = 700) {
    this.stop();
    if (this.calm) return this.go(to);
    const from = this.time;
    this.icon.setAttribute("d", PAUSE);
    this.button.setAttribute("aria-label", "Pause");
    this.playing = tween(duration, false, (done) => {
      this.go(done === 1 ? to : from + (to - from) * done);
      if (done === 1) this.stop();
    });
  }

  /** Show the names of the ends, and between them of every second, third, ... stop, as fits. */
  fitLabels() {
    for (const mark of this.marks) mark.classList.remove("crowded");
    const spans = this.marks.map((mark) => mark.lastChild.getBoundingClientRect());
    const clash = (i, j) => spans[j].left < spans[i].right + 10;
    const every = (stride) =>
      [...this.marks.keys()].filter((i) => i % stride === 0 && (i === 0 || !clash(i, this.last)));
    let stride = 1;
    while (every(stride).some((i, k, shown) => k > 0 && clash(shown[k - 1], i))) stride += 1;
    const shown = new Set([...every(stride), this.last]);
    this.marks.forEach((mark, i) => mark.classList.toggle("crowded", !shown.has(i)));
  }
}

/** The three axes of the data, drawn in the corner. */
export class Axes {
  constructor(svg) {
    this.parts = ["x", "y", "z"].map((name) => {
      const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
      const text = document.createElementNS("http://www.w3.org/2000/svg", "text");
      text.textContent = name;
      svg.append(line, text);
      return { line, text };
    });
  }

  /** Turn them as the camera sees them. */
  update(camera) {
    const m = camera.matrixWorldInverse.elements;
    this.parts.forEach(({ line, text }, axis) => {
      const [x, y] = [m[4 * axis], -m[4 * axis + 1]];
      line.setAttribute("x2", 20 * x);
      line.setAttribute("y2", 20 * y);
      text.setAttribute("x", 28 * x);
      text.setAttribute("y", 28 * y);
    });
  }
}
