import { describe, expect, test } from 'vitest';
import { missingMs } from '../../../serve/alerts/integrations/heartbeat-watch.ts';

const PERIOD = 300;

describe('a beat is missing for the time in which servers listened', () => {
  test.each([
    ['without a gap', 0, 0, 0, 400, 400],
    ['a gap before the beat', 500, 100, 200, 900, 400],
    ['a short gap is excused', 100, 200, 250, 450, 300],
    ['of a gap in which the beat came, the rest', 220, 200, 250, 450, 200],
    ['after a gap of a period counts anew', 100, 150, 450, 500, 50],
    ['a beat after such a gap', 480, 150, 450, 500, 20],
  ])('%s', (_name, since, from, until, now, missing) => {
    expect(missingMs(since, now, PERIOD, { from, until })).toBe(missing);
  });
});
