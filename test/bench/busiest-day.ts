/**
 * Blocks as on the busiest day that the relay chain has had, 2023-12-22: 14,241 blocks with 6,935,254 signed
 * extrinsics and 67,013,073 events, nearly all of them remarks in batches. Writes bare blocks to a file or to
 * standard output, as dense as they were then; a fraction of the day is that many of its blocks.
 *
 *   node test/bench/busiest-day.ts 0.01 > polkadot.ndjson
 *   node test/bench/busiest-day.ts 0.01 polkadot.ndjson
 */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { DAY_MS } from '../../infra/days.ts';
import { printAccount } from '../reference/accounts.ts';
import { chainNamed } from '../reference/registry.ts';
import { shapeHash } from '../reference/shaped.ts';

export const DAY = { blocks: 14_241, signed: 6_935_254, events: 67_013_073 } as const;
const FIRST_HEIGHT = 18_684_000;
const FIRST_TIME = Date.UTC(2023, 11, 22);
/** Of one extrinsic: withdrawal, the items of a batch, its end, the share of the author, the fee, success. */
const ITEMS = 4;
const EVENTS_OF_EXTRINSIC = ITEMS + 5;
/** Of all of them the chain knows: as many different people as could send so much in a day. */
const PEOPLE = 4096;

const polkadot = chainNamed('polkadot');
const people = Array.from({ length: PEOPLE }, (_, i) =>
  printAccount(`0x${(i + 1).toString(16).padStart(64, '0')}`, polkadot),
);
const author = people[0] as string;

const event = (name: string, ...data: readonly unknown[]) => {
  const [pallet, method] = name.split('.');
  return JSON.stringify({ method: { pallet, method }, data });
};
const remark = JSON.stringify({
  method: { pallet: 'system', method: 'remark' },
  args: { remark: `0x${Buffer.from('{"p":"dot-20","op":"mint","tick":"DOTA"}').toString('hex')}` },
});
const calls = Array(ITEMS).fill(remark).join(',');
const itemsDone = Array(ITEMS).fill(event('utility.ItemCompleted')).join(',');
const success = event('system.ExtrinsicSuccess', {
  weight: { refTime: '170815000', proofSize: '1493' },
  class: 'Normal',
  paysFee: 'Yes',
});

/** A signed batch of remarks; only what differs is put together anew. */
function extrinsic(index: number): string {
  const who = people[index % PEOPLE] as string;
  const fee = 150_000_000 + (index % 1000) * 1000;
  const hash = `0x${index.toString(16).padStart(64, 'e')}`;
  return `{"method":{"pallet":"utility","method":"batchAll"},"signature":{"signature":"0x","signer":{"id":"${who}"}},"nonce":"${index >> 12}","args":{"calls":[${calls}]},"tip":"0","hash":"${hash}","info":{"partialFee":"${fee}","kind":"fromEvent"},"era":{"immortalEra":"0x00"},"events":[${event('balances.Withdraw', who, String(fee))},${itemsDone},${event('utility.BatchCompleted')},${event('balances.Deposit', author, String(fee / 5))},${event('transactionPayment.TransactionFeePaid', who, String(fee), '0')},${success}],"success":true,"paysFee":true}`;
}

/** The block of this position in the day, with its share of the day's extrinsics and events. */
export function busyBlock(position: number): string {
  const share = (total: number) =>
    Math.floor((total * (position + 1)) / DAY.blocks) - Math.floor((total * position) / DAY.blocks);
  const height = FIRST_HEIGHT + position;
  const first = Math.floor((DAY.signed * position) / DAY.blocks);
  const signed = share(DAY.signed);
  const extrinsics = Array.from({ length: signed }, (_, i) => extrinsic(first + i)).join(',');
  const time = FIRST_TIME + Math.floor((DAY_MS * position) / DAY.blocks);
  const clock = `{"method":{"pallet":"timestamp","method":"set"},"signature":null,"nonce":null,"args":{"now":"${time}"},"tip":null,"hash":"0x","info":{},"era":{"immortalEra":"0x00"},"events":[${success}],"success":true,"paysFee":false}`;
  const left = share(DAY.events) - signed * EVENTS_OF_EXTRINSIC - 1;
  const opening = Array.from({ length: Math.max(0, left) }, (_, core) =>
    event(
      'paraInclusion.CandidateIncluded',
      { descriptor: { paraId: String(2000 + (core % 50)) } },
      '0x',
      '1',
      '1',
    ),
  ).join(',');
  return `{"number":"${height}","hash":"${shapeHash(height)}","parentHash":"${shapeHash(height - 1)}","authorId":"${author}","onInitialize":{"events":[${opening}]},"extrinsics":[${clock},${extrinsics}],"onFinalize":{"events":[]},"finalized":true}`;
}

async function writeDay(fraction: number, to: Writable): Promise<void> {
  const blocks = Math.max(1, Math.round(DAY.blocks * fraction));
  for (let position = 0; position < blocks; position++) {
    if (!to.write(`${busyBlock(position)}\n`)) await once(to, 'drain');
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [fraction = '0.01', path] = process.argv.slice(2);
  if (!(Number(fraction) > 0 && Number(fraction) <= 1)) {
    console.error(`Which fraction of the day, above 0 and at most 1? Not: ${fraction}`);
    process.exit(2);
  }
  const file = path === undefined ? process.stdout : createWriteStream(path);
  await writeDay(Number(fraction), file);
  if (path !== undefined) file.end();
}
