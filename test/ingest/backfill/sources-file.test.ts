import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readSourcesFile } from '../../../ingest/backfill/sources-file.ts';
import { loadRegistry } from '../../../ingest/chains/registry.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const place = temporaryDirectory();
afterAll(() => place[Symbol.dispose]());
const registry = loadRegistry();
const path = join(place.path, 'sources.yaml');
const read = (text: string) => {
  writeFileSync(path, text);
  return readSourcesFile(path, registry);
};

const GOOD = `
# Polkadot from an archive, then from the service that has the rest.
concurrency: 12
chains:
  - chain: dot-relay
    from: 2024-01-01
    to: 2024-01-31
    sources:
      - archive: blocks/polkadot.ndjson.zst
      - url: http://127.0.0.1:8080
        concurrency: 4
  - chain: moonbeam
    sources:
      - archive: https://archive.example/moonbeam.ndjson.gz
      - { url: 'https://rest.example/v1', force: true }
`.replace('dot-relay', 'polkadot-relay');

describe('a file of sources', () => {
  it('names chains with their ranges and sources, archives from where the file lies', () => {
    const { concurrency, chains } = read(GOOD);
    expect(concurrency).toBe(12);
    expect(chains.map(({ chain, ...rest }) => ({ chain: chain.name, ...rest }))).toEqual([
      {
        chain: 'polkadot',
        from: { time: Date.parse('2024-01-01') },
        to: { time: Date.parse('2024-02-01') },
        sources: [
          { archive: join(place.path, 'blocks/polkadot.ndjson.zst') },
          { url: 'http://127.0.0.1:8080', concurrency: 4 },
        ],
      },
      {
        chain: 'moonbeam',
        from: { height: 0 },
        sources: [
          { archive: 'https://archive.example/moonbeam.ndjson.gz' },
          { url: 'https://rest.example/v1', concurrency: 8, force: true },
        ],
      },
    ]);
  });

  it('names feeds of prices and of locked value, with keys from the environment or a file', () => {
    writeFileSync(join(place.path, 'key'), 'of-a-file\n');
    writeFileSync(
      path,
      `prices:
  - adapter: coingecko
    key_env: GECKO
    from: 2024-01-01
    ids: { statemint: polkadot, moonbeam: moonbeam, vara: vara-network }
  - { adapter: coingecko, url: 'https://pro-api.coingecko.com/api/v3', key_file: key, from: 2020-01-01, to: 2020-12-31, requests_per_minute: 500, ids: { kusama: kusama } }
tvl:
  - { adapter: defillama, from: 2024-01-01, ids: { hydradx: Hydration } }
`,
    );
    const { values, chains } = readSourcesFile(path, registry, { GECKO: 'of-the-environment' });
    expect(chains).toEqual([]);
    expect(values.map(({ kind, key, series }) => [kind, key, series])).toEqual([
      [
        'price',
        'of-the-environment',
        [
          { id: 'polkadot', relay_chain: 'polkadot', chain: 'polkadot', symbol: 'DOT' },
          { id: 'moonbeam', relay_chain: 'polkadot', chain: 'polkadot', symbol: 'GLMR' },
          { id: 'vara-network', relay_chain: 'solo', chain: 'vara', symbol: 'VARA' },
        ],
      ],
      ['price', 'of-a-file', [{ id: 'kusama', relay_chain: 'kusama', chain: 'kusama', symbol: 'KSM' }]],
      ['tvl', undefined, [{ id: 'Hydration', relay_chain: 'polkadot', chain: 'hydration', symbol: '' }]],
    ]);
    expect(values.map(({ requestsPerMinute }) => requestsPerMinute)).toEqual([10, 500, 30]);
  });

  it('of the guide can be read', () => {
    const guide = readFileSync(new URL('../../../serve/guides/texts/backfill.md', import.meta.url), 'utf8');
    const [, text = ''] = /```yaml\n([\s\S]*?)```/.exec(guide) ?? [];
    writeFileSync(path, text);
    const { chains, values } = readSourcesFile(path, registry, { COINGECKO_KEY: 'key' });
    expect([chains.length, values.map(({ adapter }) => adapter.name)]).toEqual([
      2,
      ['coingecko', 'defillama', 'defillama'],
    ]);
  });

  it('may be JSON', () => {
    const { chains } = read(
      JSON.stringify({ chains: [{ chain: 'kusama', from: 7, to: 9, sources: [{ url: 'http://a' }] }] }),
    );
    expect(chains[0]).toMatchObject({ from: { height: 7 }, to: { height: 9 } });
  });

  const one = (more: string, source = '- url: http://a') =>
    `chains:\n  - chain: kusama\n    ${more}\n    sources:\n      ${source}\n`;
  const feed = (more: string, kind = 'prices') =>
    `${kind}:\n  - adapter: coingecko\n    from: 2024-01-01\n    ${more}\n    ids: { polkadot: polkadot }\n`;
  it.each<[what: string, text: string, says: RegExp]>([
    [
      'an unknown feed',
      feed('').replace('coingecko', 'coingeko'),
      /:2: prices\[0\]\.adapter: coingeko is not a feed of price; use coingecko or defillama: did you mean coingecko\?/,
    ],
    [
      'a feed without that value',
      feed('', 'tvl'),
      /:2: tvl\[0\]\.adapter: coingecko is not a feed of tvl; use defillama/,
    ],
    [
      'a feed of an unknown chain',
      feed('').replace('polkadot:', 'polkadto:'),
      /:5: prices\[0\]\.ids\.polkadto: no chain is called polkadto/,
    ],
    [
      'a feed of no chain',
      feed('').replace('polkadot: polkadot', ''),
      /:5: prices\[0\]\.ids: names no chain/,
    ],
    ['a key that is not there', feed('key_env: NOT_SET'), /:4: prices\[0\]\.key_env: is empty or not set/],
    ['a key of no file', feed('key_file: nowhere'), /:4: prices\[0\]\.key_file: ENOENT/],
    ['two keys', feed('key_env: A\n    key_file: b'), /:2: prices\[0\]: has key_env and key_file/],
    ['a feed that ends before it begins', feed('to: 2023-01-01'), /:3: prices\[0\]\.from: is later than to/],
    ['no YAML', 'chains: [', /:1: cannot be read: /],
    ['nothing', '', /:1: Invalid input/],
    ['no chains', 'chains: []', /:1: names neither chains nor prices nor tvl/],
    ['a chain without sources', 'chains:\n  - chain: kusama\n', /:2: chains\[0\]\.sources: is missing/],
    [
      'an unknown chain',
      one('').replace('kusama', 'kusamma'),
      /:2: chains\[0\]\.chain: no chain is called kusamma: did you mean kusama\?/,
    ],
    [
      'a chain twice',
      `${one('')}  - chain: kusama-relay\n    sources:\n      - url: http://b\n`,
      /:6: chains\[1\]\.chain: repeats kusama/,
    ],
    ['an unknown key', one('fromm: 3'), /:3: chains\[0\]\.fromm: is an unknown key; did you mean from\?/],
    ['a wrong height', one('from: -1'), /:3: chains\[0\]\.from: is neither a height nor a day/],
    ['a day that is none', one('to: 2024-02-30'), /:3: chains\[0\]\.to: is neither a height nor a day/],
    ['a range the wrong way round', one('from: 9\n    to: 8'), /:3: chains\[0\]\.from: is greater than to/],
    [
      'days the wrong way round',
      one('from: 2024-02-01\n    to: 2024-01-31'),
      /:3: chains\[0\]\.from: is greater than to/,
    ],
    ['no address', one('', '- url: 127.0.0.1:8080'), /:5: chains\[0\]\.sources\[0\]\.url: is not an http/],
    ['a password', one('', '- url: http://me:secret@a'), /must not contain a username or password/],
    [
      'a password of an archive',
      one('', '- archive: http://me:secret@a/b'),
      /must not contain a username or password/,
    ],
    ['neither address nor archive', one('', '- force: true'), /sources\[0\]: needs exactly one of node/],
    ['both', one('', '- url: http://a\n        archive: b'), /sources\[0\]: needs exactly one of node/],
    ['too much at a time', one('', '- url: http://a\n        concurrency: 1000'), /:6: .*concurrency: /],
    [
      'too many chains',
      `chains:\n${'  - { chain: kusama, sources: [{ url: http://a }] }\n'.repeat(101)}`,
      /:2: chains: /,
    ],
    [
      'references that grow',
      `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefgh'
        .split('')
        .map((name, i) => `${name}: &${name} [${Array(9).fill(`*${'abcdefg'[i]}`)}]`)
        .join('\n')}\nchains: *h\n`,
      /:1: Excessive alias count/,
    ],
  ])('is refused with the line and what is wrong: %s', (_what, text, says) => {
    expect(() => read(text)).toThrow(says);
    expect(() => read(text)).not.toThrow(/secret/);
  });

  it('has to be there, and not too large', () => {
    expect(() => readSourcesFile(join(place.path, 'none.yaml'), registry)).toThrow(
      /none.yaml cannot be read: ENOENT/,
    );
    expect(() => read(' '.repeat(1024 * 1024 + 1))).toThrow(/more than 1048576 bytes/);
  });
});
