// Entry point: reads the page's data, builds the view and its controls, and joins them.

import { Aside } from "./aside.js";
import { Cloud, Graph, Links } from "./clouds.js";
import { Motion } from "./motion.js";
import {
  Axes,
  colorChoice,
  copies,
  h,
  layerList,
  Legend,
  shownMatrix,
  slider,
  Timeline,
  viewChoice,
} from "./panel.js";
import { readPage } from "./payload.js";
import { around, heights, Stage } from "./stage.js";
import { onThemeChange } from "./theme.js";

const $ = (id) => document.getElementById(id);

/** The clouds at one pose, or at every pose. */
const placedAt = (clouds, motion, time) =>
  clouds.map((cloud) => [cloud, (cloud.motion ?? motion).at(time)]);
const placedAll = (clouds, motion) =>
  motion.stops.flatMap((_, i) => placedAt(clouds, motion, i));

/** `#pose=1.5` in the address: a link to one moment, which then stays still. */
function askedPose() {
  const text = new URLSearchParams(location.hash.slice(1)).get("pose");
  const pose = text === null ? NaN : Number(text);
  return Number.isFinite(pose) ? pose : null;
}

/** Open with the result, or with the pose that the address asks for. */
function begin(timeline) {
  timeline.go(askedPose() ?? timeline.last);
  addEventListener("hashchange", () => {
    timeline.stop();
    timeline.go(askedPose() ?? timeline.time);
  });
}

function showMatrix(stop) {
  $("matrix-of").textContent = stop.name;
  $("matrix").textContent = shownMatrix(stop.matrix);
}

function savePicture(stage) {
  stage.draw(); // the drawing buffer is only sure to hold a frame right after drawing it
  stage.canvas.toBlob((blob) => {
    const address = URL.createObjectURL(blob);
    h("a", { href: address, download: `${document.title.replace(/[^\w-]+/g, "_")}.png` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  });
}

function start() {
  const page = readPage();
  const stage = new Stage($("canvas"), page.up);
  const motion = new Motion(page.stops);
  const clouds = page.layers.map((layer) => new Cloud(layer));
  const links = page.links.map((layer) =>
    layer.pairs ? new Graph(layer, clouds) : new Links(layer),
  );
  const things = [...clouds, ...links];
  stage.add(...things);

  const aside = new Aside(stage);
  const axes = new Axes($("axes"));
  stage.afterDraw = () => axes.update(stage.camera);

  let time = 0;
  const place = () => {
    const pose = aside.place(motion.at(time));
    const segment = motion.segment(time);
    for (const thing of things) thing.moveTo(segment, thing.motion?.at(time) ?? pose);
    stage.invalidate();
  };
  const moveTo = (to) => {
    if (Math.round(to) !== Math.round(time)) legend?.look(Math.round(to));
    time = to;
    place();
    if (page.one) showMatrix(page.stops[Math.round(time)]);
    mark();
  };

  const legend = page.scale
    ? new Legend(page.scale, page.layers, (stretch) => {
        stage.stretch = stretch;
        stage.invalidate();
      })
    : null;
  let by = page.color_by;
  const changed = () => {
    place(); // lines end at clouds that are shown
    mark();
  };
  const list = layerList(things, changed);
  const lists = [list];
  const hasColors = page.layers.some(({ colors }) => colors);
  if (page.scale || hasColors) {
    lists.push(
      colorChoice(legend, hasColors, (choice) => {
        by = choice;
        paint();
      }),
    );
  }
  const paint = () => {
    stage.paint(by);
    for (const each of lists) each.paint(by);
    mark();
  };

  const setAside = (on, pose) =>
    aside.set(on, placedAt(clouds, motion, pose), timeline?.calm ?? true, () => {
      place();
      mark();
    });
  const choose = (view) => {
    by = view.color_by;
    for (const { object } of links) object.visible = view.links;
    list.sync();
    setAside(view.apart, view.pose ?? time);
    if (view.pose !== null) timeline?.glide(view.pose);
    paint();
  };
  /** Make room for the whole way before the source moves. */
  const showAll = () => aside.frame(around(placedAll(clouds, motion)), timeline.calm);
  const buttons = viewChoice($("views"), page.views, choose);
  const mark = () => {
    const lines = links.some(({ object }) => object.visible);
    buttons.mark(
      (view) =>
        (view.pose === null || view.pose === time) &&
        view.color_by === by &&
        view.apart === aside.on &&
        (view.links === lines || !links.length),
    );
  };
  onThemeChange(paint);
  const doublings = { min: -2, max: 2, step: 0.1, value: 0 };
  const size = slider("Point size", doublings, (doubled) => {
    stage.pointScale = 2 ** doubled;
    stage.invalidate();
  });
  // Rooms are seen from above once their ceiling is off.
  const [low, high] = heights(placedAll(clouds, motion), stage.directions.up);
  const cut = slider("Cut from above", { min: 0, max: 1, step: 0.01, value: 0 }, (share) => {
    stage.cut = share ? high - share * (high - low) : 1e30;
    stage.invalidate();
  });
  $("layers").append(...lists.flatMap(({ rows }) => rows), size, cut);
  $("reset").addEventListener("click", () => {
    if (aside.on) setAside(false, time);
    stage.reset();
  });
  $("save").addEventListener("click", () => savePicture(stage));
  for (const id of ["layers", "buttons", "axes"]) $(id).removeAttribute("hidden");
  $("pose").hidden = !page.one;
  // In full precision, as JSON, which Python reads too.
  copies($("copy-matrix"), () => JSON.stringify(page.stops[Math.round(time)].matrix));
  copies($("copy-command"), () => $("command").textContent);

  const timeline = page.moving && motion.last > 0 ? new Timeline($("timeline"), page.stops, moveTo, showAll) : null;
  $("timeline").hidden = !timeline;
  const below = (id) => $(id).offsetTop + $(id).offsetHeight;
  stage.covered = () => ({
    top: page.views.length ? Math.max(below("views"), below("buttons")) : 0,
    bottom: timeline ? stage.canvas.clientHeight - $("timeline").offsetTop : 0,
  });
  paint();
  const asked = askedPose();
  stage.frame(around(asked === null ? placedAt(clouds, motion, motion.last) : placedAll(clouds, motion)));
  stage.resize();
  if (timeline) begin(timeline);
  else moveTo(0);

  // A handle for the console and for tests.
  window.spoonful = {
    get pose() {
      return time;
    },
    set pose(to) {
      timeline?.stop();
      timeline?.go(to);
    },
    draw: () => stage.draw(),
    view: (name) => choose(page.views.find((view) => view.name === name)),
    centroid: (name) => clouds.find(({ layer }) => layer.name === name).centroid().toArray(),
    camera: () => stage.camera.position.toArray(),
  };
  document.documentElement.dataset.state = "ready";
}

try {
  start();
} catch (error) {
  // Without WebGL, show a message in place of the view; the numbers are complete.
  document.documentElement.dataset.state = "failed";
  $("failure").hidden = false;
  $("failure-reason").textContent = error.message;
  console.warn(error);
}
