import type { Random } from '../../ingest/demo/random.ts';
import { TOPICS } from '../../ingest/log/topics.ts';
import type { Pipeline } from '../../serve/application/compose/compose.ts';

const OWN_HEAD = {
  relay_chain: 'kusama',
  chain: 'atlantis',
  number: '1',
  source: 's',
  origin: 'o',
  line: -1,
};
const DEEP = '['.repeat(20_000) + ']'.repeat(20_000);

/** A message of each kind that cannot be loaded, for either stream. */
const POISON: readonly string[] = [
  '',
  'garbage',
  'null',
  '[]',
  '{}',
  '{"schema":"block/9"}',
  '{"schema":"block/1","chain":"atlantis","payload":{}}',
  '{"schema":"block/1","chain":"polkadot","payload":{"number":"1"}}',
  `{"schema":${DEEP}}`,
  '{"schema":"snapshot/1","chain":"polkadot","kind":{"toString":1},"origin":{"line":-1,"origin":{}}}',
  `{"schema":"snapshot/1","kind":${DEEP}}`,
  '{"payload_last":true,"schema":"block/1","payload":{',
  `{"payload_last":true,${JSON.stringify(OWN_HEAD).slice(1, -1)},"payload":{"number":"1"}}`,
  `{"payload_last":true,${JSON.stringify({ ...OWN_HEAD, chain: 'kusama', line: 1 }).slice(1, -1)},"payload":{"number":"one","hash":5}}`,
  // Compressed it is short.
  '0'.repeat(12 * 2 ** 20),
];

/** Messages of every kind, each behind one key or another, so that blocks stand before and behind them. */
export async function poison({ runtime: { log } }: Pipeline, random: Random): Promise<void> {
  for (const topic of Object.values(TOPICS)) {
    const messages = random
      .shuffled(POISON)
      .map((value) => ({ key: String(random.whole(1, 100)), value: Buffer.from(value) }));
    await log.publish(topic, messages);
  }
}
