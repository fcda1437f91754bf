import { describe, expect, test } from 'vitest';
import { fetchHeights } from '../../../ingest/backfill/fetch-heights.ts';
import { NodeSource } from '../../../ingest/node/node-source.ts';
import { CHAINS, Recording, sidecarLines } from './decode/recorded.ts';
import { NodeReplay } from './replay.ts';
import { ReplayError, type ReplayedChain } from './replayed-chain.ts';
import { LIMITS } from './replaying.ts';

/** Answers as they were recorded. Runtime version and metadata are the same at every block. */
class VerbatimNode {
  readonly #recording: Recording;
  readonly #genesis: string;
  readonly #last: string;

  constructor(recording: Recording, last: number) {
    this.#recording = recording;
    this.#genesis = recording.answer('chain_getBlockHash', 0);
    this.#last = recording.answer('chain_getBlockHash', last);
  }

  answer(method: string, [first, second, ...others]: readonly unknown[]): unknown {
    const recorded = (...params: unknown[]) => this.#recording.answer(method, ...params);
    switch (method) {
      case 'chain_getFinalizedHead':
        return this.#last;
      case 'chain_getBlockHash':
        return Array.isArray(first) ? first.map((height) => recorded(height)) : recorded(first ?? 0);
      case 'state_getRuntimeVersion':
        return recorded(this.#last);
      case 'state_getMetadata':
        return `0x${this.#recording.metadata().toString('hex')}`;
      case 'state_call':
        if (String(first).startsWith('Metadata_')) throw new ReplayError(-32601, 'Method not found');
        return recorded(first, second, ...others);
      default:
        return recorded(first, ...(second === undefined ? [] : [second]));
    }
  }

  get genesis(): string {
    return this.#genesis;
  }
}

describe.each(CHAINS)('the recorded node of %s', (name) => {
  test('gives every block that Sidecar gave, as a node for tests that hashes its extrinsics at once', async () => {
    const lines = sidecarLines(name);
    const numbers = lines.map((line) => Number(JSON.parse(line).number));
    const [from, to] = [numbers[0] as number, numbers.at(-1) as number];
    const chain = new VerbatimNode(new Recording(name), to);
    await using node = await new NodeReplay(chain as unknown as ReplayedChain).listen();
    const source = await NodeSource.connect(node.url(), LIMITS);
    expect(await source.genesis()).toEqual({ hash: chain.genesis });
    const served: string[] = [];
    for await (const height of fetchHeights(source, [{ from, to }], 8)) {
      expect(height.reason).toBeUndefined();
      if ('line' in height) served.push(height.line.toString());
    }
    expect(served).toEqual(lines);
  });
});
