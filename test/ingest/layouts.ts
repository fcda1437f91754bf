type Document = Record<string, never>;

const mapExtrinsics = (line: string, change: (extrinsic: Document) => object) => {
  const block = JSON.parse(line) as Document & { extrinsics: Document[] };
  return { ...block, extrinsics: block.extrinsics.map(change) };
};
const oneWord = ({ pallet, method }: Document) => `${pallet}.${method}`;
const named = (data: unknown[]) => Object.fromEntries(data.map((value, i) => [`field_${i}`, value]));
/** Of the metadata. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  'balances.Transfer': ['from', 'to', 'amount'],
  'balances.Withdraw': ['who', 'amount'],
  'balances.Deposit': ['who', 'amount'],
  'multisig.MultisigExecuted': ['approving', 'timepoint', 'multisig', 'callHash', 'result'],
  'staking.Rewarded': ['stash', 'dest', 'amount'],
  'transactionPayment.TransactionFeePaid': ['who', 'actualFee', 'tip'],
  'utility.BatchInterrupted': ['index', 'error'],
};
/** As a database keeps the keys of a document: the short ones first. */
const sorted = (names: readonly string[], data: unknown[]) =>
  Object.fromEntries(
    data
      .map((value, i) => [names[i] as string, value] as const)
      .sort(([a], [b]) => a.length - b.length || (a < b ? -1 : 1)),
  );
const mapEvents = (list: unknown, change: (event: Document) => object) => (list as Document[]).map(change);

/** Ways in which sources write one block. */
export const layouts: [string, (line: string) => object | string][] = [
  ['its keys in another order', (line) => Object.fromEntries(Object.entries(JSON.parse(line)).reverse())],
  [
    'the keys of its extrinsics in another order',
    (line) => mapExtrinsics(line, (extrinsic) => Object.fromEntries(Object.entries(extrinsic).reverse())),
  ],
  ['blanks between its parts', (line) => JSON.stringify(JSON.parse(line), null, 1).replaceAll('\n', ' ')],
  ['keys that nobody knows', (line) => ({ ...JSON.parse(line), unknown: { deep: [1, { a: null }] } })],
  ['its number as an integer', (line) => ({ ...JSON.parse(line), number: Number(JSON.parse(line).number) })],
  [
    'methods in one word',
    (line) =>
      mapExtrinsics(line, (extrinsic) => ({
        ...extrinsic,
        method: oneWord(extrinsic.method as never),
        events: mapEvents(extrinsic.events, (event) => ({
          ...event,
          method: oneWord(event.method as never),
        })),
      })),
  ],
  [
    'event data with names',
    (line) =>
      mapExtrinsics(line, (extrinsic) => ({
        ...extrinsic,
        events: mapEvents(extrinsic.events, (event) => ({ ...event, data: named(event.data as never) })),
      })),
  ],
  [
    'event data with sorted names',
    (line) =>
      mapExtrinsics(line, (extrinsic) => ({
        ...extrinsic,
        events: mapEvents(extrinsic.events, (event) => {
          const data = (event.data ?? []) as unknown[];
          const names = NAMES[oneWord(event.method as never)] ?? [];
          return { ...event, data: names.length === data.length ? sorted(names, data) : named(data) };
        }),
      })),
  ],
  ['an envelope of its own', (line) => ({ payload: JSON.parse(line), chain: 'polkadot', schema: 'block/1' })],
];
