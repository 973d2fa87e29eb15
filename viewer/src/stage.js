// The 3D view: camera, mouse, touch and keys. It draws when something has changed, not all the time.

import { Box3, PerspectiveCamera, Scene, Sphere, Vector3, WebGLRenderer } from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";

import { cssColor } from "./theme.js";

const FIELD_OF_VIEW = 32; // degrees, of the shorter side of the free part of the view
const TURN = Math.PI / 24; // one press of an arrow key

/** For each "up" of the page: that axis, and the direction from the data to the first view. */
function directions(up) {
  const sign = up.startsWith("-") ? -1 : 1;
  const axis = "xyz".indexOf(up.at(-1));
  const place = (right, towards, above) => {
    const out = [0, 0, 0];
    out[(axis + 1) % 3] = right;
    out[(axis + 2) % 3] = towards;
    out[axis] = sign * above;
    return new Vector3(...out);
  };
  return { up: place(0, 0, 1), view: place(0.62, -0.66, 0.42).normalize() };
}

export class Stage {
  constructor(canvas, up) {
    this.canvas = canvas;
    this.renderer = new WebGLRenderer({ canvas, antialias: true, alpha: false });
    this.scene = new Scene();
    this.camera = new PerspectiveCamera(FIELD_OF_VIEW);
    this.things = [];
    this.pointScale = 1;
    this.stretch = 1; // of the colours of values
    this.cut = 1e30; // the height above which points are hidden
    this.covered = () => ({ top: 0, bottom: 0 }); // pixels that controls lie over
    this.afterDraw = () => {};

    this.directions = directions(up);
    this.camera.up.copy(this.directions.up);
    this.sphere = new Sphere(new Vector3(), 1);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = !matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.controls.dampingFactor = 0.12;
    this.controls.addEventListener("change", () => this.invalidate());
    canvas.addEventListener("keydown", (event) => this.onKey(event));
    canvas.addEventListener("webglcontextrestored", () => this.invalidate());
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement);
  }

  add(...things) {
    for (const thing of things) {
      this.things.push(thing);
      this.scene.add(thing.object);
    }
  }

  /** Frame a sphere; `reset` comes back to this view. */
  frame(sphere) {
    this.sphere = sphere;
    this.reset();
  }

  reset() {
    const { center, radius } = this.sphere;
    const distance = (1.02 * radius) / Math.sin((FIELD_OF_VIEW * Math.PI) / 360);
    // Damping would carry the last swing of the mouse into the new view: let it come to rest first.
    const { enableDamping } = this.controls;
    this.controls.enableDamping = false;
    this.controls.update();
    this.camera.position.copy(center).addScaledVector(this.directions.view, distance);
    this.controls.target.copy(center);
    this.controls.minDistance = radius * 0.02;
    this.controls.maxDistance = radius * 40;
    this.controls.update();
    this.controls.enableDamping = enableDamping;
    this.invalidate();
  }

  /** Frame a sphere from where one looks already. */
  fit(sphere) {
    this.sphere = sphere;
    const { center, radius } = sphere;
    const towards = this.camera.position.clone().sub(this.controls.target).normalize();
    const distance = (1.02 * radius) / Math.sin((FIELD_OF_VIEW * Math.PI) / 360);
    this.camera.position.copy(center).addScaledVector(towards, distance);
    this.controls.target.copy(center);
    this.invalidate();
  }

  /** The direction on the screen to the right. */
  right() {
    const { elements } = this.camera.matrixWorld;
    return new Vector3(elements[0], elements[1], elements[2]).normalize();
  }

  paint(by) {
    this.renderer.setClearColor(cssColor("--stage"));
    for (const thing of this.things) thing.paint(by);
    this.invalidate();
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas.parentElement;
    if (!width || !height) return;
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    // The data goes in the middle of what the controls leave free, on screens of any shape.
    const { top, bottom } = this.covered();
    const free = Math.max(height - top - bottom, height / 3);
    const half = Math.tan((FIELD_OF_VIEW * Math.PI) / 360);
    const vertical = Math.atan((half * height) / Math.min(width, free));
    this.camera.fov = (vertical * 360) / Math.PI;
    this.camera.setViewOffset(width, height, 0, (bottom - top) / 2, width, height);
    this.draw(); // at once: a canvas that changes size is blank until it is drawn
  }

  invalidate() {
    this.pending ??= requestAnimationFrame(() => this.draw());
  }

  draw() {
    cancelAnimationFrame(this.pending);
    this.pending = null;
    this.controls.update();
    const distance = this.camera.position.distanceTo(this.controls.target);
    const away = this.camera.position.distanceTo(this.sphere.center);
    const { radius } = this.sphere;
    this.camera.near = Math.max(away - 20 * radius, distance * 0.01);
    this.camera.far = away + 20 * radius;
    this.camera.updateProjectionMatrix();

    const ratio = this.renderer.getPixelRatio();
    const view = {
      ratio,
      focal: (this.canvas.height / 2) * this.camera.projectionMatrix.elements[5],
      depths: [away - 0.9 * radius, away + 1.1 * radius],
      scale: this.pointScale,
      stretch: this.stretch,
      upward: this.directions.up,
      cut: this.cut,
    };
    for (const thing of this.things) thing.see(view);
    this.renderer.render(this.scene, this.camera);
    this.afterDraw();
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { controls } = this;
    const step = 40; // pixels that shift and an arrow pan
    const actions = event.shiftKey
      ? {
          ArrowLeft: () => controls.pan(step, 0),
          ArrowRight: () => controls.pan(-step, 0),
          ArrowUp: () => controls.pan(0, step),
          ArrowDown: () => controls.pan(0, -step),
        }
      : {
          ArrowLeft: () => controls.rotateLeft(TURN),
          ArrowRight: () => controls.rotateLeft(-TURN),
          ArrowUp: () => controls.rotateUp(TURN),
          ArrowDown: () => controls.rotateUp(-TURN),
        };
    Object.assign(actions, {
      "+": () => controls.dollyIn(0.9),
      "=": () => controls.dollyIn(0.9),
      "-": () => controls.dollyOut(0.9),
      "0": () => this.reset(),
      Home: () => this.reset(),
    });
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
    this.invalidate();
  }
}

/** Points of a cloud at a pose, enough of them to tell where it is. */
export function spots({ layer }, pose) {
  const out = [];
  const count = layer.points.length / 3;
  const stride = Math.ceil(count / 4000);
  for (let i = 0; i < count; i += stride) {
    const spot = new Vector3().fromArray(layer.points, 3 * i);
    out.push(layer.moves ? spot.applyMatrix4(pose) : spot);
  }
  return out;
}

/** A sphere around clouds at given poses: [[cloud, pose], ...]. A few stray points far from all
 *  others may lie outside it: they would make the rest too small to see. */
export function around(placed) {
  const spread = placed.flatMap(([cloud, pose]) => spots(cloud, pose));
  const box = new Box3().setFromPoints(spread);
  const inner = new Box3();
  for (const axis of ["x", "y", "z"]) {
    const sorted = Float32Array.from(spread, (spot) => spot[axis]).sort();
    const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
    const [low, high] = [at(0.02), at(0.98)];
    const margin = 0.15 * (high - low); // a compact cloud is framed whole
    inner.min[axis] = Math.max(low - margin, box.min[axis]);
    inner.max[axis] = Math.min(high + margin, box.max[axis]);
  }
  const center = inner.getCenter(new Vector3());
  const held = spread.filter((spot) => inner.containsPoint(spot));
  const radius = held.reduce((most, spot) => Math.max(most, spot.distanceTo(center)), 1e-6);
  return new Sphere(center, radius);
}

/** The lowest and the highest point of clouds at given poses along `up`. */
export function heights(placed, up) {
  let [low, high] = [Infinity, -Infinity];
  for (const [cloud, pose] of placed) {
    for (const spot of spots(cloud, pose)) {
      low = Math.min(low, spot.dot(up));
      high = Math.max(high, spot.dot(up));
    }
  }
  return [low, high];
}
