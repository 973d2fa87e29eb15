// The source's motion: a rigid pose at each stop, and a smooth rigid motion between stops.

import { Matrix4, Quaternion, Vector3 } from "three";

/** Rigid poses by a real number: 0 is the first stop, 1 the second, 1.5 half-way to the third.
 *
 * Rotations turn along the shortest arc (slerp) about the centre of the moving clouds, which is the
 * origin of their packed coordinates; that centre moves in a straight line.
 */
export class Motion {
  constructor(stops) {
    this.stops = stops.map(({ rotation: [a, b, c], translation }) => ({
      turn: new Quaternion().setFromRotationMatrix(
        new Matrix4().set(...a, 0, ...b, 0, ...c, 0, 0, 0, 0, 1),
      ),
      shift: new Vector3(...translation),
    }));
    this.last = this.stops.length - 1;
  }

  /** The stops before and after `time`, and how far it is between them. */
  segment(time) {
    const clamped = Math.min(Math.max(time, 0), this.last);
    const from = Math.min(Math.floor(clamped), Math.max(this.last - 1, 0));
    return { from, to: Math.min(from + 1, this.last), blend: clamped - from };
  }

  /** The pose at `time`, written into `matrix`. */
  at(time, matrix = new Matrix4()) {
    const { from, to, blend } = this.segment(time);
    const [a, b] = [this.stops[from], this.stops[to]];
    return matrix.compose(
      new Vector3().lerpVectors(a.shift, b.shift, blend),
      new Quaternion().slerpQuaternions(a.turn, b.turn, blend),
      new Vector3(1, 1, 1),
    );
  }
}
