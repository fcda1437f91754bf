import { PassThrough } from 'node:stream';
import type { WriteStream } from 'node:tty';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { openDisplay, type ProgressStep } from '../../../../serve/application/cli/display.ts';
import { openDisplays } from '../../../../serve/application/cli/several-displays.ts';

afterEach(() => void vi.useRealTimers());

/** A stream and everything that was written to it. */
function streamOf(isTTY: boolean, rows = 24) {
  let text = '';
  const stream = new PassThrough();
  stream.on('data', (piece) => {
    text += piece;
  });
  const terminal = Object.assign(stream, {
    isTTY,
    columns: 200,
    rows,
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

describe('several works side by side', () => {
  /** The lines of a screen that was written over from its top; the first one stands behind what it has replaced. */
  const linesAtLast = (shown: string, count: number) =>
    shown
      .split('\n')
      .filter((line) => line !== '')
      .slice(-count);

  it('have a bar each, which is at 100 % only when its work has ended', async () => {
    const { stream, shown } = streamOf(true);
    const displays = openDisplays(stream, ['one', 'two', 'three']);
    displays.of('one').show('fetching', step(1, 0));
    displays.of('two').show('reading', step(0.2, 70));
    displays.of('three').show('connecting', step(null));
    await new Promise((drawn) => setTimeout(drawn, 300));
    displays.of('two').show('fetching', step(0.5, 30));
    displays.of('one').complete('9 blocks');
    displays.end();
    expect(shown()).toMatch(/one {4}fetching .* 99 % {2}words\n/);
    expect(shown()).not.toMatch(/\b0(\.\d+)? s left/);
    expect(linesAtLast(shown(), 3)).toEqual([
      expect.stringMatching(/one {4}fetching .* 100 % {2}9 blocks$/),
      expect.stringMatching(/^two {4}fetching .* 50 % {2}words, 30 s left/),
      expect.stringMatching(/^three {2}connecting {2}words/),
    ]);
  });

  it('have no more bars than the terminal has room for; one that has ended gives its own to another', () => {
    const { stream, shown } = streamOf(true, 4);
    const displays = openDisplays(stream, ['one', 'two', 'three']);
    for (const name of ['one', 'two', 'three']) displays.of(name).show('fetching', step(0.1));
    displays.of('one').complete('9 blocks');
    displays.of('three').show('fetching', step(0.2));
    displays.end();
    expect(linesAtLast(shown(), 2)).toEqual([
      expect.stringMatching(/three {2}fetching .* 20 %/),
      expect.stringMatching(/^two {4}fetching .* 10 %/),
    ]);
    expect(shown()).not.toMatch(/two.*\n.*three/);
  });

  it('together write as many lines in a log as one', () => {
    vi.useFakeTimers();
    const { stream, shown } = streamOf(false);
    const displays = openDisplays(stream, ['one', 'two']);
    for (let seconds = 0; seconds < 60; seconds++) {
      for (const name of ['one', 'two']) displays.of(name).show('fetching', step(0.5, 3));
      vi.advanceTimersByTime(1000);
    }
    for (const name of ['one', 'two']) displays.of(name).complete('9 blocks');
    const lines = shown().trim().split('\n');
    expect(lines.length).toBeLessThanOrEqual(60 / 5 + 2);
    expect(lines).toContain('one: fetching 50 %, words, 3 s left');
    expect(lines.slice(-2)).toEqual(['one: fetching 100 %, 9 blocks', 'two: fetching 100 %, 9 blocks']);
  });
});
