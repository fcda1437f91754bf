import type { WriteStream } from 'node:tty';
import progress from 'cli-progress';
import {
  barText,
  type Display,
  finished,
  LINE_EVERY_MS,
  linesOn,
  openDisplay,
  type ShownStep,
  unfinished,
} from './display.ts';

/** Displays of tasks that run in parallel, by name. */
export interface Displays {
  of(name: string): Display;
  /** Keeps the last lines on the terminal; later output follows below them. */
  end(): void;
}

/** Bars at the same time; fewer on a small terminal. */
const BARS_MAX = 20;
const ROWS = 24;

/** A bar for each task on a terminal, a line every few seconds in a log. */
export function openDisplays(
  stream: WriteStream,
  names: readonly string[],
  { silent = false } = {},
): Displays {
  if (silent || names.length === 1) {
    const display = openDisplay(stream, { silent });
    return { of: () => display, end: () => display.end() };
  }
  return stream.isTTY ? barsOn(stream, names) : linesOfSeveral(stream, names);
}

function linesOfSeveral(stream: WriteStream, names: readonly string[]): Displays {
  const displays = new Map<string, Display>();
  const of = (name: string) => {
    const existing = displays.get(name);
    if (existing) return existing;
    // All displays together write as often as a single display.
    const lines = linesOn(stream, LINE_EVERY_MS * names.length);
    const display: Display = { ...lines, show: (stage, step) => lines.show(`${name}: ${stage}`, step) };
    displays.set(name, display);
    return display;
  };
  return { of, end: () => undefined };
}

interface Slot {
  readonly bar: progress.SingleBar;
  name: string;
  isFree: boolean;
}

function barsOn(stream: WriteStream, names: readonly string[]): Displays {
  const width = Math.max(...names.map((name) => name.length));
  const most = Math.max(2, Math.min(BARS_MAX, (stream.rows || ROWS) - 2));
  const bars = new progress.MultiBar({
    stream,
    format: (_options, _params, payload) => barText(payload as ShownStep),
    hideCursor: true,
    linewrap: false,
    forceRedraw: true,
  });
  const slots: Slot[] = [];
  const last = new Map<string, ShownStep>();
  const draw = (name: string, shown: ShownStep, isFree: boolean) => {
    const slot = slotOf(
      slots,
      name,
      () => slots.length < most,
      () => bars.create(1, 0, titled(name, shown)),
    );
    // Without a free slot the task is shown later, in the slot of a task that has ended.
    if (!slot) return;
    Object.assign(slot, { name, isFree });
    slot.bar.update(shown.done ?? 0, titled(name, shown));
  };
  const titled = (name: string, shown: ShownStep): ShownStep => ({
    ...shown,
    stage: `${name.padEnd(width)}  ${shown.stage}`,
  });
  const of = (name: string): Display => ({
    show: (stage, step) => {
      const shown = { stage, ...unfinished(step) };
      last.set(name, shown);
      draw(name, shown, false);
    },
    complete: (words) => {
      const shown = last.get(name);
      if (shown) draw(name, { ...shown, ...finished(shown, words) }, true);
    },
    end: () => undefined,
  });
  return { of, end: () => bars.stop() };
}

function slotOf(
  slots: Slot[],
  name: string,
  hasRoom: () => boolean,
  create: () => progress.SingleBar,
): Slot | undefined {
  const existing = slots.find((slot) => slot.name === name);
  if (existing) return existing;
  if (!hasRoom()) return slots.find((slot) => slot.isFree);
  const slot = { bar: create(), name, isFree: false };
  slots.push(slot);
  return slot;
}
