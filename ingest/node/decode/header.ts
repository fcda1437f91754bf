import { bytesOf, Cursor, Undecodable } from './cursor.ts';
import type { NodeRuntime } from './runtime.ts';

/** A header as a node's JSON has it. */
export interface NodeHeader {
  readonly parentHash: string;
  readonly number: string;
  readonly stateRoot: string;
  readonly extrinsicsRoot: string;
  readonly digest: { readonly logs: readonly string[] };
}

type LogReader = (cursor: Cursor, runtime: NodeRuntime) => string;

const engineAndData: LogReader = (cursor) => `[${cursor.hex(4)},${cursor.hex(cursor.length())}]`;

/** Kinds of logs by their index. Runtimes no longer write 1, 2, 3 and 7. */
const LOGS: readonly (readonly [type: string, read: LogReader])[] = [
  ['Other', (cursor) => cursor.hex(cursor.length())],
  ['AuthoritiesChange', authorities],
  ['ChangesTrieRoot', (cursor) => cursor.hex(32)],
  ['SealV0', (cursor) => `[${cursor.unsigned(8)},${cursor.hex(64)}]`],
  ['Consensus', engineAndData],
  ['Seal', engineAndData],
  ['PreRuntime', engineAndData],
  ['ChangesTrieSignal', changesTrieSignal],
  ['RuntimeEnvironmentUpdated', () => 'null'],
];

export function logText(runtime: NodeRuntime, log: string): string {
  const cursor = new Cursor(bytesOf(log));
  const index = cursor.byte();
  const [type, read] = LOGS[index] ?? [];
  if (read === undefined) throw new Undecodable(`a log of kind ${index}`);
  const value = cursor.whole((at) => read(at, runtime));
  return `{"type":"${type}","index":"${index}","value":${value}}`;
}

function authorities(cursor: Cursor, { types }: NodeRuntime): string {
  const accounts = Array.from({ length: Math.min(cursor.length(), cursor.end) }, () =>
    types.accounts.account32(cursor),
  );
  return `[${accounts.join(',')}]`;
}

function changesTrieSignal(cursor: Cursor): string {
  if (cursor.byte() !== 0) throw new Undecodable('an unknown signal');
  if (cursor.byte() === 0) return '{"newConfiguration":null}';
  return `{"newConfiguration":{"digestInterval":${cursor.unsigned(4)},"digestLevels":${cursor.unsigned(4)}}}`;
}

const PRE_RUNTIME = 6;
/** Hex digits that hold any count, after `0x`. */
const COUNT_DIGITS = 10;

/** Who made the block, as JSON; undefined if the logs do not tell, or name a place beyond the validators. */
export function authorText(runtime: NodeRuntime, logs: readonly string[], validators: string | null) {
  for (const log of logs) {
    const cursor = new Cursor(bytesOf(log));
    if (cursor.byte() !== PRE_RUNTIME) continue;
    const engine = cursor.bytes.toString('latin1', cursor.advance(4), cursor.at);
    const data = cursor.part(cursor.length());
    if (engine === 'nmbs' || engine === 'pow_') return accountText(runtime, data);
    if (engine !== 'BABE' && engine !== 'aura') continue;
    if (validators === null) return undefined;
    // BABE has the place of the author behind the kind of claim, aura the slot, in which validators take turns.
    if (engine === 'aura') return validatorText(runtime, validators, data.unsigned(8));
    data.advance(1);
    return validatorText(runtime, validators, data.u32());
  }
  return undefined;
}

/** The data of such a log may be a longer key, of which Sidecar takes the beginning, or be no account at all. */
function accountText({ extrinsics }: NodeRuntime, data: Cursor): string | undefined {
  try {
    return extrinsics.readAccount(data);
  } catch (error) {
    if (error instanceof Undecodable) return undefined;
    throw error;
  }
}

/** One of the validators, of whom a relay chain has hundreds: the others are not read. */
function validatorText(runtime: NodeRuntime, validators: string, turn: number | string): string | undefined {
  const list = new Cursor(bytesOf(validators.slice(0, 2 + COUNT_DIGITS)));
  const count = list.length();
  const place = typeof turn === 'number' ? turn : count && Number(BigInt(JSON.parse(turn)) % BigInt(count));
  if (place >= count) return undefined;
  const digits = validators.length - 2 - list.at * 2;
  const from = 2 + list.at * 2 + (digits / count) * place;
  return runtime.readValidator(new Cursor(bytesOf(`0x${validators.slice(from, from + digits / count)}`)));
}
