/** A made node for `state.ts`: so many ledgers, votes and codes of an asset hub, in a process of its own. */
import answer from '@polkadot/types-support/metadata/v15/asset-hub-kusama-hex';
import { StorageItem } from '../../ingest/node/state/storage.ts';
import { plainMetadata, runtimeOf } from '../ingest/node/state/made-chains.ts';
import { MadeState } from '../ingest/node/state/made-state.ts';
import { serveState } from '../ingest/node/state/served-state.ts';
import { StateServer } from '../ingest/node/state/state-server.ts';

const [ledgers = 0, votes = 0, codes = 0] = process.argv.slice(2).map(Number);
const metadata = plainMetadata(answer);
const runtime = runtimeOf(metadata);
const values = new Map<string, string>();

const TEMPLATE = Buffer.alloc(32, 0xaa);
const accountOf = (n: number) => {
  const bytes = Buffer.alloc(32, 0x11);
  bytes.writeUInt32LE(n);
  return bytes;
};

/** Stores a value under many keys, with the account in it replaced by that of the key. */
function repeat(
  pallet: string,
  item: string,
  count: number,
  value: unknown,
  keyOf: (account: Buffer) => Buffer[],
) {
  const made = new MadeState(metadata);
  const name = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);
  made.put(
    name(pallet),
    name(item),
    keyOf(TEMPLATE).map((part) => `0x${part.toString('hex')}`),
    value,
  );
  const [encoded = ''] = made.values.values();
  const storage = new StorageItem(runtime, pallet, item);
  for (let n = 0; n < count; n++) {
    const account = accountOf(n);
    values.set(
      storage.key(...keyOf(account)),
      encoded.replaceAll(TEMPLATE.toString('hex'), account.toString('hex')),
    );
  }
}

const stash = `0x${TEMPLATE.toString('hex')}`;
const unlocking = [1, 2, 3].map((era) => ({ value: 5_000_000_000_000n, era: 7000 + era }));
const ledger = { stash, total: 2n ** 60n + 15_000_000_000_000n, active: 2n ** 60n, unlocking };
repeat('Staking', 'Ledger', ledgers, ledger, (account) => [account]);
const vote = (poll: number) => [
  poll,
  { Standard: { vote: { aye: true, conviction: 'Locked1x' }, balance: 2n ** 60n } },
];
const casting = {
  votes: [1, 2, 3, 4, 5, 6, 7, 8].map(vote),
  delegations: { votes: 0, capital: 0 },
  prior: [0, 0],
};
const track = (n: number) => Buffer.of(n, 0);
repeat('ConvictionVoting', 'VotingFor', votes / 2, { Casting: casting }, (account) => [account, track(0)]);
const delegation = {
  balance: 2n ** 60n,
  target: stash,
  conviction: 'Locked3x',
  delegations: { votes: 0, capital: 0 },
  prior: [0, 0],
};
repeat('ConvictionVoting', 'VotingFor', votes / 2, { Delegating: delegation }, (account) => [
  account,
  track(33),
]);
const code = { owner: stash, deposit: 2n ** 50n, refcount: 3, codeLen: 9000, behaviourVersion: 1 };
repeat('Revive', 'CodeInfoOf', codes, code, (account) => [account]);
const contract = { trieId: '0x00', codeHash: stash, storageBytes: 700, storageItems: 8 };
repeat('Revive', 'AccountInfoOf', codes, { accountType: { Contract: contract }, dust: 0 }, (account) => [
  account.subarray(0, 20),
]);
const plain = new MadeState(metadata);
plain.put('staking', 'activeEra', [], { index: 7, start: null });
for (const [key, value] of plain.values) values.set(key, value);

const hash = `0x${'11'.repeat(32)}`;
const { url } = await serveState(
  new StateServer([{ height: 9, hash, values }], () => metadata, 64 * 2 ** 20),
);
process.send?.({ url, hash });
