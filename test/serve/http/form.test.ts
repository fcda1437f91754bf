import { describe, expect, test } from 'vitest';
import { HttpError } from '../../../serve/http/errors.ts';
import { parseForm } from '../../../serve/http/form.ts';

describe('a form', () => {
  test('is decoded as browsers and OAuth clients encode it', () => {
    const form = parseForm('a=1+2%2B3&b=%D0%96&empty=&bare&a=4&x=y=z');
    expect(form.text('a')).toBe('1 2+3');
    expect(form.getAll('a')).toEqual(['1 2+3', '4']);
    expect(form.text('b')).toBe('Ж');
    expect([form.text('empty'), form.text('bare'), form.text('absent')]).toEqual(['', '', '']);
    expect([form.has('bare'), form.has('absent')]).toEqual([true, false]);
    expect(form.text('x')).toBe('y=z');
    expect(form.repeated()).toEqual(['a']);
  });

  test('knows a repeated field by its decoded name', () => {
    expect(parseForm('grant_type=a&grant%5Ftype=b').repeated()).toEqual(['grant_type']);
  });

  test('keeps a question mark as part of the first name', () => {
    expect(parseForm('?a=1').has('a')).toBe(false);
  });

  test.each([
    ['a lone percent sign', 'a=%'],
    ['a broken percent escape', 'a=%zz'],
    ['bytes that are not UTF-8', 'a=%ff%fe'],
    ['an overlong encoding', 'a=%c0%af'],
    ['half a surrogate pair', 'a=%ed%a0%80'],
    ['raw bytes that are not UTF-8', `a=${Buffer.from([0xff]).toString()}`],
    ['a zero byte', 'a=b%00'],
    ['a zero byte in a name', 'a%00=b'],
    ['too many fields', 'a=b&'.repeat(201)],
  ])('with %s is refused', (_, text) => {
    expect(() => parseForm(text)).toThrow(HttpError);
  });
});
