// What a view frames: the clouds at a pose, the moving ones beside the others where lines between
// them are to be followed. Poses and numbers do not change.

import { Matrix4, Sphere, Vector3 } from "three";

import { tween } from "./panel.js";
import { around, spots } from "./stage.js";

export class Aside {
  constructor(clouds, stage) {
    this.clouds = clouds;
    this.stage = stage;
    this.on = false;
    this.shift = new Vector3();
    this.stop = () => {};
  }

  /** A pose with the shift of the moment. */
  place(pose) {
    return pose.premultiply(new Matrix4().makeTranslation(this.shift));
  }

  /** Frame the clouds at `pose`, set aside or not; `reset` comes back to this. */
  set(on, pose, calm, onStep) {
    this.on = on;
    const from = this.shift;
    const to = on ? this.clearance(pose) : new Vector3();
    const placed = pose.clone().premultiply(new Matrix4().makeTranslation(to));
    this.frame(around(this.clouds.map((cloud) => [cloud, placed])), calm, (done) => {
      this.shift = new Vector3().lerpVectors(from, to, done);
      onStep();
    });
  }

  /** Move the camera until it frames a sphere. */
  frame(end, calm, onStep = () => {}) {
    this.stop();
    const start = this.stage.sphere;
    this.stop = tween(700, calm, (done) => {
      this.stage.fit(
        new Sphere(
          new Vector3().lerpVectors(start.center, end.center, done),
          start.radius + (end.radius - start.radius) * done,
        ),
      );
      onStep(done);
    });
  }

  /** How far to the left of the screen the moving clouds have to go to clear the others. */
  clearance(pose) {
    const right = this.stage.right();
    let [most, least] = [-Infinity, Infinity];
    for (const cloud of this.clouds) {
      for (const spot of spots(cloud, pose)) {
        const at = spot.dot(right);
        if (cloud.layer.moves) most = Math.max(most, at);
        else least = Math.min(least, at);
      }
    }
    const gap = 0.15 * around(this.clouds.map((cloud) => [cloud, pose])).radius;
    return right.multiplyScalar(-Math.max(most - least + gap, 0));
  }
}
