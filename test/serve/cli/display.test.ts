import { PassThrough } from 'node:stream';
import type { WriteStream } from 'node:tty';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { openDisplay, type ProgressStep } from '../../../serve/cli/display.ts';

afterEach(() => void vi.useRealTimers());

/** A stream and everything that was written to it. */
function streamOf(isTTY: boolean) {
  let text = '';
  const stream = new PassThrough();
  stream.on('data', (piece) => {
    text += piece;
  });
  const terminal = Object.assign(stream, {
    isTTY,
    columns: 200,
    cursorTo: () => true,
    moveCursor: () => true,
    clearLine: () => true,
  }) as unknown as WriteStream;
  return { stream: terminal, shown: () => stripVTControlCharacters(text) };
}

const step = (done: number | null, secondsLeft?: number): ProgressStep => ({
  done,
  words: 'words',
  secondsLeft,
});

describe('a bar', () => {
  it('is at 100 % when its stage has ended, and not before', () => {
    const { stream, shown } = streamOf(true);
    const display = openDisplay(stream);
    display.show('loading', step(1, 0));
    display.complete('9 blocks');
    display.show('computing', step(0.5, 30));
    display.complete();
    display.end();
    const [loading, computing] = shown().trim().split('\n');
    expect(loading).toMatch(/^loading .* 99 % {2}words.* 100 % {2}9 blocks$/);
    expect(computing).toMatch(/50 % {2}words, 30 s left.* 100 % {2}words$/);
  });

  it('never says that no time is left', () => {
    const { stream, shown } = streamOf(true);
    const display = openDisplay(stream);
    for (const [done, left] of [
      [0.9, 0.2],
      [0.999, 0],
      [1, 0],
      [1, 5],
    ] as const) {
      display.show('loading', step(done, left));
      display.end();
    }
    expect(shown()).not.toMatch(/\b0(\.\d+)? s left|100 %/);
    expect(shown().match(/, 1 s left/g)?.length).toBeGreaterThanOrEqual(2);
  });

  it('of a stage that was broken off stays where it was', () => {
    const { stream, shown } = streamOf(true);
    const display = openDisplay(stream);
    display.show('fetching', step(0.3));
    display.show('computing', step(0.1));
    display.end();
    expect(shown()).not.toContain('100 %');
    expect(shown()).toMatch(/fetching .* 30 %/);
  });
});

describe('lines of a log', () => {
  it('come now and then, and once more when a stage ends of which some came', () => {
    vi.useFakeTimers();
    const { stream, shown } = streamOf(false);
    const display = openDisplay(stream);
    display.show('checking', step(0.5, 3));
    display.complete();
    expect(shown()).toBe('');
    display.show('loading', step(0.1, 3));
    vi.advanceTimersByTime(6000);
    display.show('loading', step(0.2, 120));
    display.show('loading', step(0.9, 3));
    display.complete('9 blocks');
    expect(shown()).toBe('loading 20 %, words, 2 min left\nloading 100 %, 9 blocks\n');
  });
});
