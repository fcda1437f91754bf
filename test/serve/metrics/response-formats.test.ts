import { describe, expect, test } from 'vitest';
import { acceptedCoding } from '../../../serve/http/content-codings.ts';
import { acceptedFormat } from '../../../serve/metrics/response-formats.ts';

describe('the format that an Accept header prefers', () => {
  test.each([
    [undefined, 'json'],
    ['', 'json'],
    ['*/*', 'json'],
    ['text/html', 'json'],
    ['text/csv', 'csv'],
    ['Text/CSV', 'csv'],
    ['text/csv, application/json', 'csv'],
    ['application/json, text/csv', 'json'],
    ['text/csv;q=0.5, application/json', 'json'],
    ['application/json;q=0.2, text/csv;q=0.9', 'csv'],
    ['application/json; q=0.2, application/x-ndjson ; q=0.3', 'ndjson'],
    ['application/json, */*;q=0.5', 'json'],
    ['*/*;q=0.5, application/vnd.apache.parquet', 'parquet'],
    ['application/vnd.apache.arrow.stream;q=0.001', 'arrow'],
    ['text/*', 'csv'],
    ['application/*', 'json'],
    ['text/*;q=0.3, application/*;q=0.7, application/json;q=0', 'ndjson'],
    ['application/json;q=0, */*', 'csv'],
    ['text/csv;header=present;q=1', 'csv'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'json'],
    ['text/csv;q=0', 'json'],
    ['text/csv;q=2, application/x-ndjson;q=0.1', 'ndjson'],
    ['text/csv;q=NaN', 'json'],
    [',,;q=1;;=, ,text/csv', 'csv'],
    ['text/csvx, xtext/csv', 'json'],
    [`${'text/html,'.repeat(100_000)}`, 'json'],
  ])('%j: %s', (accept, format) => {
    expect(acceptedFormat(accept)).toBe(format);
  });
});

describe('the coding that an Accept-Encoding header prefers', () => {
  test.each([
    ['gzip, deflate, br, zstd', 'zstd'],
    ['gzip, deflate, br', 'br'],
    ['GZIP;q=1.0, br;q=0.5', 'gzip'],
    ['br;q=0, gzip;q=0.1', 'gzip'],
    ['*', 'gzip'],
    ['identity', 'identity'],
    ['deflate', 'identity'],
    ['identity;q=1, *;q=0', 'identity'],
    ['zstd;q=0, *', 'gzip'],
    ['*, zstd;q=0, br ; q=0', 'gzip'],
    ['zstd;q=0, br;q=0, gzip;q=0, *;q=0.5', 'identity'],
    ['gzip;q=0.5, *;q=0.1', 'gzip'],
    ['*;q=0', 'identity'],
    [';;;=q,,\u00e9', 'identity'],
  ])('of %s is %s', (accepted, coding) => {
    expect(acceptedCoding(accepted)).toBe(coding);
  });

  test('is none without the header, and with one that no client sends', () => {
    expect(acceptedCoding(undefined)).toBe('identity');
    expect(acceptedCoding(`gzip, ${'x, '.repeat(1000)}br`)).toBe('identity');
  });
});
