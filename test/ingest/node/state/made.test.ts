import hubAnswer from '@polkadot/types-support/metadata/v15/asset-hub-kusama-hex';
import kusamaAnswer from '@polkadot/types-support/metadata/v15/kusama-hex';
import developmentAnswer from '@polkadot/types-support/metadata/v15/substrate-hex';
import { describe, expect, it } from 'vitest';
import { encodeAddress } from '../../../../ingest/chains/address.ts';
import type { Chain } from '../../../../ingest/chains/chain.ts';
import { loadRegistry } from '../../../../ingest/chains/registry.ts';
import { parseSnapshot, type SnapshotKind } from '../../../../ingest/decode/snapshot.ts';
import { takeState } from '../../../../ingest/node/state/take-state.ts';
import { documentsOf, plainMetadata, runtimeOf, withCodeType } from './made-chains.ts';
import { MadeState } from './made-state.ts';
import { StateServer } from './state-server.ts';

const [kusamaHub, kusama, development] = [hubAnswer, kusamaAnswer, developmentAnswer].map(plainMetadata) as [
  string,
  string,
  string,
];
const registry = loadRegistry();
const HASH = `0x${'11'.repeat(32)}`;
const [ALICE, BOB, CAROL] = [1, 2, 3].map((n) => `0x${Buffer.alloc(32, n).toString('hex')}`) as [
  string,
  string,
  string,
];
/** As Kusama prints it. */
const printed = (key: string) => encodeAddress(key, 2);
const u32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
/** The account from which a pool stakes. */
const poolAccount = (id: number) =>
  `0x${Buffer.concat([Buffer.from('modlpy/nopls'), Buffer.of(0), u32(id), Buffer.alloc(15)]).toString('hex')}`;

async function taken(
  metadata: string,
  chain: string,
  kind: SnapshotKind,
  put: (state: MadeState) => void,
  { bytesMax, treasury = [] }: { bytesMax?: number; treasury?: string[] } = {},
) {
  const state = new MadeState(metadata);
  put(state);
  const server = new StateServer([{ height: 9, hash: HASH, values: state.values }], () => metadata, bytesMax);
  const subject = { chain: registry.find(chain) as Chain, registry, treasury };
  const node = { rpc: server, block: server.block, runtimeAt: async () => runtimeOf(metadata) };
  const moment = { height: 9, hash: HASH, time: Date.parse('2026-11-21T23:59:54Z') };
  const { lines, skipped } = await takeState(node, moment, subject, [kind]);
  const [document] = documentsOf(lines);
  if (document) expect(parseSnapshot(document)).toMatchObject({ ok: true });
  return { payload: document?.payload, reason: skipped[0]?.reason, server };
}

const ledger = (stash: string, active: bigint, ...unlocking: [value: bigint, era: number][]) => ({
  stash,
  total: unlocking.reduce((sum, [value]) => sum + value, active),
  active,
  unlocking: unlocking.map(([value, era]) => ({ value, era })),
});

describe('staking on an asset hub', () => {
  const stake = (state: MadeState) => {
    state.put('staking', 'activeEra', [], { index: 7, start: null });
    // Elected by the era before: not active any more.
    for (const [era, who] of [
      [6, CAROL],
      [7, ALICE],
      [7, BOB],
    ] as const)
      state.put('staking', 'erasStakersOverview', [era, who], {
        total: 5,
        own: 5,
        nominatorCount: 0,
        pageCount: 0,
      });
    for (const who of [ALICE, BOB, CAROL])
      state.put('staking', 'validators', [who], { commission: 0, blocked: false });
    // The sessions of the hub are those of its collators.
    state.put('session', 'validators', [], [CAROL]);
    state.put('staking', 'counterForNominators', [], 3);
  };

  it('counts whom the active era elected, and who waits', async () => {
    const { payload } = await taken(kusamaHub, 'asset-hub-kusama', 'validator_set', stake);
    expect(payload).toEqual({
      active: expect.arrayContaining([printed(ALICE), printed(BOB)]),
      waiting: 1,
      nominators: 3,
    });
    expect(payload.active).toHaveLength(2);
  });

  it('sums over ledgers, counts a member that stakes itself once, and no account of a pool', async () => {
    const { payload } = await taken(kusamaHub, 'asset-hub-kusama', 'staking_state', (state) => {
      stake(state);
      state.put('staking', 'ledger', [ALICE], ledger(ALICE, 100n, [7n, 1], [8n, 9]));
      state.put('staking', 'ledger', [CAROL], ledger(BOB, 2n ** 90n));
      state.put('staking', 'ledger', [poolAccount(4)], ledger(poolAccount(4), 30n, [1n, 2]));
      state.put('nominationPools', 'bondedPools', [4], {
        points: 30,
        state: 'Open',
        memberCounter: 2,
        roles: { depositor: ALICE },
      });
      state.put('nominationPools', 'poolMembers', [ALICE], { poolId: 4, points: 10 });
      state.put('nominationPools', 'poolMembers', [CAROL], { poolId: 4, points: 20 });
      state.put('staking', 'minimumActiveStake', [], 42);
    });
    expect(payload).toEqual({
      active_era: 7,
      validators: 2,
      nominators: 3,
      pools: 1,
      pool_members: 2,
      addresses_staking: 3,
      staked: String(2n ** 90n + 130n),
      staked_in_pools: '30',
      unbonding: '16',
      min_active_stake: '42',
    });
  });

  it('says that no era has begun yet', async () => {
    const { reason } = await taken(kusamaHub, 'asset-hub-kusama', 'staking_state', () => undefined);
    expect(reason).toBe('no era has begun yet');
  });

  it('follows a map over pages, and asks for smaller answers of a node that cuts large ones', async () => {
    const { payload, server } = await taken(
      kusamaHub,
      'asset-hub-kusama',
      'staking_state',
      (state) => {
        stake(state);
        for (let n = 0; n < 2500; n++) {
          const who = `0x${n.toString(16).padStart(64, '0')}`;
          state.put('staking', 'ledger', [who], ledger(who, BigInt(n)));
        }
      },
      { bytesMax: 200_000 },
    );
    expect(payload).toMatchObject({ addresses_staking: 2500, staked: String((2499 * 2500) / 2) });
    const sizes = server.asked.flatMap(({ method, params }) =>
      method === 'state_queryStorageAt' ? [(params[0] as string[]).length] : [],
    );
    expect(sizes.slice(0, 3)).toEqual([1000, 500, 500]);
  });
});

describe('contracts', () => {
  const code = { owner: BOB, deposit: 12, refcount: 3, codeLen: 500, behaviourVersion: 1 };
  const info = { trieId: '0x00', codeHash: CAROL, storageBytes: 70, storageItems: 8 };
  const ADDRESS = `0x${'ab'.repeat(20)}`;
  const listed = {
    code_hash: ALICE,
    owner: printed(BOB),
    code_len: 500,
    deposit: '12',
    refcount: 3,
    behaviour_version: 1,
  };
  const contract = { contract_address: ADDRESS, code_hash: CAROL, storage_bytes: 70, storage_items: 8 };

  it('are those among the accounts of newer runtimes', async () => {
    const { payload } = await taken(withCodeType(kusamaHub), 'asset-hub-kusama', 'contract_code', (state) => {
      state.put('revive', 'codeInfoOf', [ALICE], { ...code, codeType: 'Evm' });
      state.put('revive', 'accountInfoOf', [ADDRESS], { accountType: { Contract: info }, dust: 0 });
      state.put('revive', 'accountInfoOf', [`0x${'cd'.repeat(20)}`], { accountType: 'EOA', dust: 5 });
    });
    expect(payload).toEqual({ code: [{ ...listed, code_type: 'EVM' }], contracts: [contract] });
  });

  it('have a map of their own in older ones, whose code is that of PolkaVM', async () => {
    const { payload } = await taken(development, 'asset-hub-kusama', 'contract_code', (state) => {
      state.put('revive', 'codeInfoOf', [ALICE], code);
      state.put('revive', 'contractInfoOf', [ADDRESS], info);
    });
    const owner = encodeAddress(BOB, 42);
    expect(payload).toEqual({ code: [{ ...listed, owner, code_type: 'PVM' }], contracts: [contract] });
  });
});

describe('balances', () => {
  const asset = (supply: bigint) => ({
    owner: ALICE, issuer: ALICE, admin: ALICE, freezer: ALICE, supply, deposit: 0, minBalance: 1,
    isSufficient: true, accounts: 1, sufficients: 1, approvals: 0, status: 'Live',
  }); // biome-ignore format: a record as the pallet keeps it
  const sibling = (paraId: number) =>
    `0x${Buffer.concat([Buffer.from('sibl'), u32(paraId), Buffer.alloc(24)]).toString('hex')}`;
  const hold = (state: MadeState, id: number, who: string, balance: bigint) =>
    state.put('assets', 'account', [id, who], {
      balance,
      status: 'Liquid',
      reason: 'Sufficient',
      extra: null,
    });
  const name = (state: MadeState, id: number, symbol: string) =>
    state.put('assets', 'metadata', [id], { deposit: 0, name: symbol, symbol, decimals: 6, isFrozen: false });

  it('of coins are less what the parachains of the registry hold', async () => {
    const { payload } = await taken(kusamaHub, 'asset-hub-kusama', 'stable_holdings', (state) => {
      state.put('assets', 'asset', [1337], asset(5n));
      name(state, 1337, 'RUSD');
      state.put('assets', 'asset', [1984], asset(2n ** 80n));
      name(state, 1984, 'USDt');
      hold(state, 1984, sibling(2023), 20n);
      hold(state, 1984, sibling(2000), 3n);
      hold(state, 1984, sibling(1000), 1000n);
      hold(state, 1984, ALICE, 1000n);
      hold(state, 1337, sibling(2023), 1000n);
    });
    expect(payload.holdings).toEqual([
      { coin: 'coin_b', asset_id: '1984', decimals: 6, issuance: String(2n ** 80n), sovereign_held: '23' },
    ]);
  });

  it('of the treasury are those of the accounts that are configured', async () => {
    const account = (free: number, reserved: number) => ({
      providers: 1,
      data: { free, reserved, frozen: 4 },
    });
    const treasury = [printed(ALICE), encodeAddress(BOB, 0)];
    const { payload } = await taken(
      kusamaHub,
      'asset-hub-kusama',
      'treasury_balance',
      (state) => state.put('system', 'account', [ALICE], account(50, 7)),
      { treasury },
    );
    const [asset, decimals] = ['KSM', 12];
    expect(payload.balances).toEqual([
      { account: treasury[0], asset, decimals, amount: '57' },
      { account: treasury[1], asset, decimals, amount: '0' },
    ]);
  });

  it('of coretime have the price at the end of the lead-in', async () => {
    const { payload } = await taken(development, 'coretime-kusama', 'coretime_config', (state) => {
      state.put('broker', 'saleInfo', [], {
        saleStart: 10, leadinLength: 160, endPrice: 2n ** 70n, regionBegin: 325024, regionEnd: 325030,
        idealCoresSold: 5, coresOffered: 15, firstCore: 3, selloutPrice: 77, coresSold: 1,
      }); // biome-ignore format: a record as the pallet keeps it
      state.put('broker', 'status', [], {
        coreCount: 18,
        privatePoolSize: 0,
        systemPoolSize: 0,
        lastCommittedTimeslice: 1,
        lastTimeslice: 1,
      });
      state.put('broker', 'leases', [], [{ until: 9, task: 2000 }]);
    });
    expect(payload).toMatchObject({
      sale_info: { end_price: String(2n ** 70n), sellout_price: '77', cores_sold: 1 },
      reservations: [],
      leases: [{ task: 2000, until: 9 }],
      core_count: 18,
    });
  });
});

describe('governance', () => {
  it('lists who delegates, by track and conviction, and no votes', async () => {
    const { payload } = await taken(kusama, 'kusama', 'delegations', (state) => {
      const delegating = (conviction: string, balance: bigint) => ({
        Delegating: {
          balance,
          target: CAROL,
          conviction,
          delegations: { votes: 1, capital: 1 },
          prior: [0, 0],
        },
      });
      state.put('convictionVoting', 'votingFor', [ALICE, 33], delegating('None', 2n ** 70n));
      state.put('convictionVoting', 'votingFor', [ALICE, 1], delegating('Locked6x', 5n));
      state.put('convictionVoting', 'votingFor', [BOB, 0], {
        Casting: {
          votes: [[4, { Standard: { vote: { aye: true, conviction: 'Locked1x' }, balance: 9 } }]],
          delegations: { votes: 0, capital: 0 },
          prior: [0, 0],
        },
      });
    });
    const from = { delegator: printed(ALICE), target: printed(CAROL) };
    expect(payload.delegations).toHaveLength(2);
    expect(payload.delegations).toEqual(
      expect.arrayContaining([
        { ...from, track: 33, conviction: 0, balance: String(2n ** 70n) },
        { ...from, track: 1, conviction: 6, balance: '5' },
      ]),
    );
  });

  it.each([
    ['kusama', kusama],
    ['asset-hub-kusama', kusamaHub],
  ])('names the tracks of %s', async (chain, metadata) => {
    const { payload } = await taken(metadata, chain, 'track_table', () => undefined);
    expect(payload.tracks).toContainEqual({ id: 0, name: 'root', origin: 'Root' });
    expect(payload.tracks).toContainEqual({ id: 2, name: 'wish_for_change', origin: 'WishForChange' });
    expect(payload.tracks).toContainEqual({ id: 34, name: 'big_spender', origin: 'BigSpender' });
  });

  it('lists the new ids of child bounties', async () => {
    const { payload } = await taken(kusama, 'kusama', 'child_bounty_ids', (state) => {
      state.put('childBounties', 'v0ToV1ChildBountyIds', [2519], [11, 0]);
      state.put('childBounties', 'v0ToV1ChildBountyIds', [7], [3, 1]);
    });
    expect(payload.ids).toHaveLength(2);
    expect(payload.ids).toContainEqual({ parent: '11', old: '2519', new: '0' });
  });
});
