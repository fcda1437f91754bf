import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startFauxqs } from 'fauxqs';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { DAY_MS } from '../../../infra/days.ts';
import { raw, sql } from '../../../infra/sql.ts';
import { type RawColumn, rawData } from '../../../ingest/raw/raw-data.ts';
import { exportRaw, type RawExportOptions } from '../../../serve/application/cli/raw-exporter.ts';
import { LocalClient, type OperationClient } from '../../../serve/application/operations/client.ts';
import { DirectoryTarget } from '../../../serve/raw-export/directory-target.ts';
import { openTarget } from '../../../serve/raw-export/open-target.ts';
import { parquetOf } from '../../../serve/raw-export/partition.ts';
import {
  ALICE,
  ALICE_KEY,
  BOB_GENERIC,
  hash,
  madeBlock,
  madeEvent,
  madeExtrinsic,
} from '../../ingest/made.ts';
import { ingestLines, openTestPipeline, type TestPipeline } from '../../support/pipeline.ts';
import { rooted } from '../../support/rooted.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../support/temporary-directory.ts';

let test: TestPipeline;
let client: OperationClient;
let place: TemporaryDirectory;

const MOST = (2n ** 128n - 1n).toString();
const FIRST = Date.parse('2026-01-30T23:59:00Z');

/** A block a minute, each with a transfer. */
const block = (number: number, more: object = {}, at = FIRST + number * 60_000) =>
  JSON.stringify(
    madeBlock(number, [], {
      extrinsics: [
        madeExtrinsic('timestamp.set', { args: { now: String(at) } }),
        madeExtrinsic('balances.transferKeepAlive', {
          signature: { signature: '0x', signer: { id: ALICE } },
          args: { dest: { id: BOB_GENERIC }, value: MOST, memo: null },
          tip: '7',
          info: { partialFee: '10', kind: 'postDispatch' },
          events: [madeEvent('balances.Transfer', ALICE, BOB_GENERIC, MOST)],
        }),
      ],
      ...more,
    }),
  );
const price = (day: string, usd: number) =>
  JSON.stringify({
    ...{ schema: 'snapshot/1', kind: 'price', relay_chain: 'kusama', chain: 'kusama' },
    ...{ as_of: `${day}T00:00:00.000Z`, payload: { symbol: 'KSM', usd } },
  });
const ingest = (chain: string, ...lines: string[]) =>
  ingestLines(
    test.pipeline,
    lines.map((line) => ({ line: JSON.stringify(rooted(JSON.parse(line), chain)), chain })),
  );

/** Nothing is computed meanwhile: an export reads no metric. */
const isOver = Promise.withResolvers<void>();

beforeAll(async () => {
  test = await openTestPipeline();
  void test.pipeline.aggregator.pauseComputation(() => isOver.promise);
  client = new LocalClient(test.pipeline);
  await ingest('polkadot', ...[0, 1, 2].map((number) => block(number)));
  await ingest('kusama', block(7), price('2026-01-31', 20.5));
});
afterAll(async () => {
  isOver.resolve();
  await test.close();
  place[Symbol.dispose]();
});
beforeEach(() => {
  place?.[Symbol.dispose]();
  place = temporaryDirectory();
});
async function write(options: Partial<RawExportOptions> = {}) {
  const target = await DirectoryTarget.open(place.path);
  try {
    const tables = [...rawData.keys()];
    return await exportRaw({
      ...{ client, target, tables, chains: [], days: {}, onProgress: () => undefined },
      ...options,
    });
  } finally {
    await target.close();
  }
}

const written = async (options?: Partial<RawExportOptions>) =>
  Object.values((await write(options)).tables).reduce((sum, table) => sum + table.written, 0);

/** Every file with its content, without manifests. */
const files = () =>
  new Map(
    readdirSync(place.path, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.parquet'))
      .sort()
      .map((path) => [path, readFileSync(join(place.path, path)).toString('base64')]),
  );

const rowsOf = async (path: string) =>
  parquetReadObjects({ file: await asyncBufferFromFile(join(place.path, path)), compressors });

const EXTRINSICS = 'extrinsics/chain=polkadot/date=2026-01-31/part-0.parquet';

describe('the export of raw tables', () => {
  it('has a file for each table, chain and day, with types that every reader knows', async () => {
    const report = await write();
    expect([...files().keys()]).toEqual(
      ['blocks', 'events', 'extrinsics']
        .flatMap((table) => [
          `${table}/chain=kusama/date=2026-01-31/part-0.parquet`,
          `${table}/chain=polkadot/date=2026-01-30/part-0.parquet`,
          `${table}/chain=polkadot/date=2026-01-31/part-0.parquet`,
        ])
        .concat(
          ['prices', 'snapshots'].map((table) => `${table}/chain=kusama/date=2026-01-31/part-0.parquet`),
        ),
    );
    expect(report).toMatchObject({ rows: 4 + 12 + 8 + 2, tables: { blocks: { written: 3, unchanged: 0 } } });
    const ofDay = await rowsOf('events/chain=polkadot/date=2026-01-31/part-0.parquet');
    expect(ofDay.filter((row) => (row as { event: string }).event === 'Transfer')).toEqual(
      [1n, 2n].map((number) => ({
        ...{ relay_chain: 'polkadot', number, event_index: 1n, extrinsic_index: 1n, phase: 'extrinsic' },
        time: new Date(FIRST + Number(number) * 60_000),
        ...{ pallet: 'balances', event: 'Transfer', data: [ALICE, BOB_GENERIC, MOST], amount: MOST },
        account: `0x${ALICE_KEY}`,
        counterparty: expect.stringMatching(/^0x[0-9a-f]{64}$/),
        refused: '',
      })),
    );
    const [, transfer] = await rowsOf(EXTRINSICS);
    expect(transfer).toEqual({
      ...{ relay_chain: 'polkadot', number: 1n, extrinsic_index: 1n, time: new Date(FIRST + 60_000) },
      ...{ hash: hash('e'), pallet: 'balances', call: 'transferKeepAlive', pallet_written: 'balances' },
      ...{ signed: true, signer: ALICE, signer_key: `0x${ALICE_KEY}`, success: true, succeeded: true },
      ...{ outcome: true, general: false, fee_bearing: true },
      ...{ ethereum: false, ethereum_from: null, ethereum_to: null, fee: '17', tip: '7', domain: 'Assets' },
      args: { dest: `{"id":"${BOB_GENERIC}"}`, value: MOST, memo: null },
    });
    expect(await rowsOf('prices/chain=kusama/date=2026-01-31/part-0.parquet')).toEqual([
      {
        ...{ relay_chain: 'kusama', symbol: 'KSM', as_of: new Date('2026-01-31') },
        usd_scaled: `205${'0'.repeat(29)}`,
      },
    ]);
  });

  it('writes nothing twice, and the same bytes into another place', async () => {
    await write();
    const first = files();
    expect(await write()).toMatchObject({
      rows: 0,
      bytes: 0,
      tables: { events: { written: 0, unchanged: 3 } },
    });
    place[Symbol.dispose]();
    place = temporaryDirectory();
    await write();
    expect(files()).toEqual(first);
  });

  it('writes the tables, chains and days that are asked for', async () => {
    expect(await written({ tables: ['blocks'], chains: ['kusama-relay'] })).toBe(1);
    expect(await written({ tables: ['blocks'], days: { from: '2026-01-31', until: '2026-01-31' } })).toBe(1);
    expect(await written({ tables: ['blocks'], days: { until: '2026-01-30' } })).toBe(1);
    await expect(write({ chains: ['kusamma'] })).rejects.toMatchObject({ code: 'unknown_chain' });
  });

  it('writes a file again when it is gone or another one, or was written in another form', async () => {
    await write();
    const path = join(place.path, EXTRINSICS);
    const [good, { mtime }] = [readFileSync(path), statSync(path)];
    writeFileSync(path, 'x');
    expect(await written()).toBe(1);
    expect(readFileSync(path)).toEqual(good);
    utimesSync(path, mtime, new Date(0));
    expect(await written()).toBe(1);
    const manifest = join(place.path, '_manifest/chain=polkadot/2026-01.json');
    const text = readFileSync(manifest, 'utf8');
    writeFileSync(manifest, text.replace(/"layout": "\w+"/, '"layout": "of another version"'));
    expect(await written()).toBe(1);
    writeFileSync(manifest, text.slice(0, -20));
    await expect(write()).rejects.toThrow(/2026-01.json in .* is invalid or from another version: delete it/);
  });

  it.each([
    ['{"a":"x","b":{"c":[1,"2"]},"n":null,"t":true}', { a: 'x', b: '{"c":[1,"2"]}', n: null, t: 'true' }],
    ['', {}],
    ['[1,2]', { '': '[1,2]' }],
    ['{"lone":"\\ud800"}', { '': '{"lone":"\\ud800"}' }],
    ['{"large":123456789012345678901}', { '': '{"large":123456789012345678901}' }],
  ])('keeps the arguments %s', async (args, kept) => {
    const column = { ...(rawData.get('calls')?.columns.args as RawColumn), select: 'given' };
    const [row] = await test.pipeline.runtime.store.rows<{ map: object }>(
      sql`SELECT ${raw(parquetOf(column).select)} AS map FROM (SELECT ${args} AS given)`,
    );
    expect(row?.map).toEqual(kept);
  });

  it('goes on where it broke off', async () => {
    let calls = 0;
    const failing: OperationClient = {
      ...{ location: '', close: async () => undefined },
      call: (name, ...rest) => {
        if (name === 'rawRows' && ++calls > 5) throw new Error('gone');
        return client.call(name, ...rest);
      },
    };
    await expect(write({ client: failing })).rejects.toThrow('gone');
    const { size } = files();
    expect(size).toBeGreaterThanOrEqual(3);
    expect(size).toBeLessThan(11);
    expect(await written()).toBe(11 - size);
  });

  it('writes again the days that a late, another or a removed block has changed', async () => {
    await write();
    const before = files();
    const changes = (after = files()) => [...after].filter(([path, now]) => now !== before.get(path)).length;
    await ingest('polkadot', block(3, {}, FIRST + 40 * DAY_MS));
    expect(await written()).toBe(3);
    // The block of the last day is of the first day now: the last day has none left.
    await ingest('polkadot', block(3));
    expect((await write()).tables.blocks).toEqual({ written: 1, unchanged: 2, removed: 1 });
    expect([...files().keys()]).toEqual([...before.keys()]);
    expect(changes()).toBe(3);
    const deleted = { schema: 'block/1', relay_chain: 'polkadot', chain: 'polkadot', is_deleted: true };
    await ingest('polkadot', JSON.stringify({ ...deleted, payload: { number: '3' } }));
    expect(await written()).toBe(3);
    expect(changes()).toBe(0);
    await ingest('kusama', price('2026-01-31', 21));
    expect((await write()).tables).toMatchObject({ prices: { written: 1 }, snapshots: { written: 1 } });
    expect(changes()).toBe(2);
  });

  it('writes a day again that was being loaded when it was written', async () => {
    const { pipeline } = test;
    const lease = await pipeline.runtime.keyValue.join('loading', '1|of another process', 60_000);
    expect(lease).toBe(true);
    const tables = ['blocks'];
    const first = await written({ tables });
    expect(await written({ tables })).toBe(first);
    await pipeline.runtime.keyValue.leave('loading', '1|of another process');
    expect([await written({ tables }), await written({ tables })]).toEqual([first, 0]);
  });
});

describe('the export to a bucket', () => {
  let server: Awaited<ReturnType<typeof startFauxqs>>;
  beforeAll(async () => {
    server = await startFauxqs({ port: 0, logger: false });
    server.createBucket('lake');
  });
  afterAll(() => server.stop());
  beforeEach(() => {
    vi.stubEnv('AWS_ENDPOINT_URL', `http://127.0.0.1:${server.port}`);
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'who');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'a secret of somebody');
  });
  afterEach(() => vi.unstubAllEnvs());

  it('has the same files as one to a directory, and writes again what somebody else has replaced', async () => {
    await write();
    const target = await openTarget('s3://lake/raw/mainnet');
    try {
      expect(target.location).toBe('s3://lake/raw/mainnet/');
      const all = files();
      expect(await written({ target })).toBe(all.size);
      for (const [path, content] of all) {
        expect((await target.read(path))?.toString('base64'), path).toBe(content);
      }
      expect(await written({ target })).toBe(0);
      await target.write(EXTRINSICS, 'x');
      expect(await written({ target })).toBe(1);
      expect((await target.read(EXTRINSICS))?.toString('base64')).toBe(all.get(EXTRINSICS));
      await target.remove(EXTRINSICS);
      expect([await target.read(EXTRINSICS), await written({ target })]).toEqual([null, 1]);
    } finally {
      await target.close();
    }
  });

  it('says at once what is wrong with the place, and no secret', async () => {
    const wrong: [place: string, code: string, says: RegExp][] = [
      ['s3://nobody/raw', 'service_refused', /^s3:\/\/nobody\/raw\/: .*bucket does not exist/],
      [
        's3://who:secret@lake/raw',
        'usage',
        /^--to must be a directory or a URL such as s3:\/\/bucket\/prefix$/,
      ],
      ['https://lake/raw', 'usage', /^--to must be a directory/],
      ['s3://lake/../other', 'usage', /^--to must be a directory/],
    ];
    for (const [place, code, says] of wrong) {
      const message = expect.stringMatching(says);
      await expect(openTarget(place), place).rejects.toMatchObject({ code, message });
    }
    vi.stubEnv('AWS_ENDPOINT_URL', 'http://127.0.0.1:1');
    await expect(openTarget('s3://lake')).rejects.toMatchObject({ code: 'service_unreachable' });
    const nobody = { AWS_ACCESS_KEY_ID: undefined, AWS_SECRET_ACCESS_KEY: undefined };
    const nowhere = { AWS_EC2_METADATA_DISABLED: 'true', HOME: place.path };
    for (const [name, value] of Object.entries({ ...nobody, ...nowhere })) vi.stubEnv(name, value);
    await expect(openTarget('s3://lake')).rejects.toThrow(
      /AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION/,
    );
  });
});
