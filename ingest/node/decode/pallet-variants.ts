import { type Cursor, Undecodable } from './cursor.ts';
import type { TypeTable } from './types.ts';
import type { Variant } from './value-reader.ts';

/** The call and event types of a pallet. */
export interface PalletEnums {
  readonly index: number;
  readonly name: string;
  readonly calls?: { readonly type: number } | undefined;
  readonly events?: { readonly type: number } | undefined;
}

interface PalletVariantsOptions<Compiled> {
  readonly pallets: ReadonlyMap<number, PalletEnums>;
  readonly types: TypeTable;
  readonly kind: 'calls' | 'events';
  readonly compile: (pallet: string, variant: Variant) => Compiled;
}

/** The calls or the events of all pallets, each compiled when it is first read. */
export class PalletVariants<Compiled> {
  readonly #options: PalletVariantsOptions<Compiled>;
  readonly #compiled = new Map<number, Compiled>();

  constructor(options: PalletVariantsOptions<Compiled>) {
    this.#options = options;
  }

  /** Reads the indexes of the pallet and of the variant. */
  read(cursor: Cursor): Compiled {
    const pallet = cursor.byte();
    const index = cursor.byte();
    const key = (pallet << 8) | index;
    const known = this.#compiled.get(key);
    if (known !== undefined) return known;
    const compiled = this.#compile(pallet, index);
    this.#compiled.set(key, compiled);
    return compiled;
  }

  #compile(palletIndex: number, index: number): Compiled {
    const { pallets, types, kind, compile } = this.#options;
    const pallet = pallets.get(palletIndex);
    const type = pallet?.[kind]?.type;
    if (pallet === undefined || type === undefined)
      throw new Undecodable(`no ${kind} of a pallet ${palletIndex}`);
    const { def } = types.entry(type);
    const found = def.tag === 'variant' ? def.value.find((variant) => variant.index === index) : undefined;
    if (found === undefined) throw new Undecodable(`no ${kind} ${index} in pallet ${pallet.name}`);
    return compile(pallet.name, found);
  }
}
