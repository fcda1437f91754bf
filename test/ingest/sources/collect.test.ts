import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sql } from '../../../infra/sql.ts';
import { encodeAddress } from '../../../ingest/chains/address.ts';
import type { Chain } from '../../../ingest/chains/chain.ts';
import { loadRegistry } from '../../../ingest/chains/registry.ts';
import { snapshots } from '../../../ingest/raw/tables.ts';
import { Sidecar } from '../../../ingest/sources/sidecar.ts';
import { SnapshotCollector } from '../../../ingest/sources/snapshot-collector.ts';
import { openTestPipeline } from '../../support/pipeline.ts';
import { FakeSidecar, recordedBlocks } from './fake-sidecar.ts';

const registry = loadRegistry();
const POT = '15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5';

/** An answer of a real service. */
const recorded = (path: string) =>
  JSON.parse(readFileSync(new URL(`../../fixtures/endpoints/${path}.json`, import.meta.url), 'utf8'));

let fake: FakeSidecar;
let documents: Record<string, unknown>;
let unavailable: string[];
beforeEach(() => {
  unavailable = [];
  documents = {};
});
afterEach(() => fake[Symbol.asyncDispose]());

/** A storage item in the shape that the route is documented with. */
function store(at: number, pallet: string, item: string, value: unknown): void {
  const answer = { at: { height: String(at), hash: '0x00' }, pallet, storageItem: item, keys: [], value };
  documents[`/pallets/${pallet}/storage/${item}`] = answer;
}

async function collectorOf(name: string, treasury: string[] = [], now = Date.now) {
  fake = await new FakeSidecar([...recordedBlocks(name).values()], { documents }).listen();
  const sidecar = await Sidecar.connect(fake.url, { attempts: 2, backoffMs: 1, timeoutMs: 2000 });
  const chain = registry.find(name) as Chain;
  const onUnavailable = (kind: string, reason: string) => unavailable.push(`${kind}: ${reason}`);
  const collector = new SnapshotCollector(sidecar, { chain, registry, treasury, onUnavailable, now });
  const taken = async (height: number) =>
    (await collector.collect(height)).map(String).filter((line) => line !== '\n');
  return { taken, head: fake.finalized };
}

describe('a relay chain', () => {
  const HEAD = 1_036_851;
  const recordAll = () => {
    documents['/pallets/staking/progress'] = recorded('polkadot/pallets_staking_progress');
    documents['/pallets/staking/validators'] = recorded('polkadot/pallets_staking_validators');
    documents[`/accounts/${POT}/balance-info`] = recorded('polkadot/balance-info');
  };

  it('gives its validators, issuance and treasury at the head, as the store takes them, once a day', async () => {
    recordAll();
    store(HEAD, 'staking', 'counterForNominators', '22');
    store(HEAD, 'balances', 'totalIssuance', '16000000000000000000');
    store(HEAD, 'balances', 'inactiveIssuance', '0');
    const { taken, head } = await collectorOf('polkadot', [POT]);
    const lines = await taken(head);
    const { free, reserved } = recorded('polkadot/balance-info');
    const { validatorSet } = recorded('polkadot/pallets_staking_progress');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      {
        kind: 'validator_set',
        chain: 'polkadot',
        block_number: HEAD,
        payload: { active: validatorSet, waiting: 0, nominators: 22 },
      },
      {
        kind: 'issuance',
        block_number: HEAD,
        payload: { total: '16000000000000000000', inactive: '0' },
      },
      {
        kind: 'treasury_balance',
        payload: {
          balances: [
            { account: POT, asset: 'DOT', decimals: 10, amount: String(BigInt(free) + BigInt(reserved)) },
          ],
        },
      },
    ]);
    expect(unavailable).toEqual([
      expect.stringMatching(
        /^staking_state: addresses_staking and unbonding are sums over all staking ledgers/,
      ),
    ]);
    expect(await taken(head)).toEqual([]);

    const { pipeline, close } = await openTestPipeline();
    const summary = await pipeline.ingest(Readable.from([Buffer.from(`${lines.join('\n')}\n`)]), {
      name: 'x',
    });
    expect(summary).toMatchObject({ snapshots: 3, refused_lines: 0 });
    const rows = await pipeline.runtime.store.rows(
      sql`SELECT kind, toString(toDate(as_of)) AS day, block_number FROM ${snapshots} FINAL ORDER BY kind`,
    );
    await close();
    expect(rows).toEqual(
      ['issuance', 'treasury_balance', 'validator_set'].map((kind) => ({
        kind,
        day: '2026-11-21',
        block_number: HEAD,
      })),
    );
  });

  it('sends no kind of which a field is missing, and says which', async () => {
    recordAll();
    documents[`/accounts/${POT}/balance-info`] = {
      ...recorded('polkadot/balance-info'),
      reserved: 'unknown',
    };
    const { taken, head } = await collectorOf('polkadot', [POT]);
    expect(await taken(head)).toEqual([]);
    expect(unavailable).toEqual([
      expect.stringMatching(/^validator_set: .*counterForNominators\S* answered 404/),
      expect.stringMatching(/^staking_state: /),
      expect.stringMatching(/^issuance: .*totalIssuance\S* answered 404/),
      expect.stringMatching(/^treasury_balance: \S+balance-info returned an unexpected document: reserved: /),
    ]);
  });

  it('takes nothing that was answered for another block', async () => {
    recordAll();
    store(HEAD, 'staking', 'counterForNominators', '22');
    const { taken, head } = await collectorOf('polkadot');
    expect(await taken(head - 1)).toEqual([]);
    expect(unavailable[0]).toMatch(
      /validator_set: \/pallets\/staking\/progress did not answer for block 1036850/,
    );
  });

  it('gives them later when the service was away', async () => {
    recordAll();
    store(HEAD, 'staking', 'counterForNominators', '22');
    const { taken, head } = await collectorOf('polkadot');
    fake.fail(/validators/, 'dropped', 2);
    await expect(taken(head)).rejects.toThrow(/cannot be reached/);
    expect(await taken(head)).toHaveLength(1);
  });
});

describe('an asset hub', () => {
  const HEAD = 30;
  const asset = (symbol: string, supply: string) => {
    const answer = recorded('asset-hub-polkadot/asset-info');
    const assetMetaData = { ...answer.assetMetaData, symbol, decimals: '6' };
    return { ...answer, assetInfo: { ...answer.assetInfo, supply }, assetMetaData };
  };
  const sibling = (paraId: number) => {
    const key = Buffer.concat([Buffer.from('sibl'), Buffer.alloc(28)]);
    key.writeUInt32LE(paraId, 4);
    return encodeAddress(`0x${key.toString('hex')}`, 0);
  };

  it('gives its coins less what the parachains hold there', async () => {
    documents['/pallets/assets/1337/asset-info'] = asset('0x55534443', '900719925474099312345');
    documents['/pallets/assets/1984/asset-info'] = asset('0x55534474', '500');
    const answer = recorded('asset-hub-polkadot/asset-balances');
    for (const { para_id, relay_chain } of registry.chains) {
      if (relay_chain !== 'polkadot' || para_id === null || para_id === 1000) continue;
      const balances =
        para_id === 2034 ? { 1337: '12345', 1984: '20' } : para_id === 2004 ? { 1984: '3' } : {};
      const assets = Object.entries(balances).map(([assetId, balance]) => ({
        ...answer.assets[0],
        assetId,
        balance,
      }));
      documents[`/accounts/${sibling(para_id)}/asset-balances`] = {
        ...answer,
        assets: [...answer.assets, ...assets],
      };
    }
    const { taken } = await collectorOf('asset-hub-polkadot');
    const holdings = (await taken(HEAD))
      .map((line) => JSON.parse(line))
      .find(({ kind }) => kind === 'stable_holdings');
    expect(holdings.payload.holdings).toEqual([
      {
        coin: 'coin_a',
        asset_id: '1337',
        decimals: 6,
        issuance: '900719925474099312345',
        sovereign_held: '12345',
      },
      { coin: 'coin_b', asset_id: '1984', decimals: 6, issuance: '500', sovereign_held: '23' },
    ]);
  });

  it('has no coin where an asset of that number is called otherwise', async () => {
    documents['/pallets/assets/1337/asset-info'] = recorded('asset-hub-polkadot/asset-info');
    documents['/pallets/assets/1984/asset-info'] = {
      at: { height: '30' },
      assetInfo: null,
      assetMetaData: null,
    };
    const { taken } = await collectorOf('asset-hub-polkadot');
    expect(await taken(HEAD)).toEqual([]);
    expect(unavailable.at(-1)).toBe('stable_holdings: the chain has neither USDC (1337) nor USDT (1984)');
  });
});

describe('a coretime chain', () => {
  const HEAD = 63;
  const sale = {
    saleStart: '10', leadinLength: '160', endPrice: '5000000000000', regionBegin: '325024', regionEnd: '325030',
    idealCoresSold: '5', coresOffered: '15', firstCore: '3', selloutPrice: null, coresSold: '0',
  }; // biome-ignore format: a record as the pallet keeps it

  it('gives its sale, reservations, leases and cores', async () => {
    store(HEAD, 'broker', 'saleInfo', sale);
    const whole = { mask: '0xffffffffffffffffffff', assignment: { task: '1000' } };
    store(HEAD, 'broker', 'reservations', [[whole], [{ ...whole, assignment: { pool: null } }]]);
    store(HEAD, 'broker', 'leases', [{ until: '325060', task: '2000' }]);
    store(HEAD, 'broker', 'status', { coreCount: '18', privatePoolSize: '0' });
    const { taken } = await collectorOf('coretime-polkadot');
    const [line] = await taken(HEAD);
    expect(JSON.parse(line as string)).toMatchObject({
      kind: 'coretime_config',
      chain: 'coretime-polkadot',
      payload: {
        sale_info: { sale_start: 10, end_price: '5000000000000', sellout_price: null, ideal_cores_sold: 5 },
        reservations: [[whole], [{ assignment: { pool: null } }]],
        leases: [{ task: 2000, until: 325060 }],
        core_count: 18,
      },
    });
    expect(unavailable).toEqual([]);
  });

  it('gives nothing before its first sale', async () => {
    store(HEAD, 'broker', 'saleInfo', null);
    const { taken } = await collectorOf('coretime-polkadot');
    expect(await taken(HEAD)).toEqual([]);
    expect(unavailable).toEqual([
      expect.stringMatching(/^coretime_config: \S+saleInfo returned an unexpected document: value: /),
    ]);
  });
});
