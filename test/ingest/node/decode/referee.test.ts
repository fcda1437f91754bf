import { describe, expect, test } from 'vitest';
import { Cursor } from '../../../../ingest/node/decode/cursor.ts';
import { type NodeRuntime, readRuntime } from '../../../../ingest/node/decode/runtime.ts';
import { compact } from '../../../../ingest/node/decode/trie-root.ts';
import type { Variant } from '../../../../ingest/node/decode/value-reader.ts';
import { MAINNETS } from './mainnets.ts';
import { partsOf, RandomValues } from './random-values.ts';
import { CHAINS, Recording } from './recorded.ts';
import { Referee } from './referee.ts';

const SEEDS = Number(process.env.SEEDS ?? 1);
const BARE_4 = 4;
const FINALIZATION = 1;

const runtimes = [
  ...MAINNETS,
  ...CHAINS.map((chain) => [chain, () => new Recording(chain).metadata()] as const),
];

describe.each(runtimes)('the runtime %s', (_name, metadata) => {
  const bytes = metadata();
  const runtime = readRuntime(bytes);
  const referee = new Referee(bytes, runtime.ss58Prefix);
  const seeds = Array.from({ length: SEEDS }, (_, index) => new RandomValues(runtime, index + 1));

  test.each(seeds)('has calls that print as the referee prints them', (values) => {
    for (const { pallet, variant } of variantsOf(runtime, 'calls')) {
      const call = Buffer.concat([Buffer.of(pallet, variant.index), values.fields(variant.fields)]);
      const { method, args } = runtime.extrinsics.read(withLength(Buffer.concat([Buffer.of(BARE_4), call])));
      expect({ method: JSON.parse(method), args: JSON.parse(args) }).toEqual(referee.call(call));
    }
  });

  test.each(seeds)('has events that print as the referee prints them', (values) => {
    for (const { pallet, variant } of variantsOf(runtime, 'events')) {
      const event = Buffer.concat([Buffer.of(pallet, variant.index), values.fields(variant.fields)]);
      const record = Buffer.concat([compact(1), Buffer.of(FINALIZATION), event, compact(0)]);
      const { onFinalize } = new Cursor(record).readAll((cursor) => runtime.events.readBlock(cursor, 0));
      expect(JSON.parse(onFinalize)).toEqual(referee.event(event));
    }
  });

  test.each(seeds)('has types whose values print as the referee prints them', (values) => {
    const ofEvents = typesOfEvents(runtime);
    for (const { id } of runtime.metadata.lookup) {
      if (ofEvents.has(id) || !values.exists(id)) continue;
      const value = values.value(id);
      const text = new Cursor(value).readAll(runtime.types.reader(id));
      expect(JSON.parse(text)).toEqual(referee.value(id, value));
    }
  });
});

function variantsOf({ metadata, types }: NodeRuntime, kind: 'calls' | 'events') {
  return metadata.pallets.flatMap((pallet) => {
    const type = pallet[kind]?.type;
    const variants = type === undefined ? [] : (types.entry(type).def.value as readonly Variant[]);
    return variants.map((variant) => ({ pallet: pallet.index, variant }));
  });
}

/** Types that hold events of the runtime, which no block has as values. The referee prints them in a shape of their own. */
function typesOfEvents({ metadata }: NodeRuntime): Set<number> {
  const found = new Set<number>();
  for (let before = -1; before < found.size; ) {
    before = found.size;
    for (const { id, path, def } of metadata.lookup) {
      const isEvent = path.at(-1) === 'RuntimeEvent' || partsOf(def).some((part) => found.has(part));
      if (isEvent) found.add(id);
    }
  }
  return found;
}

const withLength = (bytes: Buffer) => Buffer.concat([compact(bytes.length), bytes]);
