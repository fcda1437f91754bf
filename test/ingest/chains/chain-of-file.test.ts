import { describe, expect, test } from 'vitest';
import { chainOfFile, fileStem } from '../../../ingest/chains/chain-of-file.ts';
import { buildRegistry, loadRegistry } from '../../../ingest/chains/registry.ts';

describe('the chain of a file', () => {
  test.each([
    ['polkadot.ndjson.gz', 'polkadot'],
    ['/data/archive/asset-hub-kusama.jsonl.zst', 'asset-hub-kusama'],
    ['kusama.json', 'kusama'],
    ['moonbeam', 'moonbeam'],
    ['a.b.ndjson', 'a.b'],
    ['/data/kusama.parquet', 'kusama'],
  ])('%s is named after %s', (file, name) => {
    expect(fileStem(file)).toBe(name);
  });

  const registry = loadRegistry();
  test.each([
    ['polkadot.ndjson.gz', 'polkadot'],
    ['/data/polkadot-2024-01.ndjson.gz', 'polkadot'],
    ['asset-hub-kusama_0001-of-0020.jsonl.zst', 'asset-hub-kusama'],
    ['statemint.20000000-20009999.parquet', 'asset-hub-polkadot'],
    ['atlantis-2024-01.ndjson', undefined],
    ['polkadot-archive.ndjson', undefined],
    ['polkadot2024.ndjson', undefined],
    ['moonbeam-2024-01-01T00.ndjson', 'moonbeam'],
    ['polkadot-part-3.ndjson', undefined],
    ['polkadot-3-part-7.ndjson', 'polkadot'],
    // What follows may name another chain, and a number alone may be that of a parachain.
    ['kusama-2024-01-asset-hub.ndjson.gz', undefined],
    ['polkadot-3338-peaq.ndjson', undefined],
    ['assethub-2024-kusama.ndjson', undefined],
    ['polkadot-1000.ndjson', undefined],
    ['kusama_2023.parquet', undefined],
    ['polkadot-2022.ndjson', 'polkadot'],
  ])('%s holds blocks of %s', (file, name) => {
    expect(chainOfFile(registry, file)?.name).toBe(name);
  });

  test('a chain whose own name is like that of a part goes first', () => {
    const chain = { relay_chain: 'solo', ss58_prefix: 42, token: 'UNIT', decimals: 12 };
    const registered = buildRegistry([
      { ...chain, name: 'atlantis' },
      { ...chain, name: 'atlantis-2' },
    ]);
    expect(chainOfFile(registered, 'atlantis-2-2024-01.ndjson')?.name).toBe('atlantis-2');
    expect(chainOfFile(registered, 'atlantis-3.ndjson')?.name).toBe('atlantis');
  });
});
