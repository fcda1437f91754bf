import { describe, expect, test } from 'vitest';
import { parseAmount } from '../../../ingest/decode/amount.ts';
import { parseExact, plainDecimal } from '../../../ingest/decode/json.ts';

describe('an amount', () => {
  test.each([
    ['0', 0n],
    ['340282366920938463463374607431768211455', 2n ** 128n - 1n],
    [17, 17n],
    [17n, 17n],
    ['0x00000000000000000000000000000100', 256n],
    ['0xFf', 255n],
  ])('is read from %s', (written, amount) => {
    expect(parseAmount(written)).toBe(amount);
  });

  test.each([
    ['-1'],
    [-1],
    [-1n],
    ['1.5'],
    [1.5],
    ['1,000'],
    ['1e3'],
    [' 1'],
    [''],
    ['0x'],
    ['0xg'],
    ['340282366920938463463374607431768211456'],
    [2 ** 53],
    [Number.NaN],
    [null],
    [undefined],
    [true],
    [{}],
    [['1']],
  ])('is not %s', (written) => {
    expect(parseAmount(written)).toBeNull();
  });
});

describe('the exact parser', () => {
  test('keeps every digit of an integer beyond what a double holds, as a string', () => {
    const text =
      '{"small":9007199254740991,"large":[9007199254740993,-12345678901234567890],"text":"12345678901234567890"}';
    expect(parseExact(text)).toEqual({
      small: 9007199254740991,
      large: ['9007199254740993', '-12345678901234567890'],
      text: '12345678901234567890',
    });
    expect(parseAmount(parseExact('123456789012345678901234567890'))).toBe(123456789012345678901234567890n);
  });

  test('keeps every digit of a fraction that a double would round', () => {
    expect(parseExact('[6.12, 0.1, 0.12345678901234567890123, 1.50, 1e-7]')).toEqual([
      6.12,
      0.1,
      '0.12345678901234567890123',
      1.5,
      1e-7,
    ]);
  });

  test('keeps what is larger than every double as it is written', () => {
    const long = '9'.repeat(400);
    expect(parseExact(`[1e999, -1E+400, ${long}, 1e308]`)).toEqual(['1e999', '-1E+400', long, 1e308]);
    expect(parseAmount(parseExact('1e999'))).toBeNull();
  });

  test('refuses what JSON refuses', () => {
    expect(() => parseExact('{"a":')).toThrow(SyntaxError);
  });

  test.each([
    ['1.50', '1.5'],
    ['1.5e3', '1500'],
    ['1.5E-3', '0.0015'],
    ['-123.456e+2', '-12345.6'],
    ['5e-7', '0.0000005'],
    ['0.000', '0'],
    ['-0.0', '0'],
    ['007', '7'],
  ])('%s is %s in plain notation', (written, plain) => {
    expect(plainDecimal(written)).toBe(plain);
  });

  test.each(['', 'x', '1.', '.5', '1e', '1e999999999', 'Infinity', 'NaN', '1_000'])(
    '%s has none',
    (written) => {
      expect(plainDecimal(written)).toBeNull();
    },
  );
});
