import type { InputLine } from '../input.ts';
import { type ShapedBlock, type ShapedEvent, type ShapedExtrinsic, shapeBlock } from '../shaped.ts';

export type Row = Readonly<Record<string, unknown>>;

/** A small input and the rows that a rule gives to it, worked out by hand. */
export type Sibling = {
  readonly title: string;
  /** The path and query of a request. */
  readonly path: string;
  /** The fields by which its rows are found. */
  readonly of: Row;
  /** What the rows hold, in their order. */
  readonly rows: readonly Row[];
};

export const ALICE = '15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5';
export const BOB = '14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3';
export const CHARLIE = '14Gjs1TD93gnwEBfDMHoCgsuf1s2TVKUP6Z1qKmAZnZ8cW5q';
export const DAVE = '126TwBzBM4jUEK2gTphmW4oLoBWWnYvPp8hygmduTr4uds57';

const DAY_MS = 86_400_000;

/** Blocks of one chain, a day apart unless they are of one day, and what is to be known of them. */
export class Rule {
  readonly lines: InputLine[] = [];
  readonly siblings: Sibling[] = [];
  readonly chain: string;
  /** Reasons of the lines that are refused. */
  readonly refused: string[] = [];
  #number: number;
  #time: number;

  /** Rules of one chain begin at heights and days that are far apart. */
  constructor(chain: string, first: { number: number; day: string }) {
    this.chain = chain;
    this.#number = first.number;
    this.#time = Date.parse(`${first.day}T12:00:00Z`);
  }

  get date(): string {
    return new Date(this.#time).toISOString().slice(0, 10);
  }

  get time(): string {
    return new Date(this.#time).toISOString();
  }

  get number(): number {
    return this.#number;
  }

  /** The next block, a day later. */
  block(block: Omit<ShapedBlock, 'number' | 'time'>): this {
    this.#time += DAY_MS;
    return this.sameDay(block);
  }

  /** The next block, of the same day. */
  sameDay(block: Omit<ShapedBlock, 'number' | 'time'>): this {
    this.#number++;
    this.#time += 6000;
    return this.version(block);
  }

  /** Another block of the same height. */
  version(block: Omit<ShapedBlock, 'number' | 'time'>): this {
    const shaped = shapeBlock({ number: this.#number, time: this.time, ...block }, this.chain);
    this.lines.push({ line: JSON.stringify(shaped), chain: this.chain });
    return this;
  }

  extrinsics(...extrinsics: ShapedExtrinsic[]): this {
    return this.block({ extrinsics });
  }

  opening(...opening: ShapedEvent[]): this {
    return this.block({ opening });
  }

  snapshot(kind: string, payload: object, as_of = this.time): this {
    const relay_chain = this.chain.includes('kusama') ? 'kusama' : 'polkadot';
    const head = { schema: 'snapshot/1', kind, relay_chain, chain: this.chain, block_number: 1 };
    this.lines.push({ line: JSON.stringify({ ...head, as_of, payload }) });
    return this;
  }

  /** The row of this day. */
  day(title: string, path: string, row: Row): this {
    return this.rows(title, path, { chain: this.chain, date: this.date }, [row]);
  }

  rows(title: string, path: string, of: Row, rows: readonly Row[]): this {
    this.siblings.push({ title, path, of, rows });
    return this;
  }

  /** The last line is refused whole. */
  refuses(reason: string): this {
    this.refused.push(reason);
    return this;
  }
}

export const feePaid = (fee: unknown, ...more: readonly unknown[]): ShapedEvent => [
  'transactionPayment.TransactionFeePaid',
  ALICE,
  fee,
  ...(more.length === 0 ? ['0'] : more),
];

/** A signed remark. */
export const remark = (fields: Partial<ShapedExtrinsic> = {}): ShapedExtrinsic => ({
  call: 'system.remark',
  args: { remark: '0x' },
  signer: { id: ALICE },
  ...fields,
});

/** A transaction of format 5: no signature, but a nonce. */
export const general = (fields: Partial<ShapedExtrinsic> = {}): ShapedExtrinsic => ({
  call: 'system.remark',
  args: { remark: '0x' },
  nonce: '7',
  tip: '0',
  paysFee: true,
  ...fields,
});

export const SUMMARY = 'daily-summary?start_date=2000-01-01&end_date=2100-01-01';
