// Clouds as little lit balls, and the lines between matched points.

import {
  BufferAttribute,
  BufferGeometry,
  Color,
  LineBasicMaterial,
  LineSegments,
  Points,
  ShaderMaterial,
  Vector3,
} from "three";

import { Motion } from "./motion.js";
import { colormap, cssColor, pick, rgb } from "./theme.js";

const VERTEX = /* glsl */ `
uniform float diameter;      // of a point, in the page's units
uniform float focal;         // pixels that one unit covers at distance one
uniform float smallest;      // pixels
uniform vec2 depths;         // distances where fading begins and ends
uniform vec3 flat_color;
uniform vec3 map[9];
uniform float mapped;        // 1: colour by value
uniform float stretch;       // the range of all values over that of the scale
uniform vec3 upward;         // the page's vertical axis
uniform float cut;           // points above this height are hidden
uniform float blend;         // between the values of two stops
uniform float owned;         // 1: the colour that the point came with
#ifdef COLORS
attribute vec3 own_color;
#endif
attribute float value_from;
attribute float value_to;
varying vec3 tint;
varying float fade;
varying float radius;        // pixels
#ifdef NORMALS
varying vec3 facing;
#endif

void main() {
  vec4 seen = modelViewMatrix * vec4(position, 1.0);
  gl_Position = projectionMatrix * seen;
  if (dot((modelMatrix * vec4(position, 1.0)).xyz, upward) > cut) gl_Position = vec4(0.0, 0.0, 2.0, 1.0);
  gl_PointSize = max(diameter * focal / -seen.z, smallest);
  radius = 0.5 * gl_PointSize;
  // Distant points fade; colours that carry data fade little.
  fade = mix(0.5, 0.15, max(mapped, owned)) * smoothstep(depths.x, depths.y, -seen.z);

  float value = mix(value_from * value_from, value_to * value_to, blend); // stored as its root
  float at = 8.0 * clamp(value * stretch, 0.0, 1.0);
  int below = min(int(at), 7);
  tint = mix(flat_color, mix(map[below], map[below + 1], at - float(below)), mapped);
#ifdef COLORS
  tint = mix(tint, own_color, owned);
#endif
#ifdef NORMALS
  facing = normalMatrix * normal;
#endif
}
`;

const FRAGMENT = /* glsl */ `
uniform vec3 background;
uniform float mapped;
uniform float owned;
varying vec3 tint;
varying float fade;
varying float radius;
#ifdef NORMALS
varying vec3 facing;
#endif

void main() {
  vec2 at = 2.0 * gl_PointCoord - 1.0;
  float distance2 = dot(at, at);
  float cover = clamp(radius * (1.0 - sqrt(distance2)) + 0.5, 0.0, 1.0);
  if (cover < 0.05) discard;

  // A ball lit from over the viewer's shoulder; with normals, the surface lit on either side.
  const vec3 light = vec3(0.23, 0.36, 0.904);
  vec3 ball = vec3(at.x, -at.y, sqrt(max(0.0, 1.0 - distance2)));
#ifdef NORMALS
  float lit = 0.42 + 0.43 * abs(dot(normalize(facing), light)) + 0.15 * ball.z;
#else
  float lit = 0.5 + 0.5 * max(dot(ball, light), 0.0);
#endif
  lit = mix(lit, 1.0, 0.5 * max(mapped, owned)); // colours that carry data are shaded less
  gl_FragColor = vec4(mix(tint * lit, background, fade), cover);
}
`;

/** A point's diameter such that neighbours on a typical surface of `count` points nearly touch. */
function spacing(points) {
  const count = points.length / 3;
  const centre = [0, 1, 2].map((axis) => {
    let sum = 0;
    for (let i = axis; i < points.length; i += 3) sum += points[i];
    return sum / count;
  });
  const distances = new Float32Array(count);
  for (let i = 0; i < points.length; i++) {
    distances[Math.floor(i / 3)] += (points[i] - centre[i % 3]) ** 2;
  }
  const squares = distances.reduce((sum, square) => sum + square, 0);
  const median = Math.sqrt(distances.sort()[count >> 1]);
  // The radius, were the cloud a sphere; a few stray points must not make all points huge.
  const spread = Math.min(Math.sqrt(squares / count), 1.5 * median || Infinity);
  return (2.4 * spread) / Math.sqrt(Math.max(count, 150));
}

/** One named cloud. */
export class Cloud {
  constructor(layer) {
    this.layer = layer;
    this.motion = layer.stops && new Motion(layer.stops); // else the page's
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", new BufferAttribute(layer.points, 3));
    if (layer.normals) {
      geometry.setAttribute("normal", new BufferAttribute(layer.normals, 3, true));
    }
    if (layer.colors) {
      geometry.setAttribute("own_color", new BufferAttribute(layer.colors, 3, true));
    }
    const values = layer.values ?? [new Uint8Array(layer.points.length / 3)];
    this.values = values.map((row) => new BufferAttribute(row, 1, true));
    geometry.computeBoundingSphere();

    this.material = new ShaderMaterial({
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
      defines: {
        ...(layer.normals && { NORMALS: "" }),
        ...(layer.colors && { COLORS: "" }),
      },
      // Smooth edges without blending: blending would need the points sorted by depth.
      alphaToCoverage: true,
      uniforms: {
        diameter: { value: 1 },
        focal: { value: 1 },
        smallest: { value: 1 },
        depths: { value: [0, 1] },
        flat_color: { value: new Color() },
        map: { value: colormap() },
        mapped: { value: 0 },
        stretch: { value: 1 },
        upward: { value: new Vector3(0, 0, 1) },
        cut: { value: Infinity },
        blend: { value: 0 },
        owned: { value: 0 },
        background: { value: new Color() },
      },
    });
    // The cloud that moves is drawn over the others with smaller points, so that where two points
    // coincide both colours are seen.
    this.size = (layer.moves ? 0.8 : 1) * (spacing(layer.points) || 1e-3);
    this.object = new Points(geometry, this.material);
    this.object.renderOrder = layer.moves ? 1 : 0;
    this.object.visible = layer.visible;
    this.object.matrixAutoUpdate = false;
    this.moveTo({ from: 0, to: 0, blend: 0 }, null);
  }

  /** Put the cloud at a pose, and show the values that belong to it. */
  moveTo({ from, to, blend }, pose) {
    const { geometry } = this.object;
    const fixed = this.values.length === 1;
    geometry.setAttribute("value_from", this.values[fixed ? 0 : from]);
    geometry.setAttribute("value_to", this.values[fixed ? 0 : to]);
    this.material.uniforms.blend.value = blend;
    if (this.layer.moves && pose) this.object.matrix.copy(pose);
    this.object.matrixWorldNeedsUpdate = true;
  }

  /** Take up the theme's colours. By "values", clouds that have none are grey; by "colors", they
   *  keep the colour of the cloud. */
  paint(by) {
    const { flat_color, map, mapped, owned, background } = this.material.uniforms;
    this.muted = by === "values" && !this.layer.values;
    flat_color.value = rgb(this.muted ? cssColor("--muted-cloud") : pick(this.layer.color));
    map.value = colormap();
    mapped.value = by === "values" && this.layer.values ? 1 : 0;
    owned.value = by === "colors" && this.layer.colors ? 1 : 0;
    background.value = rgb(cssColor("--stage"));
  }

  /** What depends on the camera: the size of a point on the screen, and where fading starts. */
  see({ focal, ratio, depths, scale, stretch, upward, cut }) {
    const { uniforms } = this.material;
    uniforms.stretch.value = stretch;
    uniforms.upward.value = upward;
    uniforms.cut.value = cut;
    uniforms.focal.value = focal;
    uniforms.smallest.value = 2.5 * ratio;
    uniforms.depths.value = depths;
    uniforms.diameter.value = this.size * scale * (this.muted ? 0.6 : 1);
  }

  /** The mean of the points as they stand in the page's frame. */
  centroid() {
    const { points } = this.layer;
    const sum = new Vector3();
    for (let i = 0; i < points.length; i += 3) {
      sum.x += points[i];
      sum.y += points[i + 1];
      sum.z += points[i + 2];
    }
    return sum.divideScalar(points.length / 3).applyMatrix4(this.object.matrix);
  }
}

/** Lines from points of the source, which move with it, to points of the target, which do not. */
export class Links {
  constructor(links) {
    this.layer = links;
    const count = links.source.length / 3;
    this.ends = new BufferAttribute(new Float32Array(6 * count), 3);
    for (let i = 0; i < count; i++) this.ends.setXYZ(2 * i + 1, ...this.end(links.target, i));
    const geometry = new BufferGeometry().setAttribute("position", this.ends);
    this.object = new LineSegments(
      geometry,
      new LineBasicMaterial({ transparent: true, opacity: 0.55, depthWrite: false }),
    );
    this.object.visible = links.visible;
    this.object.frustumCulled = false; // its bounds do not follow its ends
    this.moveTo(null, null);
  }

  end(points, i) {
    return points.subarray(3 * i, 3 * i + 3);
  }

  moveTo(_, pose) {
    const point = new Vector3();
    for (let i = 0; i < this.layer.source.length / 3; i++) {
      point.fromArray(this.layer.source, 3 * i);
      if (pose) point.applyMatrix4(pose);
      this.ends.setXYZ(2 * i, point.x, point.y, point.z);
    }
    this.ends.needsUpdate = true;
  }

  paint(by) {
    const plain = by === "values";
    this.object.material.color.setStyle(plain ? cssColor("--soft") : pick(this.layer.color));
  }

  see() {}
}

/** Lines between the middles of clouds that have poses of their own: the edges of a graph. */
export class Graph {
  constructor(layer, clouds) {
    this.layer = layer;
    this.pairs = layer.pairs.map((pair) => pair.map((i) => clouds[i].object));
    this.ends = new BufferAttribute(new Float32Array(6 * layer.pairs.length), 3);
    this.object = new LineSegments(
      new BufferGeometry().setAttribute("position", this.ends),
      new LineBasicMaterial({ transparent: true, depthTest: false }), // seen through the clouds
    );
    this.object.visible = layer.visible;
    this.object.frustumCulled = false; // its bounds do not follow its ends
  }

  moveTo() {
    const point = new Vector3();
    this.pairs.forEach((pair, i) => {
      const shown = pair.every(({ visible }) => visible);
      pair.forEach(({ matrix }, end) => {
        point.setFromMatrixPosition(shown ? matrix : pair[0].matrix);
        this.ends.setXYZ(2 * i + end, point.x, point.y, point.z);
      });
    });
    this.ends.needsUpdate = true;
  }

  paint() {
    this.object.material.color.setStyle(pick(this.layer.color));
  }

  see() {}
}
