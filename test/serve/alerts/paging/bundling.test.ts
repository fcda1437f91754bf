import { describe, expect, test } from 'vitest';
import { departureOf, type SentMessage } from '../../../../serve/alerts/paging/bundling.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const WINDOW = MINUTE;

const sentAt = (...seconds: number[]): SentMessage[] => seconds.map((at) => ({ at: at * SECOND, rank: 2 }));
const leaves = (sent: readonly SentMessage[], due: number, rank = 2, windowMs = WINDOW) =>
  departureOf(sent, [{ due: due * SECOND, rank }], windowMs) / SECOND;

describe('a message', () => {
  test('leaves at once if none left within the window before', () => {
    expect(leaves([], 5)).toBe(5);
    expect(leaves(sentAt(0), 60)).toBe(60);
    expect(leaves(sentAt(0), 5, 2, 0)).toBe(5);
  });

  test('waits for the end of the window after another', () => {
    expect(leaves(sentAt(0), 5)).toBe(60);
    expect(leaves(sentAt(0, 60), 61)).toBe(120);
  });

  test('does not wait if an alert is more severe than all before', () => {
    expect(leaves(sentAt(0), 5, 1)).toBe(5);
    const before = [
      { at: 0, rank: 0 },
      { at: 60 * SECOND, rank: 3 },
    ];
    expect(leaves(before, 61, 1)).toBe(120);
  });
});

/** Sends whatever waits as soon as it may leave, while a notification falls due each second. */
function storm(seconds: number): number[] {
  const sent: SentMessage[] = [];
  let waitingSince = 0;
  for (let now = 0; now < seconds; now++) {
    if (departureOf(sent, [{ due: waitingSince * SECOND, rank: 2 }], WINDOW) > now * SECOND) continue;
    sent.push({ at: now * SECOND, rank: 2 });
    waitingSince = now + 1;
  }
  return sent.map(({ at }) => at / SECOND);
}

test('a storm of an hour is a message a minute at first, and fewer then', () => {
  const sent = storm(3600);
  const gaps = sent.slice(1).map((at, i) => at - (sent[i] as number));
  expect(gaps.slice(0, 10)).toEqual(Array(10).fill(60));
  expect(gaps.slice(10, 20)).toEqual(Array(10).fill(120));
  expect(sent.length).toBeLessThanOrEqual(40);
});

test('the wait grows to 15 minutes at most, and is the usual one again after half a calm hour', () => {
  const burst = Array.from({ length: 40 }, (_, i) => ({ at: i * 10 * SECOND, rank: 2 }));
  expect(leaves(burst, 391)).toBe(390 + 15 * 60);
  const calm = [...burst, { at: 2600 * SECOND, rank: 2 }];
  expect(leaves(calm, 2601)).toBe(2660);
});
