import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { ProductError } from '../../infra/errors.ts';
import { sql } from '../../infra/sql.ts';
import { type Stream, TOPICS } from '../../ingest/log/topics.ts';
import { addressEncodings, deadLetters, refusedFacts } from '../../ingest/raw/tables.ts';
import { heightsOf, type Ingesting, openIngesting, rowsOf } from './ingesting.ts';
import { ALICE, ALICE_KEY, madeBlock, madeEvent, madeExtrinsic } from './made.ts';

// Messages that anybody may write on the log. Whatever one holds, those behind it are loaded.

let ingesting: Ingesting;
beforeAll(async () => {
  ingesting = await openIngesting({ STORE_MEMORY_BYTES: String(2 ** 28) });
});
afterAll(() => ingesting.close());

let height = 0;
const block = (chain: string, ...extrinsics: object[]) => ({
  schema: 'block/1',
  chain,
  payload: madeBlock(++height, extrinsics),
});
const text = (message: unknown) => (typeof message === 'string' ? message : JSON.stringify(message));

/** Publishes messages in one batch, and a good block in another; returns the reasons of what was refused. */
async function send(stream: Stream, ...messages: unknown[]): Promise<string[]> {
  const { log } = ingesting.pipeline.runtime;
  const known = (await ingesting.letters()).length;
  const publish = (topic: string, values: readonly string[]) =>
    log.publish(
      topic,
      values.map((value) => ({ key: 'any', value: Buffer.from(value) })),
    );
  await publish(TOPICS[stream], messages.map(text));
  const good = block('kusama');
  await publish(TOPICS.blocks, [text(good)]);
  expect(await heightsOf(ingesting, 'kusama')).toContain(height);
  const letters = await rowsOf<{ reason: string }>(
    ingesting,
    sql`SELECT reason FROM ${deadLetters} FINAL ORDER BY received_at DESC LIMIT ${messages.length}`,
  );
  const total = (await ingesting.letters()).length;
  return letters.slice(0, total - known).map(({ reason }) => reason);
}

const deep = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
/** With the mark of this product's own producer. */
const marked = (head: object, body: object = madeBlock(++height)) =>
  `{"payload_last":true,${JSON.stringify({
    schema: 'block/1',
    relay_chain: 'polkadot',
    chain: 'polkadot',
    number: String(height),
    source: 's',
    origin: 'o',
    line: 1,
    ...head,
  }).slice(1, -1)},"payload":${JSON.stringify(body)}}`;
const wrapped = (call: object) =>
  madeExtrinsic('utility.withWeight', { signature: { signer: ALICE }, args: { call } });
const remark = (args: object = {}) => ({ method: { pallet: 'system', method: 'remark' }, args });

describe('a message becomes a dead letter with its reason', () => {
  const poison: Record<Stream, (readonly [what: string, message: () => unknown, reason: RegExp])[]> = {
    blocks: [
      ['empty', () => '', /^not JSON$/],
      ['null', () => 'null', /^not a JSON object$/],
      ['a list', () => '[]', /^not a JSON object$/],
      ['no schema', () => ({ chain: 'polkadot' }), /^schema: missing/],
      ['a schema without end', () => `{"schema":${deep(20_000)}}`, /^nested too deeply$/],
      ['the chain __proto__', () => block('__proto__'), /^chain: unknown __proto__$/],
      ['a chain with a long name', () => block('x'.repeat(3e6)), /^chain: unknown x{100}…$/],
      ['marked as our own, a line below 0', () => marked({ line: -5, chain: 'atlantis' }), /^chain: /],
      ['marked as our own, a flag that is none', () => marked({ is_deleted: {} }), /^is_deleted: /],
      [
        'marked as our own, a version beyond 64 bits',
        () => marked({ version: '9'.repeat(20) }),
        /^version: larger than 64 bits$/,
      ],
    ],
    snapshots: [
      ['null', () => 'null', /^not a JSON object$/],
      ['a number', () => '5', /^not a JSON object$/],
      ['a kind without end', () => `{"schema":"snapshot/1","kind":${deep(20_000)}}`, /^nested too/],
      ['a kind that is no text', () => ({ kind: { toString: 1 } }), /./],
      ['an origin of its own', () => ({ origin: { source: {}, origin: [], line: -1, run: 5 } }), /./],
    ],
  };

  test.each(Object.entries(poison))('each of the odd %s of a batch', async (stream, cases) => {
    const reasons = await send(stream as Stream, ...cases.map(([, message]) => message()));
    expect(reasons).toHaveLength(cases.length);
    for (const [what, , reason] of cases) {
      expect(reasons, what).toContainEqual(expect.stringMatching(reason));
    }
  });

  test('a line of a file whose kind is no text is one as well', async () => {
    const line = { schema: 'snapshot/1', chain: 'polkadot', kind: { toString: 1, valueOf: 1 }, payload: {} };
    const summary = await ingesting.take('kinds.ndjson', [line, block('kusama')]);
    expect(summary).toMatchObject({ lines: 2, blocks: 1 });
    await ingesting.pipeline.waitUntilLoaded();
    expect((await ingesting.letters('kinds.ndjson')).map(({ line }) => line)).toEqual([1]);
  });
});

describe('a block is loaded, and what cannot be read of it is refused as a fact', () => {
  const facts = async (number: number) =>
    rowsOf(
      ingesting,
      sql`SELECT fact, reason FROM ${refusedFacts} FINAL WHERE number = ${number} ORDER BY fact`,
    );

  test('an account of 32 bytes on a chain whose prefix is too large for SS58 is printed as hex', async () => {
    for (const account of [`0x${ALICE_KEY}`, ALICE]) {
      const rewarded = madeExtrinsic('a.b', { events: [madeEvent('staking.Rewarded', account, '5')] });
      expect(await send('blocks', block('mythos', rewarded))).toEqual([]);
    }
    expect(
      await rowsOf(
        ingesting,
        sql`SELECT prefix, address FROM ${addressEncodings} FINAL WHERE prefix = 29972`,
      ),
    ).toEqual([{ prefix: 29_972, address: `0x${ALICE_KEY}` }]);
    // It is encoded once, not with every load.
    const [all] = await rowsOf<{ n: number }>(ingesting, sql`SELECT count() AS n FROM ${addressEncodings}`);
    expect(all).toEqual({ n: 1 });
  });

  test('a height that is not that of the head counts as the block has it', async () => {
    expect(await send('blocks', marked({ number: '9'.repeat(18) }))).toEqual([]);
    expect(await heightsOf(ingesting, 'polkadot')).toContain(height - 1);
  });

  test('arguments without end inside a nested call are refused alone', async () => {
    const line = text(block('polkadot', wrapped(remark({ remark: 'DEEP' })))).replace('"DEEP"', deep(3000));
    const number = height;
    expect(await send('blocks', line)).toEqual([]);
    const told = await facts(number);
    expect(told.length === 0 || JSON.stringify(told).includes('nested too deeply')).toBe(true);
  });

  test('calls nested deeper than any runtime decodes are not opened', async () => {
    let call: object = remark();
    for (let depth = 0; depth < 300; depth++)
      call = { method: { pallet: 'utility', method: 'withWeight' }, args: { call } };
    const message = block('polkadot', wrapped(call));
    expect(await send('blocks', message)).toEqual([]);
    expect(await facts(height - 1)).toEqual([
      { fact: 'extrinsic 1', reason: 'calls nested deeper than 256' },
    ]);
  });

  test('names and addresses of a megabyte take no longer than their length', async () => {
    const long = (letter: string) => letter.repeat(2 ** 20);
    const message = block(
      'polkadot',
      madeExtrinsic(`a${long('_')}.${long('_')}`, {
        signature: { signer: long('z') },
        events: [madeEvent('balances.Deposit', long('z'), '5'), madeEvent(`b.${long('X')}`)],
      }),
      wrapped({ method: { pallet: `a${long('_')}`, method: `b${long('-')}` }, args: {} }),
    );
    const number = height;
    expect(await send('blocks', message)).toEqual([]);
    expect(await facts(number)).toEqual([
      { fact: 'event 1 balances.Deposit', reason: 'account: not an address' },
      { fact: 'extrinsic 1 signer', reason: 'not an address' },
    ]);
  });

  test('tens of thousands of wrappers in one block need no more memory than other calls', async () => {
    const batch = madeExtrinsic('utility.batch', { args: { calls: [{}] } });
    expect(await send('blocks', block('polkadot', ...Array.from({ length: 20_000 }, () => batch)))).toEqual(
      [],
    );
  });

  test('a block that needs more memory than the engine has is a dead letter, and nothing of it is stored', async () => {
    const long = Array.from({ length: 24 }, () => madeEvent('a.B', 'x'.repeat(2 ** 21)));
    const number = height + 1;
    expect(
      await send('blocks', block('astar', madeExtrinsic('a.b', { events: long })), block('astar')),
    ).toEqual([expect.stringMatching(/^the engine cannot load it \(MEMORY_LIMIT_EXCEEDED\)/)]);
    expect(await heightsOf(ingesting, 'astar')).toEqual([number + 1]);
  });

  test('what one view stored of a block while another failed is removed, also of attempts with others', async () => {
    const { store } = ingesting.pipeline.runtime;
    const stage = store.stage.bind(store);
    const staging = vi.spyOn(store, 'stage').mockImplementation(async (table, lines) => {
      const batch = await stage(table, lines);
      const commit = batch.commit.bind(batch);
      batch.commit = async (sequence) => {
        await commit(sequence);
        if (lines.flat().some((bytes) => bytes.includes('POISON')))
          throw new ProductError('store_exhausted', 'the engine cannot load it');
      };
      return batch;
    });
    const poison = block('astar', madeExtrinsic('system.remark', { args: { remark: 'POISON' } }));
    const stored = [...(await heightsOf(ingesting, 'astar')), height + 1, height + 2, height + 3];
    const others = stored.slice(-3).map(() => block('astar'));
    expect(await send('blocks', poison, ...others)).toEqual([
      expect.stringMatching(/^the engine cannot load it/),
    ]);
    staging.mockRestore();
    expect(await heightsOf(ingesting, 'astar')).toEqual(stored);
  });
});
