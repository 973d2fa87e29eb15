// What a view frames: the clouds at a pose, the moving ones beside the others where lines between
// them are to be followed. Poses and numbers do not change.

import { Matrix4, Sphere, Vector3 } from "three";

import { tween } from "./panel.js";
import { around, spots } from "./stage.js";

export class Aside {
  constructor(stage) {
    this.stage = stage;
    this.on = false;
    this.shift = new Vector3();
    this.stop = () => {};
  }

  /** A pose with the shift of the moment. */
  place(pose) {
    return pose.premultiply(new Matrix4().makeTranslation(this.shift));
  }

  /** Frame clouds at their poses, [[cloud, pose], ...], set aside or not; `reset` comes back to it. */
  set(on, placed, calm, onStep) {
    this.on = on;
    const from = this.shift;
    const to = on ? this.clearance(placed) : new Vector3();
    for (const [cloud, pose] of placed) {
      if (!cloud.motion) pose.premultiply(new Matrix4().makeTranslation(to));
    }
    this.frame(around(placed), calm, (done) => {
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
  clearance(placed) {
    const right = this.stage.right();
    let [most, least] = [-Infinity, Infinity];
    for (const [cloud, pose] of placed) {
      for (const spot of spots(cloud, pose)) {
        const at = spot.dot(right);
        if (cloud.layer.moves) most = Math.max(most, at);
        else least = Math.min(least, at);
      }
    }
    const gap = 0.15 * around(placed).radius;
    return right.multiplyScalar(-Math.max(most - least + gap, 0));
  }
}
