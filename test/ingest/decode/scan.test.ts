import { describe, expect, test } from 'vitest';
import { decodeBlock, decodeExtrinsics } from '../../../ingest/decode/calls.ts';
import { parseExact } from '../../../ingest/decode/json.ts';
import { extrinsicsToParse, mayHoldNestedCalls } from '../../../ingest/decode/scan.ts';
import { recordedFiles, recordedLines } from './recorded.ts';

describe('looking over a block', () => {
  const files = [...recordedFiles('blocks'), ...recordedFiles('runtime')];

  test.each(files)('misses no nested call of %s', (file) => {
    for (const line of recordedLines(file)) {
      const { calls, ethereum, refused } = decodeBlock(JSON.parse(line));
      expect(refused).toEqual([]);
      if (calls.length + ethereum.length > 0) expect(mayHoldNestedCalls(Buffer.from(line))).toBe(true);
    }
  });

  test('leaves most recorded blocks closed', () => {
    const lines = files.flatMap(recordedLines);
    const opened = lines.filter((line) => mayHoldNestedCalls(Buffer.from(line)));
    expect(opened.length).toBeLessThan(lines.length / 3);
  });

  test.each(files)('opens of %s what holds calls, and nothing else follows from the rest', (file) => {
    for (const line of recordedLines(file)) {
      const opened = extrinsicsToParse(Buffer.from(line)) ?? [];
      const part = decodeExtrinsics(opened.map(([index, json]) => [index, parseExact(String(json))]));
      const whole = decodeBlock(parseExact(line));
      const indexes = new Set(opened.map(([index]) => index));
      expect(part.calls).toEqual(whole.calls);
      expect(part.unknown).toEqual(whole.unknown);
      expect(part.ethereum).toEqual(whole.ethereum);
      // A wrapper without calls is System, which the store knows of its name.
      const told = whole.domains.filter((of) => indexes.has(of.extrinsic_index) || of.domain !== 'System');
      expect(part.domains).toEqual(told);
    }
  });

  const named = '{"method":{"pallet":"utility","method":"batch"},"nonce":null,"args":';
  test.each<[json: string, opened: [index: number, json: string][] | null]>([
    ['{"extrinsics":[]}', []],
    [`{"a":[{"extrinsics":[7]}],"extrinsics":[${named}{}}]}`, []],
    [`{"extrinsics":[${named}{}}, ${named}{"calls":[{}]}}],"b":"]"}`, [[1, `${named}{"calls":[{}]}}`]]],
    [
      '{"extrinsics":[{"method":7},{}]}',
      [
        [0, '{"method":7}'],
        [1, '{}'],
      ],
    ],
    [`{"extrinsics":[${named}"}]\\""},${named}{"call":{}}}]}`, [[1, `${named}{"call":{}}}`]]],
    [`{"extrinsics":[${named}"${'x'.repeat(47)}\\"\\\\"},{}]}`, [[1, '{}']]],
    [`{"extrinsics":[${named}"${'x'.repeat(99)}\\"}${'y'.repeat(99)}\\\\"},{}]}`, [[1, '{}']]],
    ['{"extrinsics": []}', null],
    ['{"extrinsics":[],"extrinsics":[]}', null],
    ['{"extrinsics":[7]}', null],
    ['{"extrinsics":[{"a":1}', null],
    ['{"extrinsics":[{"a":"1]}', null],
    ['{"extrinsics":{}}', null],
    ['{"ex', null],
    ['{}', null],
    ['', null],
  ])('of %s it opens %j', (json, opened) => {
    const found = extrinsicsToParse(Buffer.from(json));
    expect(found?.map(([index, bytes]) => [index, String(bytes)]) ?? null).toEqual(opened);
  });

  test.each([
    ['{"call":{"method":1}}', true],
    ['{"call": {"method":1}}', true],
    ['{"calls":[{}]}', true],
    ['{"calls": [{}]}', true],
    ['{"proposal":{"method":1}}', true],
    ['{"call":"0x00","call":{}}', true],
    ['{"main":{},"fallback": {}}', true],
    ['{"meta_tx":{"call":{}}}', true],
    ['{"pallet":"revive","method":"ethTransact"}', true],
    ['{"motion":{"method":{"pallet":"a","method":"b"},"args":{}}}', true],
    ['{"motions":[{"method":{"pallet":"a","method":"b"} ,\n  "args": {}}]}', true],
    ['{"method":{"pallet":"a","method":"b"},"signature":null,"nonce":null,"args":{}}', false],
    ['{"signature":{"signer":{}},"nonce":"1","args":{}}', false],
    ['{"call":"0x00"}', false],
    ['{"proposal": "0x00"}', false],
    ['{"call_hash":"0x00","recall":{}}', false],
    ['{"method":"EthTransact"}', true],
    ['{"method":"eth_transact"}', true],
    ['{"method":"Transact"}', false],
    ['l":{}', false],
    ['{"call":', false],
    ['', false],
  ])('%s: %s', (json, may) => {
    expect(mayHoldNestedCalls(Buffer.from(json))).toBe(may);
  });
});
