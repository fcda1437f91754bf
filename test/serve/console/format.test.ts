import { describe, expect, it } from 'vitest';
import type { Unit } from '../../../aggregate/units.ts';
import { formatExact, formatShort, formatTicks, type Measured } from '../../../serve/console/model/format.ts';

/** No-break spaces as the spaces that a test can show. */
const plain = (text: string) => text.replaceAll('\u00a0', ' ').replaceAll('−', '-');
const short = (value: Measured, unit: Unit, token?: string) => plain(formatShort(value, unit, token));
const exact = (value: Measured, unit: Unit, token?: string) => plain(formatExact(value, unit, token));
const ticks = (values: readonly number[], unit: Unit) => formatTicks(values, unit).map(plain);

describe('a value in short', () => {
  it.each<[Measured, Unit, string]>([
    [0, 'count', '0'],
    [7, 'count', '7'],
    [9999, 'count', '9,999'],
    [9999.7, 'count', '10 k'],
    [12_345, 'count', '12.3 k'],
    [999_999, 'count', '1 M'],
    [1_234_567, 'count', '1.23 M'],
    [-4_300_000_000, 'count', '-4.3 B'],
    [2e15, 'count', '2,000 T'],
    [3e21, 'count', '3×10²¹'],
    [0.5, 'count', '0.5'],
    [0.6, 'ratio', '60 %'],
    [0.1234, 'ratio', '12.3 %'],
    [12.34, 'percent', '12.3 %'],
    [-0.00012, 'ratio', '-0.012 %'],
    [3400, 'usd', '$3,400'],
    [1_200_000, 'usd', '$1.2 M'],
    [0.5, 'usd', '$0.50'],
    [-12.345, 'usd', '-$12.35'],
    [0.0012, 'usd', '$0.0012'],
    [6, 'seconds', '6.0 s'],
    [0.12, 'seconds', '120 ms'],
    [59.97, 'seconds', '1 min'],
    [4320, 'seconds', '1 h 12 min'],
    [86_399, 'seconds', '1 d'],
    [200_000, 'seconds', '2 d 8 h'],
    [365 * 86_400, 'seconds', '365 d'],
    [12_345, 'bytes', '12.3 kB'],
    [512, 'bytes', '512 B'],
    [3.2e9, 'bytes', '3.2 GB'],
    [12.3456, 'per_second', '12.3 /s'],
    [24_500_123, 'height', '24,500,123'],
    [1234, 'identifier', '1234'],
    ['123456789012345678', 'planck', '123,000 T planck'],
    [2_000_000_000_000, 'weight', '2 T'],
  ])('of %s %s is %s', (value, unit, text) => {
    expect(short(value, unit)).toBe(text);
  });

  it('shows fees of a few planck, and the token', () => {
    expect(short(0.0000012, 'native', 'DOT')).toBe('0.0000012 DOT');
    expect(short(0.0000000001, 'native', 'DOT')).toBe('1×10⁻¹⁰ DOT');
    expect(short(1_200_000, 'native', 'DOT')).toBe('1.2 M DOT');
    expect(short(1_200_000, 'native')).toBe('1.2 M');
  });

  it.each([null, undefined, '', 'none', Number.NaN, Number.POSITIVE_INFINITY])('of %s is a dash', (value) => {
    expect(short(value, 'count')).toBe('–');
    expect(exact(value, 'native', 'DOT')).toBe('–');
  });
});

describe('a value in full', () => {
  it.each<[Measured, Unit, string]>([
    [1_234_567, 'count', '1,234,567'],
    [1 / 3, 'ratio', '33.3333 %'],
    [0.07, 'ratio', '7 %'],
    [100 / 3, 'percent', '33.3333 %'],
    [1_234_567.891, 'usd', '$1,234,567.89'],
    [0.00001234, 'usd', '$0.00001234'],
    [5, 'usd', '$5'],
    [4320.5, 'seconds', '4,320.5 s'],
    [12_345, 'bytes', '12,345 B'],
    [-1_234_567.00000002, 'native', '-1,234,567.00000002 DOT'],
    [0.1 + 0.2, 'native', '0.3 DOT'],
    ['0.000000000000000001', 'native', '0.000000000000000001 DOT'],
    ['12345678901234567890.123456789', 'native', '12,345,678,901,234,567,890.123456789 DOT'],
    ['123456789012345678901', 'planck', '123,456,789,012,345,678,901 planck'],
    [12_345.6789, 'per_second', '12,345.7 /s'],
    [10n ** 20n, 'count', '100,000,000,000,000,000,000'],
    [1e300, 'count', '1×10³⁰⁰'],
    [1234, 'identifier', '1234'],
  ])('of %s %s is %s', (value, unit, text) => {
    expect(exact(value, unit, 'DOT')).toBe(text);
  });
});

describe('the labels of an axis', () => {
  it.each<[number[], Unit, string]>([
    [[0, 5000, 10_000], 'count', '0 | 5 k | 10 k'],
    [[0, 2_500_000, 5_000_000], 'native', '0 | 2.5 M | 5.0 M'],
    [[0, 0.2, 0.4, 0.6], 'ratio', '0 % | 20 % | 40 % | 60 %'],
    [[0, 20, 40], 'percent', '0 % | 20 % | 40 %'],
    [[0.6, 0.601, 0.602], 'ratio', '60.0 % | 60.1 % | 60.2 %'],
    [[-1e6, 0, 1e6], 'usd', '-$1 M | $0 | $1 M'],
    [[0, 0.5, 1], 'seconds', '0 s | 0.5 s | 1.0 s'],
    [[0, 1800, 3600], 'seconds', '0 h | 0.5 h | 1.0 h'],
    [[0, 500, 1000], 'seconds', '0 s | 500 s | 1,000 s'],
    [[1_000_000_001, 1_000_000_002], 'count', '1,000,000,001 | 1,000,000,002'],
    [[24_500_000, 24_500_500], 'height', '24,500,000 | 24,500,500'],
    [[0, 2e-7, 4e-7], 'native', '0 | 0.00000020 | 0.00000040'],
    [[0, 500, 1000], 'count', '0 | 500 | 1,000'],
    [[0, 2500, 5000], 'usd', '$0 | $2,500 | $5,000'],
    [[0, 1e-17, 2], 'count', '0 | 0 | 2'],
    [[5], 'count', '5'],
    [[], 'count', ''],
  ])('%s %s are %s', (values, unit, text) => {
    expect(ticks(values, unit).join(' | ')).toBe(text);
  });

  it.each<[number[], Unit, string]>([
    [[500, 1000, 2000, 50_000], 'count', '500 | 1 k | 2 k | 50 k'],
    [[1e-7, 0.01, 1, 1000, 1e6], 'count', '1×10⁻⁷ | 0.01 | 1 | 1 k | 1 M'],
    [[100, 1000], 'usd', '$100 | $1 k'],
    [[0.001, 0.1], 'ratio', '0.1 % | 10 %'],
    [[500, 7200], 'seconds', '500 s | 2 h'],
  ])('%s %s of a logarithmic axis are %s', (values, unit, text) => {
    expect(formatTicks(values, unit, true).map(plain).join(' | ')).toBe(text);
  });

  it('are never the same for different values', () => {
    for (const unit of ['count', 'native', 'usd', 'ratio', 'seconds', 'bytes', 'per_second'] as const) {
      for (let power = -12; power <= 15; power++) {
        for (const step of [1, 2, 2.5, 5]) {
          for (const from of [0, 1, 37, 100_000]) {
            const values = [0, 1, 2, 3, 4].map((i) => (from + i) * step * 10 ** power);
            expect(new Set(ticks(values, unit)).size, `${unit} ${values}`).toBe(5);
          }
        }
      }
    }
  });
});
