import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPipeline, type Pipeline } from '../../../serve/application/compose/compose.ts';
import { buildServer } from '../../../serve/application/compose/compose-server.ts';
import { readConfig } from '../../../serve/settings/settings.ts';
import { ingestAndCompute, PATIENT, readyDirectory } from '../../support/pipeline.ts';
import type { TemporaryDirectory } from '../../support/temporary-directory.ts';
import {
  ALICE,
  allNames,
  always,
  BAD,
  ContractClient,
  type ContractQuery,
  hasChain,
  hasDates,
  isFilled,
  needed,
  SAMPLES,
  testWhere,
} from './contract-client.ts';
import { describeDates } from './contract-dates.ts';
import { describeUntrusted } from './contract-untrusted.ts';
import { ENDPOINTS, type Endpoint, OURS_EVERYWHERE } from './endpoints.ts';
import { DAYS, madeBlock } from './made-blocks.ts';

const RELAYS = ['polkadot', 'kusama', 'westend', 'solo'];
const CHAIN_OF: Record<string, string> = {
  polkadot: 'polkadot',
  kusama: 'kusama',
  westend: 'westend',
  solo: 'bittensor',
};
const ALICE_GENERIC = '5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY';

let directory: TemporaryDirectory;
let pipeline: Pipeline;
let app: FastifyInstance;
beforeAll(async () => {
  directory = await readyDirectory();
  const unlimited = {
    ANONYMOUS_PER_MINUTE: '0',
    ANONYMOUS_PER_DAY: '0',
    ...PATIENT,
    LOG_LEVEL: 'silent',
  };
  pipeline = await openPipeline(readConfig({ DATA_DIR: directory.path, ...unlimited }));
  const blocks = DAYS.map((day, i) => JSON.stringify(madeBlock(100 + 10 * i, day)));
  const loaded = [...Object.values(CHAIN_OF), 'asset-hub-polkadot', 'asset-hub-kusama'];
  const lines = loaded.flatMap((chain) => blocks.map((line) => ({ chain, line })));
  await ingestAndCompute(pipeline, lines);
  app = await buildServer(pipeline);
  await app.ready();
});
afterAll(async () => {
  await app?.close();
  await pipeline?.close();
  directory?.[Symbol.dispose]();
});

const client = new ContractClient(() => app);

describe.each(ENDPOINTS)('$path', (endpoint) => {
  const wide = hasDates(endpoint) ? always : {};

  test('answers with a JSON array of rows', async () => {
    const answer = await client.ask(endpoint, needed(endpoint));
    expect(answer.statusCode, answer.body.slice(0, 500)).toBe(200);
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    expect(Array.isArray(answer.json())).toBe(true);
    if (isFilled(endpoint)) expect((await client.rowsOf(endpoint, wide)).length).toBeGreaterThan(0);
  });

  test('takes every parameter that is described', async () => {
    for (const [name, { type, values }] of Object.entries(endpoint.parameters)) {
      for (const value of values ?? [SAMPLES[type] as string])
        await client.rowsOf(endpoint, { [name]: value });
    }
  });

  test('takes ours besides', async () => {
    for (const name of [...OURS_EVERYWHERE, ...(endpoint.ours ?? [])]) {
      if (name !== 'cursor') await client.rowsOf(endpoint, { [name]: SAMPLES[name] as string });
    }
  });

  test('refuses every other', async () => {
    const unknown = [
      'foo',
      'START_DATE',
      'relayChain',
      ' chain',
      'offset',
      '__proto__',
      'constructor',
      'toString',
    ];
    const elsewhere = [...new Set(ENDPOINTS.flatMap(({ parameters }) => Object.keys(parameters)))];
    for (const name of [...unknown, ...elsewhere].filter((name) => !allNames(endpoint).includes(name))) {
      await client.refuses(endpoint, name, '1');
    }
  });

  test('takes a parameter twice only where it is a list', async () => {
    for (const [name, { type, values, repeated }] of Object.entries(endpoint.parameters)) {
      const sample = values?.[0] ?? (SAMPLES[type] as string);
      if (repeated) await client.rowsOf(endpoint, { [name]: [sample, sample] });
      else await client.refuses(endpoint, name, [sample, sample]);
    }
  });

  test.each(Object.keys(BAD))('refuses what is no %s', async (kind) => {
    for (const [name, { type }] of Object.entries(endpoint.parameters)) {
      if (type === kind) for (const bad of BAD[kind] ?? []) await client.refuses(endpoint, name, bad);
    }
  });

  const { values: relays = [] } = endpoint.parameters.relay_chain ?? {};
  testWhere(relays.length > 0, `serves ${relays.join(', ')} and refuses any other relay chain`, async () => {
    const others = RELAYS.filter((relay) => !relays.includes(relay));
    for (const relay of [...others, '', 'Polkadot', 'paseo', 'ecosystem', 'polkadot,kusama', "polkadot'"]) {
      await client.refuses(endpoint, 'relay_chain', relay);
    }
    for (const relay of relays) {
      const chain: ContractQuery = endpoint.defaults ? { chain: CHAIN_OF[relay] as string } : {};
      const rows = await client.rowsOf(endpoint, {
        relay_chain: relay,
        ...(hasChain(endpoint) ? chain : {}),
        ...wide,
      });
      for (const row of rows) expect(row.relay_chain).toBe(relay);
      if (isFilled(endpoint)) expect(rows.length).toBeGreaterThan(0);
    }
  });

  test('gives rows of no relay chain that it does not serve', async () => {
    const served = relays.length > 0 ? relays : ['polkadot', 'kusama', 'solo'];
    for (const row of await client.rowsOf(endpoint, wide)) expect(served).toContain(row.relay_chain);
  });

  testWhere(
    hasChain(endpoint),
    'takes the aliases of a chain for the chain, and answers with its one name',
    async () => {
      const rows = await client.rowsOf(endpoint, { ...wide, chain: 'asset-hub-polkadot' });
      if (isFilled(endpoint)) expect(rows.length).toBeGreaterThan(0);
      for (const { chain } of rows) expect(chain).toBe('asset-hub-polkadot');
      for (const alias of ['statemint', 'polkadot_asset_hub', 'assethub']) {
        expect(await client.rowsOf(endpoint, { ...wide, chain: alias }), alias).toEqual(rows);
      }
    },
  );

  testWhere(
    hasChain(endpoint),
    'answers for an unknown chain, and for one of another relay chain, with nothing',
    async () => {
      for (const chain of ['atlantis', 'acala', "polkadot' OR 1=1 --", 'пolkadot']) {
        expect(await client.rowsOf(endpoint, { ...wide, chain })).toEqual([]);
      }
      if (relays.includes('kusama')) {
        expect(await client.rowsOf(endpoint, { ...wide, chain: 'kusama', relay_chain: 'polkadot' })).toEqual(
          [],
        );
      }
    },
  );

  const defaults = Object.entries(endpoint.defaults ?? {});
  testWhere(
    defaults.length > 0,
    `means ${defaults.map((pair) => pair.join(' ')).join(' and ')} when nothing is given`,
    async () => {
      const rows = await client.rowsOf(endpoint);
      if (isFilled(endpoint)) expect(rows.length).toBeGreaterThan(0);
      for (const row of rows) expect(row).toMatchObject(endpoint.defaults as object);
    },
  );

  testWhere(
    endpoint.defaults?.chain,
    'means the relay chain of the chain when only that is given',
    async () => {
      const rows = await client.rowsOf(endpoint, { chain: 'asset-hub-kusama' });
      expect(rows.length).toBeGreaterThan(0);
      for (const row of rows) expect(row).toMatchObject({ chain: 'asset-hub-kusama', relay_chain: 'kusama' });
    },
  );

  testWhere(
    defaults.length === 0 && isFilled(endpoint),
    'means every relay chain and chain when none is given',
    async () => {
      expect(new Set((await client.rowsOf(endpoint, wide)).map((row) => row.relay_chain))).toEqual(
        new Set(relays),
      );
    },
  );

  testWhere(
    isFilled(endpoint),
    'an address filter compares accounts, whatever prefix they are written with',
    async () => {
      for (const [name, { type }] of Object.entries(endpoint.parameters)) {
        if (type !== 'account') continue;
        const rows = await client.rowsOf(endpoint, { [name]: ALICE });
        expect(rows.length).toBeGreaterThan(0);
        expect(await client.rowsOf(endpoint, { [name]: ALICE_GENERIC })).toEqual(rows);
      }
    },
  );
});

describeDates(client);
describeUntrusted(client);

describe('every fault of a request is told at once', () => {
  test('with its place', async () => {
    const summary = ENDPOINTS.find(({ path }) => path === '/api/daily-summary') as Endpoint;
    const issues = await client.refusal(summary, { relay_chain: 'atlantis', start_date: 'today', foo: '1' });
    expect(issues.map(({ loc }) => loc[1]).sort()).toEqual(['end_date', 'foo', 'relay_chain', 'start_date']);
  });
});

test('every path of the document is here', () => {
  expect(ENDPOINTS).toHaveLength(38);
});
