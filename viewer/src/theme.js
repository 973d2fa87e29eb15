// Colours, light and dark. A cloud's colour comes as a [light, dark] pair from Python.

import { Color } from "three";

const dark = matchMedia("(prefers-color-scheme: dark)");

/** From calm to alarming: small values recede into the background, large ones stand out. The
 *  contrast to the background grows from end to end, so the order is seen without hue, too. */
const MAP = {
  light: ["#8fb0c9", "#8aa5a8", "#c9a227", "#dd7a12", "#cf3a1e", "#8c0d1e"],
  dark: ["#3f5f7a", "#5f7f86", "#b8962f", "#f0a02e", "#ff7a3d", "#ff4444"],
};
const STEPS = 9;

/** sRGB as written in CSS, since the point shader writes to the screen without conversion. */
export function rgb(css) {
  const color = new Color();
  color.setStyle(css, "srgb-linear"); // the name says: take the numbers as they are
  return color;
}

export function onThemeChange(listener) {
  dark.addEventListener("change", listener);
}

export function pick([light, night]) {
  return dark.matches ? night : light;
}

/** The colour at a share of the scale, for the current background. */
export function mapped(share) {
  const map = dark.matches ? MAP.dark : MAP.light;
  const at = Math.min(Math.max(share, 0), 1) * (map.length - 1);
  const below = Math.min(Math.floor(at), map.length - 2);
  return rgb(map[below]).lerp(rgb(map[below + 1]), at - below);
}

/** Nine colours from the low to the high end of the scale. */
export function colormap() {
  return Array.from({ length: STEPS }, (_, i) => mapped(i / (STEPS - 1)));
}

export const hex = (color) => `#${color.getHexString("srgb-linear")}`;

/** The scale as a CSS background. */
export function gradient() {
  return `linear-gradient(to right, ${colormap().map(hex).join(", ")})`;
}

/** A custom property of the style sheet. */
export function cssColor(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
