import { expect, test } from 'vitest';
import { sql } from '../../infra/sql.ts';
import { Random } from '../../ingest/demo/random.ts';
import { TOPICS } from '../../ingest/log/topics.ts';
import { blocks, refusedFacts } from '../../ingest/raw/tables.ts';
import { openIngesting, rowsOf } from './ingesting.ts';
import { madeBlock } from './made.ts';
import { oddBlock, oddSnapshot } from './odd-values.ts';

// `ODD_BLOCKS=200 ODD_SEED=7 npm test -- test/ingest/odd-values` sends as many to every chain.
const { ODD_BLOCKS = '3', ODD_SEED = '1' } = process.env;
const EACH = Number(ODD_BLOCKS);

test(
  `odd values in ${EACH} blocks and snapshots of every chain stop nothing: the block beside is stored, bad facts are refused, seed ${ODD_SEED}`,
  async () => {
    const ingesting = await openIngesting();
    const { runtime, registry } = ingesting.pipeline;
    const random = new Random(Number(ODD_SEED));
    const expected: string[] = [];
    const publish = (topic: string, documents: readonly object[]) =>
      runtime.log.publish(
        topic,
        documents.map((document) => ({ key: 'any', value: Buffer.from(JSON.stringify(document)) })),
      );
    for (let round = 0; round < EACH; round++) {
      const documents = registry.chains.flatMap(({ name: chain, relay_chain }) => {
        const number = 2 * round + 2;
        const { payload, refused } = oddBlock(number, random);
        expected.push(...refused.map((fact) => `${chain} ${number} ${fact}`));
        const envelope = { schema: 'block/1', relay_chain, chain };
        return [
          { ...envelope, payload },
          { ...envelope, payload: madeBlock(number + 1) },
        ];
      });
      await publish(TOPICS.blocks, documents);
      const snapshots = registry.chains.map(({ name: chain, relay_chain }, i) => ({
        ...oddSnapshot(round * 200 + i, random),
        chain,
        relay_chain,
      }));
      await publish(TOPICS.snapshots, snapshots);
    }
    const stored = await rowsOf<{ chain: string; odd: number; even: number }>(
      ingesting,
      sql`SELECT chain, countIf(number % 2 = 1) AS odd, countIf(number % 2 = 0) AS even FROM ${blocks} FINAL GROUP BY chain ORDER BY chain`,
    );
    const chains = registry.chains.map(({ name }) => name).sort();
    expect(stored.map(({ chain }) => chain)).toEqual(chains);
    expect(stored.filter(({ odd }) => odd !== EACH)).toEqual([]);
    // An odd block is stored as well, unless it is a dead letter.
    const letters = await ingesting.letters(TOPICS.blocks);
    const missing = stored.reduce((sum, { even }) => sum + EACH - even, 0);
    expect(letters.length).toBe(missing);
    for (const { reason } of await ingesting.letters()) expect(reason).toMatch(/\S/);
    const told = await rowsOf<{ fact: string; reason: string }>(
      ingesting,
      sql`SELECT concat(chain, ' ', toString(number), ' ', fact) AS fact, reason FROM ${refusedFacts} FINAL`,
    );
    const facts = new Set(told.map(({ fact }) => fact));
    const isStored = new Map(stored.map(({ chain, even }) => [chain, even === EACH]));
    const unsaid = expected.filter((fact) => isStored.get(fact.split(' ')[0] as string) && !facts.has(fact));
    expect(unsaid).toEqual([]);
    for (const { reason } of told) expect(reason).toMatch(/\S/);
    await ingesting.close();
  },
  Math.max(120_000, EACH * 10_000),
);
