/** Deletes the raw rows of a data directory that are older than a day, and says each statement before it runs it. */
import { setTimeout as pause } from 'node:timers/promises';
import { RawRetention } from '../../aggregate/retention/raw-retention.ts';
import { DAY_MS } from '../../infra/days.ts';
import { readRetention } from '../../ingest/raw/retention.ts';
import { openPipelineAt } from '../support/pipeline.ts';

const [directory = '', before = ''] = process.argv.slice(2);
/** Nothing may have been loaded for a while. */
const now = Date.now() + 2 * DAY_MS;

const say = (word: string) => process.stdout.write(`${word}\n`);

say('opening');
const { runtime } = await openPipelineAt(directory);
const { store } = runtime;
const { run } = store;
store.run = (statement) => {
  const text = typeof statement === 'string' ? statement : statement.text;
  say(text.split(' ', 3).join(' '));
  return run.call(store, statement);
};
const retention = new RawRetention({
  runtime: { ...runtime, clock: { now: () => now } },
  days: (now - Date.parse(before)) / DAY_MS,
  leaseMs: 60_000,
  logger: { info: () => undefined, warn: () => undefined },
  stageMs: 0,
});
const month = `${before.slice(0, 7)}-01`;
while ((await readRetention(store)).deleted.before < month) await retention.next();
say('done');
// It is killed, as it is at any other moment.
await pause(DAY_MS);
