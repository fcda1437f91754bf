/** Loads lines into a data directory and computes them, and ends by force when it comes to a moment. */
import { readFileSync } from 'node:fs';
import type { InputLine } from '../reference/input.ts';
import { ingestLines, openPipelineAt } from '../support/pipeline.ts';

const [directory = '', linesFile = '', moment = ''] = process.argv.slice(2);
const lines = JSON.parse(readFileSync(linesFile, 'utf8')) as InputLine[];

const pipeline = await openPipelineAt(directory);
await pipeline.aggregator.waitUntilComputed();

/** Ends the process when it begins to write to the table of this name. */
function endBefore(table: string): void {
  const { store } = pipeline.runtime;
  const { run, insert, insertLines } = store;
  const check = (isIt: boolean) => {
    if (isIt) process.kill(process.pid, 'SIGKILL');
  };
  store.run = (statement) => {
    const text = typeof statement === 'string' ? statement : statement.text;
    check(text.startsWith(`INSERT INTO chain_metrics.${table} `));
    return run.call(store, statement);
  };
  store.insert = (into, rows) => {
    check(into.name === table);
    return insert.call(store, into, rows);
  };
  store.insertLines = (into, ...rest) => {
    check(into.name === table);
    return insertLines.call(store, into, ...rest);
  };
}

await pipeline.aggregator.pauseComputation(async () => {
  await ingestLines(pipeline, lines);
  if (moment === 'loaded') process.kill(process.pid, 'SIGKILL');
  if (moment !== '') endBefore(moment);
});
await pipeline.aggregator.waitUntilComputed();
await pipeline.close();
