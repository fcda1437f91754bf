import { parseAmount } from './amount.ts';
import { byPosition } from './event-data.ts';
import { asRecord, methodNames, palletName, pascalCase } from './names.ts';

/** An event of an extrinsic, with data by position. */
type Event = { name: string; data: readonly unknown[] };

export function eventsOf(extrinsic: Record<string, unknown>): Event[] {
  const { events } = extrinsic;
  return Array.isArray(events) ? events.map(readEvent) : [];
}

function readEvent(event: unknown): Event {
  const { method, data } = asRecord(event) ?? {};
  const [pallet, name] = methodNames(method) ?? ['', ''];
  return {
    name: name === '' ? '' : `${palletName(pallet)}.${pascalCase(name)}`,
    data: Array.isArray(data) ? data : byPosition(pallet, name, asRecord(data) ?? {}),
  };
}

/**
 * Reads the events of an extrinsic backwards. A wrapper completes after its nested calls, so the events of the nested calls
 * precede its completion event. Each completion event is taken once and becomes the new end.
 */
export class ReverseEventReader {
  readonly #events: readonly Event[];
  /** Positions by name, in order; positions after the end are dropped lazily. */
  readonly #positions: ReadonlyMap<string, number[]>;
  #end: number;

  constructor(events: readonly Event[]) {
    this.#events = events;
    this.#positions = Map.groupBy(events.keys(), (index) => (events[index] as Event).name);
    this.#end = events.length;
  }

  /** Takes the last event with one of these names before the end; undefined if there is none. */
  takeLast(...names: readonly string[]): Event | undefined {
    const last = Math.max(...names.map((name) => this.#lastOf(name)));
    if (last < 0) return undefined;
    this.#end = last;
    return this.#events[last];
  }

  /** Takes the last event with this name if its result is ok. */
  takeLastOk(name: string): void {
    if (isOk(this.#events[this.#lastOf(name)]?.data[0])) this.takeLast(name);
  }

  #lastOf(name: string): number {
    const positions = this.#positions.get(name) ?? [];
    while ((positions.at(-1) ?? -1) >= this.#end) positions.pop();
    return positions.at(-1) ?? -1;
  }

  /** Whether the extrinsic has an event with this name, taken or not. */
  has(name: string): boolean {
    return this.#positions.has(name);
  }
}

/** Whether a dispatch result is ok, in any of its notations: `"Ok"`, `true`, `{ok: …}`. */
export function isOk(result: unknown): boolean {
  if (result === true) return true;
  if (typeof result === 'string') return result.toLowerCase() === 'ok';
  const shape = asRecord(result);
  return shape !== null && ('ok' in shape || 'Ok' in shape);
}

/** A 32-bit index, such as the position in a batch; null if it is invalid. */
export function indexOf(value: unknown): number | null {
  const index = parseAmount(value);
  return index !== null && index <= 0xffff_ffffn ? Number(index) : null;
}
