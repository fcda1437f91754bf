import { Readable } from 'node:stream';
import type { Config } from '../../infra/config.ts';
import { reasonOf } from '../../infra/errors.ts';
import type { Chain } from '../../ingest/chains/registry.ts';
import { Collector } from '../../ingest/sources/collect.ts';
import { follow } from '../../ingest/sources/follow.ts';
import { EXIT } from './failure.ts';
import { openOperator } from './open.ts';
import type { Operator } from './operator.ts';
import { openSource, type SourceOptions } from './source.ts';
import { stopOnSignal } from './stop.ts';
import { plural } from './words.ts';

export interface FollowCommandOptions extends SourceOptions {
  readonly from?: number;
  readonly best?: boolean;
  readonly pollMs: number;
  readonly concurrency: number;
  /** Also the chain's state, once a day. */
  readonly snapshots?: boolean;
  readonly treasury?: readonly string[];
}

/** Few, since whoever follows asks again anyway. */
const ATTEMPTS = 3;

/** Takes in new blocks as they come, until it is stopped. */
export async function followCommand(options: FollowCommandOptions, config: Config): Promise<number> {
  const stop = stopOnSignal();
  const { sidecar, chain, registry } = await openSource(options, config, {
    signal: stop,
    attempts: ATTEMPTS,
  });
  const operator = await openOperator(config);
  try {
    const from = options.from ?? (await nextHeight(operator, chain));
    const subject = { chain, registry, treasury: options.treasury ?? [] };
    const collector = new Collector(sidecar, {
      ...subject,
      onUngiven: (kind, reason) => say(`no ${kind} snapshots from this source: ${reason}`),
    });
    const looks = follow(sidecar, {
      chain,
      best: options.best ?? false,
      pollMs: options.pollMs,
      concurrency: options.concurrency,
      signal: stop,
      onAway: (reason) => say(reason === null ? 'the source is back' : `${reason}; asking until it is back`),
      ...(from === undefined ? {} : { from }),
      ...(options.snapshots ? { beside: (height) => collector.collect(height) } : {}),
    });
    say(`following ${chain.name} at ${options.url}${from === undefined ? '' : ` from ${from}`}`);
    for await (const lines of looks) {
      const source = { name: sidecar.url, bytes: Readable.from(lines), chain: chain.name };
      const report = await operator.ingest(source, () => undefined);
      const refused = report.refused_lines + report.refused_facts;
      const taken = [
        ...(report.blocks > 0 ? [plural(report.blocks, 'block')] : []),
        ...(report.snapshots > 0 ? [plural(report.snapshots, 'snapshot')] : []),
        ...(refused > 0 ? [`${refused} refused`] : []),
      ];
      say(taken.join(', '));
    }
    say('stopped');
    return EXIT.ok;
  } catch (error) {
    say(`stopped following: ${reasonOf(error)}`);
    throw error;
  } finally {
    await operator.close();
  }
}

const SPAN = 10_000;

/** The height after the highest final one: what was taken before it was final is taken again. */
async function nextHeight(operator: Operator, { relay_chain, name }: Chain): Promise<number | undefined> {
  const { chains } = await operator.status();
  const known = chains.find((stored) => stored.relay_chain === relay_chain && stored.chain === name);
  if (known === undefined) return undefined;
  let next = known.highest_block + 1;
  for (let isOpen = true; isOpen && next > 0; ) {
    const from = Math.max(0, next - SPAN);
    const missing = await operator.missing({ chain: name, from, to: next - 1 });
    const top = missing.find(({ to }) => to === next - 1);
    isOpen = top?.from === from;
    next = top?.from ?? next;
  }
  return next;
}

function say(text: string): void {
  process.stderr.write(`${new Date().toISOString()} ${text}\n`);
}
