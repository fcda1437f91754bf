import { Readable } from 'node:stream';
import type { Config } from '../../infra/config.ts';
import { reasonOf } from '../../infra/errors.ts';
import { loadRegistry } from '../../ingest/chains/registry.ts';
import { follow } from '../../ingest/sources/follow.ts';
import { Sidecar } from '../../ingest/sources/sidecar.ts';
import { EXIT } from './failure.ts';
import { openOperator } from './open.ts';
import { number } from './words.ts';

export interface FollowCommandOptions {
  readonly url: string;
  readonly chain: string;
  readonly from?: number;
  readonly best?: boolean;
  readonly pollMs: number;
  readonly concurrency: number;
}

/** Takes in new blocks as they come, until it is stopped. */
export async function followCommand(options: FollowCommandOptions, config: Config): Promise<number> {
  const sidecar = await Sidecar.connect(options.url);
  const operator = await openOperator(config);
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  try {
    const name = loadRegistry(config.CHAINS_FILE).find(options.chain)?.name;
    const known = (await operator.status()).chains.find(({ chain }) => chain === name);
    const from = options.from ?? (known === undefined ? undefined : known.highest_block + 1);
    const looks = follow(sidecar, {
      best: options.best ?? false,
      pollMs: options.pollMs,
      concurrency: options.concurrency,
      signal: stop.signal,
      ...(from === undefined ? {} : { from }),
    });
    process.stderr.write(`following ${options.chain} at ${options.url}; Ctrl-C stops it\n`);
    for await (const lines of looks) {
      const source = { name: sidecar.url, bytes: Readable.from(lines), chain: options.chain };
      const report = await operator.ingest(source, () => undefined);
      process.stderr.write(`${new Date().toISOString()} ${number(report.blocks)} blocks\n`);
    }
    return EXIT.ok;
  } catch (error) {
    if (stop.signal.aborted) return EXIT.ok;
    process.stderr.write(`chain-metrics: stopped following: ${reasonOf(error)}\n`);
    throw error;
  } finally {
    await operator.close();
  }
}
