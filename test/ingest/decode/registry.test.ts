import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Chain, RELAY_CHAINS, secondsPerBlock } from '../../../ingest/chains/chain.ts';
import { loadRegistry } from '../../../ingest/chains/registry.ts';

const registry = loadRegistry();

function fileOf(content: unknown): string {
  const file = join(mkdtempSync(join(tmpdir(), 'registry-')), 'chains.json');
  writeFileSync(file, JSON.stringify(content));
  return file;
}

const rococo = {
  name: 'rococo-extra',
  relay_chain: 'solo',
  ss58_prefix: 42,
  token: 'ROC',
  decimals: 12,
};

describe('the built-in registry', () => {
  test('names every chain and alias once', () => {
    const names = registry.chains.flatMap((chain) => [chain.name, ...chain.aliases]);
    expect(new Set(names).size).toBe(names.length);
  });

  test('gives every para id of a relay chain once', () => {
    const ids = registry.chains.filter((chain) => chain.para_id !== null);
    const places = ids.map((chain) => `${chain.relay_chain}/${chain.para_id}`);
    expect(new Set(places).size).toBe(places.length);
  });

  test('has the system chains of all relay chains and at least sixty parachains', () => {
    for (const relay of RELAY_CHAINS.filter((name) => name !== 'solo')) {
      for (const role of ['asset-hub', 'coretime', 'people', 'bridge-hub']) {
        expect(registry.find(`${role}-${relay}`)).toMatchObject({ relay_chain: relay, role });
      }
      expect(registry.find(relay)).toMatchObject({ relay_chain: relay, role: 'relay', para_id: null });
    }
    expect(registry.chains.filter((chain) => (chain.para_id ?? 0) >= 2000).length).toBeGreaterThan(60);
  });

  test.each([
    ['polkadot', 'DOT', 10, 0],
    ['kusama', 'KSM', 12, 2],
    ['westend', 'WND', 12, 42],
    ['asset-hub-polkadot', 'DOT', 10, 0],
    ['coretime-kusama', 'KSM', 12, 2],
    ['people-westend', 'WND', 12, 42],
    ['moonbeam', 'GLMR', 18, 1284],
    ['hydration', 'HDX', 12, 63],
    ['astar', 'ASTR', 18, 5],
    ['bifrost', 'BNC', 12, 6],
  ])('%s pays in %s of %i decimals and prints prefix %i', (name, token, decimals, ss58_prefix) => {
    expect(registry.find(name)).toMatchObject({ token, decimals, ss58_prefix });
  });

  test.each([
    ['statemint', 'asset-hub-polkadot'],
    ['polkadot_asset_hub', 'asset-hub-polkadot'],
    ['assethub', 'asset-hub-polkadot'],
    ['Statemine', 'asset-hub-kusama'],
    ['westmint', 'asset-hub-westend'],
    ['HydraDX', 'hydration'],
    ['origintrail', 'neuroweb'],
  ])('%s is an alias of %s, in any case', (alias, name) => {
    expect(registry.find(alias)?.name).toBe(name);
  });

  test('refuses a name that belongs to another relay chain than the one given', () => {
    expect(registry.find('statemint', 'polkadot')?.name).toBe('asset-hub-polkadot');
    expect(registry.find('statemint', 'kusama')).toBeUndefined();
    expect(registry.find('nowhere')).toBeUndefined();
    expect(registry.relayOf('karura')).toBe('kusama');
    expect(registry.relayOf('nowhere')).toBeUndefined();
  });

  test('moved staking, governance and treasury to the asset hubs', () => {
    const moved = (since: string) => ({ staking: { since }, governance: { since }, treasury: { since } });
    expect(registry.find('asset-hub-polkadot')).toMatchObject(moved('2025-11-04'));
    expect(registry.find('asset-hub-kusama')).toMatchObject(moved('2025-10-07'));
    expect(registry.find('moonbeam')).toMatchObject({ staking: null, governance: null, treasury: null });
  });

  test('expects a block every six seconds of relay and solo chains, of others since 2025', () => {
    const seconds = (name: string) => registry.find(name)?.block_times.map((time) => time.seconds);
    expect(seconds('kusama')).toEqual([6]);
    expect(seconds('vara')).toEqual([6]);
    expect(registry.find('moonbeam')?.block_times).toEqual([
      { since: expect.any(String), seconds: 12 },
      { since: '2025-01-01', seconds: 6 },
    ]);
  });
});

describe('a deployment with chains of its own', () => {
  test('finds them beside the built-in ones, with the usual values for what it leaves out', () => {
    const extended = loadRegistry(fileOf([{ ...rococo, aliases: ['roc'] }]));
    expect(extended.find('roc')).toMatchObject({
      name: 'rococo-extra',
      accounts: 'ss58',
      role: 'parachain',
      staking: null,
    });
    expect(extended.chains.length).toBe(registry.chains.length + 1);
  });

  test('gives the time between blocks of each, by date', () => {
    const steps = [
      { since: '2020-01-01', seconds: 24 },
      { since: '2026-03-01', seconds: 2 },
      { since: '2027-01-01', seconds: 0.5 },
    ];
    const own = loadRegistry(fileOf([{ ...rococo, block_times: steps }])).find('rococo-extra');
    const on = (day: string) => secondsPerBlock(own as Chain, day);
    expect(['2019-01-01', '2020-01-01', '2026-02-28', '2026-03-01', '2030-01-01'].map(on)).toEqual([
      24, 24, 24, 2, 0.5,
    ]);
    for (const block_times of [
      [],
      [{ since: '2020-01-01', seconds: 0 }],
      [{ seconds: 2 }],
      steps.toReversed(),
    ])
      expect(() => loadRegistry(fileOf([{ ...rococo, block_times }]))).toThrow(/block_times/);
  });

  test('is told which name it used twice', () => {
    expect(() => loadRegistry(fileOf([{ ...rococo, aliases: ['statemint'] }]))).toThrow(
      '"statemint" names both asset-hub-polkadot and rococo-extra',
    );
    expect(() => loadRegistry(fileOf([rococo, rococo]))).toThrow('"rococo-extra"');
  });

  test('is told which chain is malformed and where', () => {
    expect(() => loadRegistry(fileOf([{ ...rococo, decimals: 'ten' }]))).toThrow(
      /"rococo-extra"[\s\S]*decimals/,
    );
    expect(() => loadRegistry(fileOf([{ ...rococo, colour: 'red' }]))).toThrow(/colour/);
    expect(() => loadRegistry(fileOf({ rococo }))).toThrow('JSON array');
  });
});
