import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { RawBlock } from '../../../../ingest/node/decode/block.ts';
import { extrinsicsRoot, headerHash } from '../../../../ingest/node/decode/check.ts';
import type { NodeRuntime } from '../../../../ingest/node/decode/runtime.ts';
import { ROOT } from '../../../support/source-files.ts';

/** Chains of which a node's answers are recorded beside what Sidecar answered for the same blocks. */
export const CHAINS = ['paseo', 'coretime-westend', 'asset-hub-paseo'] as const;
export type RecordedChain = (typeof CHAINS)[number];

interface Answer {
  readonly method: string;
  readonly params: readonly unknown[];
  // biome-ignore lint/suspicious/noExplicitAny: answers of all methods
  readonly result: any;
}

/** The fee in an answer of `TransactionPaymentApi_query_info`: a little-endian u128 at its end. */
function partialFeeOf(answer: string): string {
  const bytes = Buffer.from(answer.slice(2), 'hex').subarray(-16);
  return BigInt(`0x${bytes.reverse().toString('hex')}`).toString();
}

export const VALIDATORS = '0xcec5070d609dd3497f72bde07fc96ba088dcde934c658227ee1dfafcd6e16903';
export const EVENTS = '0x26aa394eea5630e07c48ae0c9558cef780d41e5e16056765bc8461851072c9d7';

function linesOf(chain: RecordedChain, name: string): string[] {
  const path = join(ROOT, 'test/fixtures/node', chain, name);
  return gunzipSync(readFileSync(path)).toString().trimEnd().split('\n');
}

/** Sidecar's answers in the order of their heights. */
export const sidecarLines = (chain: RecordedChain): string[] => linesOf(chain, 'sidecar.ndjson.gz');

/** What the node answered to each question. */
export class Recording {
  readonly #answers: ReadonlyMap<string, unknown>;

  constructor(chain: RecordedChain) {
    const answers = linesOf(chain, 'rpc.ndjson.gz').map((line): Answer => JSON.parse(line));
    this.#answers = new Map(
      answers.map(({ method, params, result }) => [questionOf(method, params), result]),
    );
  }

  // biome-ignore lint/suspicious/noExplicitAny: answers of all methods
  answer(method: string, ...params: unknown[]): any {
    const result = this.#answers.get(questionOf(method, params));
    if (result === undefined) throw new Error(`not recorded: ${questionOf(method, params)}`);
    return result;
  }

  /** Metadata as `state_getMetadata` answered it. */
  metadata(): Buffer {
    const [key] = [...this.#answers.keys()].filter((question) => question.startsWith('state_getMetadata '));
    return Buffer.from(String(this.#answers.get(key ?? '')).slice(2), 'hex');
  }

  /** Metadata of the newest version that the runtime offered. */
  newestMetadata(): Buffer {
    const wrapped = [...this.#answers].filter(([question]) =>
      question.includes('Metadata_metadata_at_version'),
    );
    const hex = String(wrapped.at(-1)?.[1]);
    return Buffer.from(hex.slice(hex.indexOf('6d657461')), 'hex');
  }

  block(number: number): RawBlock {
    const hash: string = this.answer('chain_getBlockHash', number);
    const { header, extrinsics } = this.answer('chain_getBlock', hash).block;
    return {
      hash,
      header,
      extrinsics,
      events: this.answer('state_getStorage', EVENTS, hash),
      validators: this.answer('state_getStorage', VALIDATORS, hash),
      finalized: true,
      fees: this.#fees(header.parentHash, extrinsics),
    };
  }

  #fees(parentHash: string, extrinsics: readonly string[]): Map<number, string> {
    const fees = new Map<number, string>();
    for (const [index, extrinsic] of extrinsics.entries()) {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(extrinsic.length / 2 - 1);
      const question = questionOf('state_call', [
        'TransactionPaymentApi_query_info',
        `${extrinsic}${length.toString('hex')}`,
        parentHash,
      ]);
      const answer = this.#answers.get(question);
      if (typeof answer === 'string') fees.set(index, partialFeeOf(answer));
    }
    return fees;
  }
}

/**
 * The recorded blocks, by their old hashes, as a chain of true headers: the tool that made them writes the hash of all
 * extrinsics one after another where a chain has the root of a trie.
 */
export function trueBlocks(runtime: NodeRuntime, blocks: readonly RawBlock[]): Map<string, RawBlock> {
  const made = new Map<string, RawBlock>();
  for (const block of blocks) {
    const header = {
      ...block.header,
      parentHash: made.get(block.header.parentHash)?.hash ?? block.header.parentHash,
      extrinsicsRoot: extrinsicsRoot(runtime, block.extrinsics),
    };
    made.set(block.hash, { ...block, header, hash: headerHash(header) });
  }
  return made;
}

const questionOf = (method: string, params: readonly unknown[]) => `${method} ${JSON.stringify(params)}`;
