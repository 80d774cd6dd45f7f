// From numbers to colours.

// Each map as colours that are evenly apart; what lies between is blended.
const anchors = {
  grey: ['000000', 'ffffff'],
  viridis: ['440154', '482878', '3e4a89', '31688e', '26838f', '1f9e89', '35b779', '6ece58', 'b5de2b', 'fde725'],
  magma: ['000004', '180f3e', '451077', '721f81', '9f2f7f', 'cd4071', 'f1605d', 'fd9567', 'fec98d', 'fcfdbf'],
  ice: ['04060e', '14213d', '1d4e79', '2a86a8', '6fc3cf', 'd5f2ef', 'ffffff'],
  'blue to red': ['2b4a9c', '7fa6d6', 'f1f1ef', 'e3906f', 'a3202d'],
};

/** Names of colour maps. */
export const maps = Object.keys(anchors);

/** Colours of channels that have none of their own. */
export const channelColours = ['#ff40ff', '#40ff40', '#4090ff', '#ffd040', '#40ffff', '#ff5040', '#ffffff'];

export function rgb(hex) {
  const n = parseInt(hex.replace('#', ''), 16);
  return [n >> 16, (n >> 8) & 255, n & 255];
}

/** 256 colours of a map, three bytes each. */
export function table(name) {
  const stops = anchors[name].map(rgb);
  const colours = new Uint8ClampedArray(256 * 3);
  for (let i = 0; i < 256; i++) {
    const at = (i / 255) * (stops.length - 1);
    const k = Math.min(Math.floor(at), stops.length - 2);
    for (let c = 0; c < 3; c++) colours[3 * i + c] = stops[k][c] + (stops[k + 1][c] - stops[k][c]) * (at - k);
  }
  return colours;
}

/** Pixels of one channel through a table of colours; what is not a number is transparent. */
export function paint(pixels, data, low, high, colours) {
  const scale = 256 / (high - low || 1);
  for (let i = 0, at = 0; i < data.length; i++, at += 4) {
    const v = data[i];
    const t = 3 * Math.min(255, Math.max(0, Math.floor((v - low) * scale)));
    pixels[at] = colours[t];
    pixels[at + 1] = colours[t + 1];
    pixels[at + 2] = colours[t + 2];
    pixels[at + 3] = v === v ? 255 : 0;
  }
}

/** Adds the light of a channel to pixels, which are clamped. */
export function addLight(pixels, data, low, high, colour) {
  const [r, g, b] = rgb(colour);
  const scale = 1 / (high - low || 1);
  for (let i = 0, at = 0; i < data.length; i++, at += 4) {
    const t = Math.min(1, Math.max(0, (data[i] - low) * scale)) || 0;
    pixels[at] += r * t;
    pixels[at + 1] += g * t;
    pixels[at + 2] += b * t;
    pixels[at + 3] = 255;
  }
}

/** Values below which the given parts (0 to 1) of the numbers lie. Of many numbers some are looked at. */
export function quantiles(arrays, parts, most = 1 << 16) {
  const total = arrays.reduce((n, a) => n + a.length, 0);
  const step = Math.max(1, Math.floor(total / most));
  const some = [];
  for (const a of arrays) for (let i = 0; i < a.length; i += step) if (Number.isFinite(a[i])) some.push(a[i]);
  if (some.length === 0) return parts.map((_, i) => i);
  const sorted = Float64Array.from(some).sort();
  return parts.map((p) => sorted[Math.min(sorted.length - 1, Math.max(0, Math.round(p * (sorted.length - 1))))]);
}
