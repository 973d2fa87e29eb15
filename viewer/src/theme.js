// Colours, light and dark. A cloud's colour comes as a [light, dark] pair from Python.

import { Color } from "three";

const dark = matchMedia("(prefers-color-scheme: dark)");

/** Viridis at nine even steps: ordered in lightness, so it reads the same to every eye. */
const VIRIDIS = [
  "#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725",
];

/** Each background swallows one end of the map, so that end is left out. */
const SPAN = { light: [0, 0.88], dark: [0.3, 1] };

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

/** Nine colours from the low to the high end of the scale, for the current background. */
export function colormap() {
  const [from, to] = dark.matches ? SPAN.dark : SPAN.light;
  return VIRIDIS.map((_, i) => {
    const at = (from + ((to - from) * i) / (VIRIDIS.length - 1)) * (VIRIDIS.length - 1);
    const below = Math.min(Math.floor(at), VIRIDIS.length - 2);
    return rgb(VIRIDIS[below]).lerp(rgb(VIRIDIS[below + 1]), at - below);
  });
}

/** The scale as a CSS background. */
export function gradient() {
  const stops = colormap().map((color) => `#${color.getHexString("srgb-linear")}`);
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

/** A custom property of the style sheet. */
export function cssColor(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
