// What Python packed into the page, as typed arrays. Every position is in the page's own frame,
// which is centred on the data, so that float32 on the graphics card is precise even for clouds
// in map coordinates.

/** The bytes of a base64 string. */
function bytes(base64) {
  const text = atob(base64);
  const out = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) out[i] = text.charCodeAt(i);
  return out;
}

/** (N, 3) positions from little-endian 16-bit steps of a box. */
function positions({ low, step, data }) {
  const packed = bytes(data);
  const out = new Float32Array(packed.length / 2);
  for (let i = 0; i < out.length; i++) {
    out[i] = low[i % 3] + step[i % 3] * (packed[2 * i] | (packed[2 * i + 1] << 8));
  }
  return out;
}

/** The page's description, with each packed array unpacked in place. */
export function readPage() {
  const page = JSON.parse(document.getElementById("payload").textContent);
  for (const layer of page.layers) {
    layer.points = positions(layer.points);
    layer.normals = layer.normals && new Int8Array(bytes(layer.normals).buffer);
    layer.values = layer.values && layer.values.map(bytes);
    layer.colors = layer.colors && bytes(layer.colors);
  }
  for (const links of page.links) {
    if (links.pairs) continue;
    links.source = positions(links.source);
    links.target = positions(links.target);
  }
  return page;
}
