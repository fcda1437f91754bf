import { type Cursor, Undecodable } from './cursor.ts';
import { camelCase } from './names.ts';
import { type PalletEnums, PalletVariants } from './pallet-variants.ts';
import type { TypeTable } from './types.ts';
import { listReader, type ValueReader, type Variant } from './value-reader.ts';

/** Events that set fields of their extrinsic. */
type Role = 'success' | 'failure' | 'fee';
const ROLES: Readonly<Record<string, Role>> = {
  'system.ExtrinsicSuccess': 'success',
  'system.ExtrinsicFailed': 'failure',
  'transactionPayment.TransactionFeePaid': 'fee',
};

interface EventReader {
  /** Reads the fields and writes the event. */
  readonly read: ValueReader;
  readonly fields: readonly ValueReader[];
  readonly role: Role | undefined;
}

export interface ExtrinsicEvents {
  text: string;
  outcomes: number;
  success: boolean;
  /** JSON of the dispatch info in its outcome: weight, class and whether it pays a fee. */
  dispatchInfo: string | undefined;
  /** JSON of the paid fee with tip. */
  fee: string | undefined;
}

interface BlockEvents {
  onInitialize: string;
  onFinalize: string;
  readonly extrinsics: readonly ExtrinsicEvents[];
}

const APPLY_EXTRINSIC = 0;
const FINALIZATION = 1;
const INITIALIZATION = 2;
const TOPIC_BYTES = 32;

/** The events of a runtime, each compiled when it is first read. */
export class EventTable {
  readonly #types: TypeTable;
  readonly #readers: PalletVariants<EventReader>;

  constructor(pallets: ReadonlyMap<number, PalletEnums>, types: TypeTable) {
    this.#types = types;
    const compile = (pallet: string, event: Variant) => this.#compile(pallet, event);
    this.#readers = new PalletVariants({ pallets, types, kind: 'events', compile });
  }

  /** Reads the value of `System.Events` at a block of `count` extrinsics. */
  readBlock(cursor: Cursor, count: number): BlockEvents {
    const extrinsics = Array.from({ length: count }, noEvents);
    const events: BlockEvents = { onInitialize: '', onFinalize: '', extrinsics };
    for (let remaining = cursor.length(); remaining > 0; remaining -= 1) {
      const phase = cursor.byte();
      if (phase === APPLY_EXTRINSIC) {
        const index = cursor.u32();
        const extrinsic = extrinsics[index];
        if (extrinsic !== undefined) this.#readInto(extrinsic, cursor);
        // Hooks after the last extrinsic have the index of the next one. They run before `on_finalize`.
        else if (index === count) events.onFinalize = joined(events.onFinalize, this.#read(cursor));
        else throw new Undecodable(`an event of extrinsic ${index}, which is not in the block`);
      } else if (phase === FINALIZATION) events.onFinalize = joined(events.onFinalize, this.#read(cursor));
      else if (phase === INITIALIZATION)
        events.onInitialize = joined(events.onInitialize, this.#read(cursor));
      else throw new Undecodable(`an event of phase ${phase}`);
      cursor.advance(cursor.length() * TOPIC_BYTES);
    }
    return events;
  }

  #read(cursor: Cursor): string {
    return this.#readers.read(cursor).read(cursor);
  }

  #readInto(extrinsic: ExtrinsicEvents, cursor: Cursor): void {
    const { read, fields, role } = this.#readers.read(cursor);
    const from = cursor.at;
    extrinsic.text = joined(extrinsic.text, read(cursor));
    if (role === undefined) return;
    // Reads the fields again. Few events have a role.
    cursor.at = from;
    const data = fields.map((field) => field(cursor));
    if (role === 'fee') {
      extrinsic.fee ??= data[1];
      return;
    }
    extrinsic.outcomes += 1;
    extrinsic.success = role === 'success';
    extrinsic.dispatchInfo = data.at(-1);
  }

  #compile(pallet: string, event: Variant): EventReader {
    const name = camelCase(pallet);
    const fields = this.#types.list(event.fields);
    return {
      read: listReader(
        fields,
        `{"method":${JSON.stringify({ pallet: name, method: event.name })},"data":`,
        '}',
      ),
      fields,
      role: ROLES[`${name}.${event.name}`],
    };
  }
}

/** Appending to a string is cheaper than joining a list. */
const joined = (events: string, event: string) => (events === '' ? event : `${events},${event}`);

const noEvents = (): ExtrinsicEvents => ({
  text: '',
  outcomes: 0,
  success: false,
  dispatchInfo: undefined,
  fee: undefined,
});
