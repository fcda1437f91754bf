import { z } from 'zod';
import { reasonOf } from '../../../infra/errors.ts';
import { type Finding, failed, fine, warning } from '../../../infra/finding.ts';
import { formatNumber, plural } from '../../../infra/format.ts';
import { fetchHeights } from '../../../ingest/backfill/fetch-heights.ts';
import type { Registry } from '../../../ingest/chains/registry.ts';
import { timeOf } from '../../../ingest/decode/block-time.ts';
import { blockHash, hex, parseResult } from '../../../ingest/node/answers.ts';
import { ArchiveRpc } from '../../../ingest/node/archive-rpc.ts';
import { LEGACY_METHODS, listedMethods } from '../../../ingest/node/node-methods.ts';
import { NodeSource } from '../../../ingest/node/node-source.ts';
import type { RpcAnswer } from '../../../ingest/node/rpc.ts';
import { NodeRefusal } from '../../../ingest/node/rpc-errors.ts';

const TRIED_BLOCKS = 256;
/** Every supported chain finalizes a block within this time. */
const LATE_SECONDS = 120;
const UNKNOWN = 'add it with CHAINS_FILE, or name its chain with --chain and --force';
const OLDEST_METADATA = 14;

/** Checks the chain of a node, its methods, its head, the age of its oldest state, and its speed. */
export async function checkNode(address: string, registry: Registry): Promise<Finding[]> {
  let node: NodeSource;
  try {
    node = await NodeSource.connect(address);
  } catch (error) {
    return [failed('node', reasonOf(error), 'start the node or correct the URL; a Sidecar is not a node')];
  }
  const examination = new NodeExamination(node);
  const parts = [
    () => examination.chain(registry),
    () => examination.methods(),
    () => examination.head(),
    () => examination.state(),
    () => examination.speed(),
  ];
  const findings: Finding[] = [];
  for (const part of parts) {
    try {
      findings.push(await part());
    } catch (error) {
      findings.push(failed('node', reasonOf(error), 'read the log of the node'));
    }
  }
  return findings;
}

class NodeExamination {
  readonly #node: NodeSource;

  constructor(node: NodeSource) {
    this.#node = node;
  }

  async chain({ chains }: Registry): Promise<Finding> {
    const name = await this.#askIfServed(z.string(), 'system_name');
    const version = await this.#askIfServed(z.string(), 'system_version');
    const program = [name, version].filter((text) => text !== null).join(' ');
    const { hash } = await this.#node.genesis();
    const chain = chains.find(({ genesis }) => genesis === hash);
    const { specName } = this.#node;
    if (chain) return fine('chain', `${chain.name}, runtime ${specName}${program && `; ${program}`}`);
    return warning('chain', `runtime ${specName}; no known chain begins with the block ${hash}`, UNKNOWN);
  }

  async methods(): Promise<Finding> {
    const methods = await listedMethods(this.#node.rpc);
    if (methods === null)
      return warning(
        'methods',
        'the node does not list its methods',
        'nothing to do if the checks below succeed',
      );
    const missing = LEGACY_METHODS.filter((method) => !methods.has(method));
    const isNewer = this.#node.rpc instanceof ArchiveRpc;
    if (missing.length > 0 && !isNewer)
      return failed(
        'methods',
        `the node lacks ${missing.join(', ')}`,
        'use a node that serves these methods',
      );
    const offers = (group: string) => [...methods].some((method) => method.startsWith(group));
    const newer = ['archive_v1_', 'chainHead_v1_'].filter(offers).join(', ');
    if (isNewer) return fine('methods', `${newer} (used)`);
    return fine('methods', `chain_ and state_ (used)${newer && `, ${newer}`}`);
  }

  async head(): Promise<Finding> {
    const finalized = await this.#node.head();
    const best = await this.#node.head('best');
    const time = timeOf(await this.#node.block(finalized.hash));
    const seconds = time === null ? null : Math.round((Date.now() - time) / 1000);
    const age = seconds === null ? '' : `, ${formatNumber(Math.max(0, seconds))} s old`;
    const text = `finalized ${formatNumber(finalized.number)}${age}; best ${plural(best.number - finalized.number, 'block')} above it`;
    if (seconds === null || seconds <= LATE_SECONDS) return fine('head', text);
    return warning('head', text, 'wait until the node has synchronized, or check its peers');
  }

  /** The events of a block are part of its state. */
  async state(): Promise<Finding> {
    const { number: head } = await this.#node.head();
    if (await this.#hasState(1))
      return fine('state', `of every block from 1 on: an archive node${await this.#oldMetadata()}`);
    let [low, high] = [1, head];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (await this.#hasState(middle)) high = middle;
      else low = middle;
    }
    const text = `of the last ${plural(head - high + 1, 'block')}, from ${formatNumber(high)} on`;
    return warning(
      'state',
      text,
      'the node can be followed; for older blocks use an archive node (--state-pruning archive) or an archive of blocks',
    );
  }

  async speed(): Promise<Finding> {
    const { number: to } = await this.#node.head();
    const from = Math.max(1, to - TRIED_BLOCKS + 1);
    const began = performance.now();
    let [blocks, bytes] = [0, 0];
    const reasons: string[] = [];
    for await (const height of fetchHeights(this.#node, [{ from, to }], TRIED_BLOCKS)) {
      if ('line' in height && height.reason === undefined) {
        blocks++;
        bytes += height.line.length;
      } else reasons.push(`${height.number}: ${height.reason}`);
    }
    const perSecond = Math.round(blocks / ((performance.now() - began) / 1000));
    const text = `${formatNumber(perSecond)} blocks/s of ${formatNumber(Math.round(bytes / Math.max(1, blocks) / 1000))} kB, checked and decoded`;
    if (reasons.length === 0)
      return fine('speed', `${text}; the last ${plural(blocks, 'block')} are complete`);
    return warning(
      'speed',
      `${text}; ${plural(reasons.length, 'block')} failed: ${reasons[0]}`,
      'pass a second node for these blocks',
    );
  }

  async #hasState(height: number): Promise<boolean> {
    const hash = await this.#ask(blockHash, 'chain_getBlockHash', height);
    return (await this.#askIfServed(z.unknown(), 'state_getRuntimeVersion', hash)) !== null;
  }

  /** A note for nodes whose first runtimes have metadata that cannot be decoded. */
  async #oldMetadata(): Promise<string> {
    const first = await this.#ask(blockHash, 'chain_getBlockHash', 1);
    const metadata = await this.#ask(hex, 'state_getMetadata', first);
    const version = Number.parseInt(metadata.slice(10, 12), 16);
    return version < OLDEST_METADATA
      ? `; its first blocks have metadata V${version}, and a Sidecar or an archive of blocks is needed up to V${OLDEST_METADATA}`
      : '';
  }

  async #ask<T>(schema: z.ZodType<T>, method: string, ...params: unknown[]): Promise<T> {
    const [answer] = await this.#node.rpc.batch([{ method, params }]);
    return parseResult(schema, answer as RpcAnswer, this.#node.rpc.host);
  }

  /** Null if the node answers with an error. */
  async #askIfServed<T>(schema: z.ZodType<T>, method: string, ...params: unknown[]): Promise<T | null> {
    try {
      return await this.#ask(schema, method, ...params);
    } catch (error) {
      if (error instanceof NodeRefusal) return null;
      throw error;
    }
  }
}
