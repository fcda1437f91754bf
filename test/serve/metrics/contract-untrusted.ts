import { describe, expect, test } from 'vitest';
import type { Metric, MetricEndpoint } from '../../../aggregate/metric.ts';
import { metrics } from '../../../aggregate/metrics/index.ts';
import { Random } from '../../../ingest/demo/random.ts';
import { cursorOf, orderOf } from '../../../serve/metrics/cursor.ts';
import { ALICE, type ContractClient, needed, SAMPLES } from './contract-client.ts';
import { ENDPOINTS, type Endpoint } from './endpoints.ts';

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Values that some column cannot hold: of another type, out of range, or not a day. */
const STRANGE = [
  'x', '', "'", '\0', '-1', -1, 1.5, 2 ** 60, 1e300, true, null, {}, [1], '2024-02-30', '9999-99-99', '0000-00-00', '2024-01-01',
  '2024-01-01 25:61:61.000', '2024-01-01T00:00:00.000Z', '9'.repeat(39), '9'.repeat(78), '9'.repeat(80), 0, 1,
]; // biome-ignore format: a list of values

function forged(random: Random): string[] {
  const rows = [1, 2, 3, 4, 5, 6, 7].flatMap((length) =>
    STRANGE.map((value) => encoded(Array.from({ length }, () => value))),
  );
  const bytes = Array.from({ length: 40 }, () =>
    Buffer.from(Array.from({ length: random.whole(1, 60) }, () => random.whole(0, 255))).toString(
      'base64url',
    ),
  );
  return [...rows, ...bytes, 'x', '=', '%00', encoded('x'), encoded({}), encoded(7), encoded(null), '[]'];
}

/** Values at both ends of what a column can hold. */
const VALUES: Readonly<Record<string, readonly (string | number)[]>> = {
  Date: ['1970-01-01', '2024-02-29', '2149-06-06'],
  "DateTime64(3, 'UTC')": ['1970-01-01 00:00:00.000', '2149-06-06 23:59:59.999'],
  UInt64: [0, Number.MAX_SAFE_INTEGER],
  UInt256: ['0', String(2n ** 256n - 1n)],
  String: ['', "\\'; -- \0\n", '\u{10ffff}', 'z'.repeat(500)],
};
const valuesOf = (type: string) => VALUES[type.replace(/^LowCardinality\((.*)\)$/, '$1')] ?? [];

function declared({ path }: Endpoint): { metric: Metric; endpoint: MetricEndpoint } {
  for (const metric of metrics) {
    const endpoint = metric.endpoints.find((one) => one.path === path);
    if (endpoint) return { metric, endpoint };
  }
  throw new Error(`no metric has the path ${path}`);
}

/** A cursor of a path whose columns hold the values of this number. */
function madeCursor(endpoint: Endpoint, number: number): string {
  const { metric, endpoint: own } = declared(endpoint);
  const order = orderOf(metric, own);
  const key = order.map(({ type }) => valuesOf(type)[number % valuesOf(type).length]);
  return cursorOf(endpoint.path, order, key);
}

/** Altered in one place. */
function mutated(cursor: string, random: Random): string {
  const at = random.whole(0, cursor.length - 1);
  const sign = random.pick([...'ABCxyz019-_=+/%'].filter((one) => one !== cursor[at]));
  return random.pick([
    `${cursor.slice(0, at)}${sign}${cursor.slice(at + 1)}`,
    cursor.slice(0, at),
    cursor.slice(at + 1),
    cursor + sign,
  ]);
}

/** What comes from outside is an answer or a refusal that names the parameter, never a failure. */
export function describeUntrusted(client: ContractClient): void {
  describe.each(ENDPOINTS)('untrusted values of $path', (endpoint) => {
    const isRefused = (cursor: string) => client.refuses(endpoint, 'cursor', cursor);

    test('a cursor that nobody was given is refused', async () => {
      for (const cursor of forged(new Random(1))) await isRefused(cursor);
    });

    test('a cursor of another path is refused', async () => {
      for (const other of ENDPOINTS.filter(({ path }) => path !== endpoint.path)) {
        await isRefused(madeCursor(other, 1));
      }
    });

    test('any value that a column can hold goes on from there; an altered cursor is refused or does so too', async () => {
      const random = new Random(2);
      for (let number = 0; number < 4; number++) {
        const cursor = madeCursor(endpoint, number);
        expect(Array.isArray(await client.rowsOf(endpoint, { cursor, limit: '2' }))).toBe(true);
        for (let i = 0; i < 15; i++) {
          const answer = await client.ask(endpoint, {
            ...needed(endpoint),
            cursor: mutated(cursor, random) || 'x',
          });
          expect([200, 422], answer.body.slice(0, 300)).toContain(answer.statusCode);
        }
      }
    });

    test('a text of any length is an answer or a refusal, which repeats little of it', async () => {
      const names = [
        ...Object.keys(endpoint.parameters),
        'cursor',
        'format',
        'bom',
        'limit',
        ...(endpoint.ours ?? []),
      ];
      for (const name of names) {
        for (const length of [129, 30_000, 300_000]) {
          const text = name === 'exclude_domains' ? 'Assets,'.repeat(length / 7) : 'x'.repeat(length);
          const answer = await client.ask(endpoint, { ...needed(endpoint), [name]: text });
          expect(answer.statusCode, `${name} of ${length}`).toBe(422);
          expect(answer.body.length, name).toBeLessThan(2000);
        }
      }
    });

    test('as many values as a list may have are an answer', async () => {
      for (const [name, { type, repeated }] of Object.entries(endpoint.parameters)) {
        if (!repeated) continue;
        const value = type === 'account' ? ALICE : (SAMPLES[type] as string);
        await client.rowsOf(endpoint, { [name]: Array.from({ length: 1000 }, () => value) });
      }
    });
  });

  test('of a thousand unknown parameters some are named and the rest counted', async () => {
    const [endpoint] = ENDPOINTS as [Endpoint];
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`unknown${i}`, '1']));
    const issues = await client.refusal(endpoint, many);
    expect(issues).toHaveLength(100);
  });
}
