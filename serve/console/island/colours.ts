import { signal } from '@preact/signals';
import { SERIES_MAX } from '../model/chart-state.ts';

/** Resolved colours of the style sheet, because a canvas cannot use CSS variables. */
export interface Colours {
  readonly series: readonly string[];
  readonly areas: readonly string[];
  readonly text: string;
  readonly quiet: string;
  readonly line: string;
  readonly card: string;
  readonly accent: string;
  readonly font: string;
}

/** The current colours; they follow the light or dark scheme. */
export const colours = signal(readColours());

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  colours.value = readColours();
});

function readColours(): Colours {
  const probe = document.createElement('span');
  probe.hidden = true;
  document.body.append(probe);
  const resolve = (colour: string) => {
    probe.style.color = colour;
    return getComputedStyle(probe).color;
  };
  const places = Array.from({ length: SERIES_MAX }, (_, i) => `var(--series-${i})`);
  const found = {
    series: places.map(resolve),
    areas: places.map((place) => resolve(`color-mix(in srgb, ${place} 55%, var(--card))`)),
    text: resolve('var(--text)'),
    quiet: resolve('var(--quiet)'),
    line: resolve('var(--line)'),
    card: resolve('var(--card)'),
    accent: resolve('var(--accent)'),
    font: getComputedStyle(document.body).fontFamily,
  };
  probe.remove();
  return found;
}

export const colourOf = (all: readonly string[], place: number): string => all[place % all.length] ?? '';
