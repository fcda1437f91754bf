import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

type Rgb = readonly number[];

const css = readFileSync(new URL('../../../serve/pages/assets/style.css', import.meta.url), 'utf8');
const pairs = [...css.matchAll(/--(series-\d|card|ground): light-dark\((#\w{6}), (#\w{6})\)/g)].map(
  ([, name = '', light = '', dark = '']) => ({ name, light: linear(light), dark: linear(dark) }),
);
const series = pairs.filter(({ name }) => name.startsWith('series'));

function linear(hex: string): Rgb {
  return [1, 3, 5].map((at) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
}

const times = (matrix: readonly Rgb[], vector: Rgb): number[] =>
  matrix.map((row) => row.reduce((sum, factor, i) => sum + factor * (vector[i] ?? 0), 0));

/** How light, red and yellow a colour looks (OKLab), where equal distances look equal. */
function seen(colour: Rgb): number[] {
  const cones = times(
    [
      [0.4122214708, 0.5363325363, 0.0514459929],
      [0.2119034982, 0.6806995451, 0.1073969566],
      [0.0883024619, 0.2817188376, 0.6299787005],
    ],
    colour,
  );
  return times(
    [
      [0.2104542553, 0.793617785, -0.0040720468],
      [1.9779984951, -2.428592205, 0.4505937099],
      [0.0259040371, 0.7827717662, -0.808675766],
    ],
    cones.map(Math.cbrt),
  );
}

/** Colours as people see them (Machado, Oliveira and Fernandes 2009, severity 1). */
const EYES: Readonly<Record<string, readonly Rgb[]>> = {
  'all cones': [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

const luminance = (colour: Rgb) => times([[0.2126, 0.7152, 0.0722]], colour)[0] as number;
function contrast(one: Rgb, other: Rgb): number {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

describe.each(['light', 'dark'] as const)('the colours of series in %s mode', (mode) => {
  it('are ten, and each stands out from a card and from the page', () => {
    expect(series.length).toBe(10);
    for (const ground of pairs.filter(({ name }) => !name.startsWith('series'))) {
      for (const one of series) {
        expect(contrast(one[mode], ground[mode]), `${one.name} on ${ground.name}`).toBeGreaterThan(3);
      }
    }
  });

  it.each(Object.entries(EYES))('are told apart with %s', (_, eyes) => {
    // Two hundredths are about the smallest difference that can be seen side by side.
    const looks = series.map((one) =>
      seen(times(eyes, one[mode]).map((part) => Math.min(1, Math.max(0, part)))),
    );
    const distances = looks.flatMap((one, i) =>
      looks.slice(i + 1).map((other) => Math.hypot(...one.map((part, k) => part - (other[k] ?? 0)))),
    );
    expect(Math.min(...distances)).toBeGreaterThan(0.09);
  });
});
