import type { Metric } from '../../../../aggregate/metric.ts';
import { sql } from '../../../../infra/sql.ts';
import { encodeAddress } from '../../../../ingest/chains/address.ts';
import { refusedFacts } from '../../../../ingest/raw/tables.ts';
import type { InputLine } from '../../../reference/input.ts';
import {
  type ShapedBlock,
  type ShapedEvent,
  type ShapedExtrinsic,
  shapeBlock,
  shapeCall,
} from '../../../reference/shaped.ts';
import { ingestAndCompute, openTestPipeline } from '../../../support/pipeline.ts';
import { type Row, servedRows } from '../../../support/served.ts';

const key = (digit: string) => `0x${digit.repeat(64)}`;
/** Accounts whose keys repeat one digit, with the prefix of Polkadot. */
export const ACCOUNTS = [...'abcdef'].map((digit) => encodeAddress(key(digit), 0));
export const [ALICE, BOB, CHARLIE, DAVE, EVE, FRED] = ACCOUNTS as [
  string,
  string,
  string,
  string,
  string,
  string,
];

/** Height and time of a block. */
export interface Written {
  readonly number: number;
  readonly time: string;
}

/** A chain that writes blocks, each a child of the one before. */
export class Writer {
  readonly lines: InputLine[] = [];
  readonly #chain: string;
  #height: number;

  constructor(chain: string, height = 2) {
    this.#chain = chain;
    this.#height = height;
  }

  block(time: string, block: Omit<ShapedBlock, 'number' | 'time'> = {}): Written {
    const number = this.#height++;
    const shaped = shapeBlock({ number, time, ...block }, this.#chain);
    this.lines.push({ line: JSON.stringify(shaped), chain: this.#chain });
    return { number, time };
  }

  extrinsics(time: string, ...extrinsics: ShapedExtrinsic[]): Written {
    return this.block(time, { extrinsics });
  }

  /** Events outside of extrinsics. */
  opening(time: string, ...opening: ShapedEvent[]): Written {
    return this.block(time, { opening });
  }
}

export function snapshotLine(kind: string, as_of: string, payload: object, chain = 'polkadot'): InputLine {
  const head = { schema: 'snapshot/1', kind, relay_chain: 'polkadot', chain, block_number: 1, as_of };
  return { line: JSON.stringify({ ...head, payload }) };
}

export function standard(aye: boolean, conviction: number, balance: unknown): object {
  const byte = (aye ? 0x80 : 0) + conviction;
  return { standard: { vote: `0x${byte.toString(16).padStart(2, '0')}`, balance } };
}

export function vote(
  signer: unknown,
  poll_index: number,
  of: object,
  events: ShapedEvent[] = [],
): ShapedExtrinsic {
  return {
    call: 'convictionVoting.vote',
    args: { poll_index: String(poll_index), vote: of },
    signer,
    events,
  };
}

export function removeVote(signer: string, index: number): ShapedExtrinsic {
  return { call: 'convictionVoting.removeVote', args: { class: null, index: String(index) }, signer };
}

export function delegate(
  signer: string,
  track: number,
  to: string,
  conviction: unknown,
  balance: unknown,
): ShapedExtrinsic {
  return {
    call: 'convictionVoting.delegate',
    args: { class: String(track), to: { id: to }, conviction, balance },
    signer,
    events: [['convictionVoting.Delegated', signer, to]],
  };
}

export function undelegate(signer: string, track: number): ShapedExtrinsic {
  return { call: 'convictionVoting.undelegate', args: { class: String(track) }, signer };
}

/** All calls of a batch ran. */
export function batch(signer: string, calls: object[], events: ShapedEvent[]): ShapedExtrinsic {
  return {
    call: 'utility.batchAll',
    args: { calls },
    signer,
    events: [...events, ['utility.BatchCompleted']],
  };
}

export const nestedVote = (poll_index: number, of: object) =>
  shapeCall('convictionVoting.vote', { poll_index: String(poll_index), vote: of });

export const PROPOSAL = { inline: '0x0000' };
export const submitted = (index: number, track: number): ShapedEvent => [
  'referenda.Submitted',
  String(index),
  String(track),
  PROPOSAL,
];
export const tally = (ayes: string, nays: string, support: string) => ({ ayes, nays, support });
export const confirmed = (index: number): ShapedEvent => [
  'referenda.Confirmed',
  String(index),
  tally('1', '0', '1'),
];

export interface ComputedRows {
  readonly rows: readonly (readonly Row[])[];
  /** Refused facts, as `chain height`. */
  readonly refused: readonly string[];
}

/** The rows of metrics after all lines are loaded and computed. */
export async function computeRows(
  lines: readonly InputLine[],
  metrics: readonly Metric[],
): Promise<ComputedRows> {
  const opened = await openTestPipeline();
  try {
    await ingestAndCompute(opened.pipeline, lines);
    const rows = await Promise.all(metrics.map((metric) => servedRows(opened.pipeline, { metric })));
    const refused = await opened.pipeline.runtime.store.rows<{ at: string }>(
      sql`SELECT concat(chain, ' ', toString(number)) AS at FROM ${refusedFacts} FINAL ORDER BY chain, number`,
    );
    return { rows, refused: refused.map(({ at }) => at) };
  } finally {
    await opened.close();
  }
}

/** Some columns of rows, as lists in the order of the names. */
export const columns = (rows: readonly Row[], ...names: string[]): unknown[][] =>
  rows.map((row) => names.map((name) => row[name]));
