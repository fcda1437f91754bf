import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPipeline, type Pipeline } from '../../../serve/compose.ts';
import { buildServer } from '../../../serve/compose-server.ts';
import { readConfig } from '../../../serve/settings.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../support/temporary-directory.ts';
import { ENDPOINTS, type Endpoint, OUR_PATHS, OURS_EVERYWHERE } from './endpoints.ts';

/** Paths of the identity provider and of alerts, which have tests of their own. */
const ELSEWHERE = /^\/(?:api\/v4|alerts|oauth|\.well-known)\//;

const RELAYS = ['polkadot', 'kusama', 'westend', 'solo'];
const CHAIN_OF: Record<string, string> = {
  polkadot: 'polkadot',
  kusama: 'kusama',
  westend: 'westend',
  solo: 'bittensor',
};
const ALICE = '15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5';
const ALICE_GENERIC = '5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY';

type Row = Readonly<Record<string, unknown>>;

let directory: TemporaryDirectory;
let engine: Pipeline;
let app: FastifyInstance;
beforeAll(async () => {
  directory = temporaryDirectory();
  const unlimited = { ANONYMOUS_PER_MINUTE: '0', ANONYMOUS_PER_DAY: '0', LOG_LEVEL: 'silent' };
  engine = await openPipeline(readConfig({ DATA_DIR: directory.path, ...unlimited }));
  for (const chain of [...Object.values(CHAIN_OF), 'asset-hub-polkadot', 'asset-hub-kusama']) {
    const blocks = DAYS.map((day, i) => JSON.stringify(madeBlock(100 + 10 * i, day)));
    await engine.ingest(Readable.from([Buffer.from(blocks.join('\n'))]), { name: chain });
  }
  await engine.aggregator.waitUntilComputed();
  app = await buildServer(engine);
  await app.ready();
});
afterAll(async () => {
  await app?.close();
  await engine?.close();
  directory?.[Symbol.dispose]();
});

/** Days around the earliest ones that are served, and around the ends of months. */
const DAYS = ['2022-12-30', '2022-12-31', '2023-01-01', '2023-01-02', '2023-01-31', '2023-02-01'];

function madeBlock(number: number, day: string): object {
  const hash = (of: number) => `0x${String(of).padStart(64, '0')}`;
  const method = (pallet: string, method: string) => ({ pallet, method });
  const now = String(Date.parse(`${day}T12:00:00Z`));
  const plain = {
    signature: null,
    info: {},
    events: [],
    success: true,
    paysFee: false,
    tip: null,
    hash: hash(1),
  };
  return {
    number: String(number),
    hash: hash(number),
    parentHash: hash(number - 1),
    onInitialize: { events: [] },
    extrinsics: [
      { ...plain, method: method('timestamp', 'set'), args: { now } },
      {
        ...plain,
        method: method('system', 'remark'),
        args: {},
        signature: { signer: { id: ALICE } },
        paysFee: false,
      },
    ],
    onFinalize: { events: [] },
    finalized: true,
  };
}

type Query = Readonly<Record<string, string | readonly string[]>>;

/** What a path needs to answer at all. */
const needed = ({ parameters }: Endpoint): Query =>
  Object.fromEntries(
    Object.entries(parameters).flatMap(([name, { required, type }]) =>
      required ? [[name, SAMPLES[type] as string]] : [],
    ),
  );

const SAMPLES: Record<string, string> = {
  relay_chain: 'polkadot',
  chain: 'polkadot',
  date: '2023-01-01',
  integer: '1',
  string: '1',
  hex: '0xffffffffffffffffffff',
  account: ALICE,
  h160: `0x${'1'.repeat(40)}`,
  limit: '1',
  format: 'json',
  exclude_domains: 'Consensus',
};

/** What no parameter of these kinds takes. */
const BAD: Record<string, readonly string[]> = {
  integer: ['', 'x', '1.5', '1e3', ' 1', '1 ', '0x1', '१', '1,000'],
  enum: ['', 'other', 'TRANSFER', 'Bulk', '1'],
  account: ['', 'nobody', `${ALICE}x`, ALICE.slice(0, -1), '0x12', "'"],
  h160: ['', '0x', `0x${'1'.repeat(39)}`, `0x${'g'.repeat(40)}`, ALICE],
};

async function ask({ path }: Endpoint, query: Query = {}) {
  const search = new URLSearchParams(
    Object.entries(query).flatMap(([name, given]) =>
      [given].flat().map((value): [string, string] => [name, value]),
    ),
  );
  return app.inject(`${path}?${search}`);
}

async function rowsOf(endpoint: Endpoint, query: Query = {}): Promise<Row[]> {
  const answer = await ask(endpoint, { ...needed(endpoint), ...query });
  expect(answer.statusCode, answer.body.slice(0, 500)).toBe(200);
  return answer.json();
}

async function refusal(
  endpoint: Endpoint,
  query: Query,
): Promise<readonly { type: string; loc: unknown[]; msg: string }[]> {
  const answer = await ask(endpoint, query);
  expect(answer.statusCode, `${JSON.stringify(query)}: ${answer.body.slice(0, 500)}`).toBe(422);
  expect(answer.headers['content-type']).toMatch(/^application\/json/);
  const { detail } = answer.json();
  for (const issue of detail) {
    expect(issue).toMatchObject({ type: expect.any(String), msg: expect.any(String) });
    expect(issue.loc[0]).toBe('query');
  }
  return detail;
}

/** Checks that exactly one parameter is complained of. */
async function refuses(endpoint: Endpoint, name: string, given: string | readonly string[]): Promise<void> {
  const issues = await refusal(endpoint, { ...needed(endpoint), [name]: given });
  expect(issues.map(({ loc }) => loc)).toEqual([['query', name]]);
}

const allNames = (endpoint: Endpoint) => [
  ...Object.keys(endpoint.parameters),
  ...(endpoint.ours ?? []),
  ...OURS_EVERYWHERE,
];
/** A test of what not every path has. */
function testWhere(applies: unknown, title: string, body: () => Promise<void>): void {
  if (applies) test(title, body);
}

const hasDates = ({ parameters }: Endpoint) => 'start_date' in parameters;
const hasChain = ({ parameters }: Endpoint) => 'chain' in parameters;
/** Paths that the blocks above give rows to; of the others only the parameters are looked at here. */
const isFilled = ({ path }: Endpoint) =>
  /\/(daily-(uptime|tps|fees|summary)|monthly-unique-accounts|explorer\/)/.test(path);
const always: Query = { start_date: '2022-01-01', end_date: '2024-12-31' };
const dayColumn = ({ path }: Endpoint) => (path.includes('/monthly-') ? 'month' : 'date');

describe.each(ENDPOINTS)('$path', (endpoint) => {
  const wide = hasDates(endpoint) ? always : {};

  test('answers with a JSON array of rows', async () => {
    const answer = await ask(endpoint, needed(endpoint));
    expect(answer.statusCode, answer.body.slice(0, 500)).toBe(200);
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    expect(Array.isArray(answer.json())).toBe(true);
    if (isFilled(endpoint)) expect((await rowsOf(endpoint, wide)).length).toBeGreaterThan(0);
  });

  test('takes every parameter that is described', async () => {
    for (const [name, { type, values }] of Object.entries(endpoint.parameters)) {
      for (const value of values ?? [SAMPLES[type] as string]) await rowsOf(endpoint, { [name]: value });
    }
  });

  test('takes ours besides', async () => {
    for (const name of [...OURS_EVERYWHERE, ...(endpoint.ours ?? [])]) {
      if (name !== 'cursor') await rowsOf(endpoint, { [name]: SAMPLES[name] as string });
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
      await refuses(endpoint, name, '1');
    }
  });

  test('takes a parameter twice only where it is a list', async () => {
    for (const [name, { type, values, repeated }] of Object.entries(endpoint.parameters)) {
      const sample = values?.[0] ?? (SAMPLES[type] as string);
      if (repeated) await rowsOf(endpoint, { [name]: [sample, sample] });
      else await refuses(endpoint, name, [sample, sample]);
    }
  });

  test.each(Object.keys(BAD))('refuses what is no %s', async (kind) => {
    for (const [name, { type }] of Object.entries(endpoint.parameters)) {
      if (type === kind) for (const bad of BAD[kind] ?? []) await refuses(endpoint, name, bad);
    }
  });

  const { values: relays = [] } = endpoint.parameters.relay_chain ?? {};
  testWhere(relays.length > 0, `serves ${relays.join(', ')} and refuses any other relay chain`, async () => {
    const others = RELAYS.filter((relay) => !relays.includes(relay));
    for (const relay of [...others, '', 'Polkadot', 'paseo', 'ecosystem', 'polkadot,kusama', "polkadot'"]) {
      await refuses(endpoint, 'relay_chain', relay);
    }
    for (const relay of relays) {
      const chain: Query = endpoint.defaults ? { chain: CHAIN_OF[relay] as string } : {};
      const rows = await rowsOf(endpoint, {
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
    for (const row of await rowsOf(endpoint, wide)) expect(served).toContain(row.relay_chain);
  });

  testWhere(
    hasChain(endpoint),
    'takes the aliases of a chain for the chain, and answers with its one name',
    async () => {
      const rows = await rowsOf(endpoint, { ...wide, chain: 'asset-hub-polkadot' });
      if (isFilled(endpoint)) expect(rows.length).toBeGreaterThan(0);
      for (const { chain } of rows) expect(chain).toBe('asset-hub-polkadot');
      for (const alias of ['statemint', 'polkadot_asset_hub', 'assethub']) {
        expect(await rowsOf(endpoint, { ...wide, chain: alias }), alias).toEqual(rows);
      }
    },
  );

  testWhere(
    hasChain(endpoint),
    'answers for an unknown chain, and for one of another relay chain, with nothing',
    async () => {
      for (const chain of ['atlantis', 'acala', "polkadot' OR 1=1 --", 'пolkadot']) {
        expect(await rowsOf(endpoint, { ...wide, chain })).toEqual([]);
      }
      if (relays.includes('kusama')) {
        expect(await rowsOf(endpoint, { ...wide, chain: 'kusama', relay_chain: 'polkadot' })).toEqual([]);
      }
    },
  );

  const defaults = Object.entries(endpoint.defaults ?? {});
  testWhere(
    defaults.length > 0,
    `means ${defaults.map((pair) => pair.join(' ')).join(' and ')} when nothing is given`,
    async () => {
      const rows = await rowsOf(endpoint);
      if (isFilled(endpoint)) expect(rows.length).toBeGreaterThan(0);
      for (const row of rows) expect(row).toMatchObject(endpoint.defaults as object);
    },
  );

  testWhere(
    endpoint.defaults?.chain,
    'means the relay chain of the chain when only that is given',
    async () => {
      const rows = await rowsOf(endpoint, { chain: 'asset-hub-kusama' });
      expect(rows.length).toBeGreaterThan(0);
      for (const row of rows) expect(row).toMatchObject({ chain: 'asset-hub-kusama', relay_chain: 'kusama' });
    },
  );

  testWhere(
    defaults.length === 0 && isFilled(endpoint),
    'means every relay chain and chain when none is given',
    async () => {
      expect(new Set((await rowsOf(endpoint, wide)).map((row) => row.relay_chain))).toEqual(new Set(relays));
    },
  );

  testWhere(
    isFilled(endpoint),
    'an address filter compares accounts, whatever prefix they are written with',
    async () => {
      for (const [name, { type }] of Object.entries(endpoint.parameters)) {
        if (type !== 'account') continue;
        const rows = await rowsOf(endpoint, { [name]: ALICE });
        expect(rows.length).toBeGreaterThan(0);
        expect(await rowsOf(endpoint, { [name]: ALICE_GENERIC })).toEqual(rows);
      }
    },
  );
});

describe.each(ENDPOINTS.filter(hasDates))('dates of $path', (endpoint) => {
  const column = dayColumn(endpoint);
  const daysOf = async (query: Query) =>
    [...new Set((await rowsOf(endpoint, query)).map((row) => row[column] as string))].sort();
  const isMonthly = column === 'month';

  test.each(['start_date', 'end_date'])('%s is a day of the form YYYY-MM-DD or refused', async (name) => {
    const bad = [
      '', ' ', '2023', '2023-01', '2023-1-1', '20230101', '2023-01-01T00:00:00Z', '2023/01/01', '01-01-2023', '2023-13-01', '2023-00-10',
      '2023-01-00', '2023-01-32', '2023-02-29', '2100-02-29', '2023-04-31', ' 2023-01-01', '2023-01-01 ', '+2023-01-01', '-2023-01-01',
      '２０２３-01-01', 'today', "2023-01-01'", '12023-01-01',
    ]; // biome-ignore format: a list of texts
    for (const text of bad) {
      const issues = await refusal(endpoint, { ...needed(endpoint), [name]: text });
      expect(
        issues.map(({ loc }) => loc),
        text,
      ).toEqual([['query', name]]);
    }
  });

  test('a leap day and the ends of the calendar are days', async () => {
    await rowsOf(endpoint, { start_date: '2024-02-29', end_date: '2024-02-29' });
    await rowsOf(endpoint, { start_date: '0001-01-01', end_date: '9999-12-31' });
  });

  test('a range that ends before it begins is refused', async () => {
    const issues = await refusal(endpoint, { start_date: '2023-01-02', end_date: '2023-01-01' });
    expect(issues).toHaveLength(1);
  });

  const { start_date: start, end_date: end } = endpoint.parameters;
  if (start?.required || end?.required) {
    test('are required: each that is missing is told', async () => {
      const missing = (name: string) => ({
        type: 'missing',
        loc: ['query', name],
        msg: expect.stringMatching(/\S/),
      });
      expect(await refusal(endpoint, {})).toEqual([
        expect.objectContaining(missing('start_date')),
        expect.objectContaining(missing('end_date')),
      ]);
      expect(await refusal(endpoint, { start_date: '2023-01-01' })).toEqual([
        expect.objectContaining(missing('end_date')),
      ]);
      expect(await refusal(endpoint, { end_date: '2023-01-01' })).toEqual([
        expect.objectContaining(missing('start_date')),
      ]);
    });
  } else {
    test('may be left out, each or both: then there is no bound', async () => {
      if (!isFilled(endpoint)) {
        for (const query of [{}, { start_date: '2023-01-02' }, { end_date: '2023-01-31' }])
          await rowsOf(endpoint, query);
        return;
      }
      const all = isMonthly ? ['2023-01-31', '2023-02-28'] : DAYS.filter((day) => day >= '2023-01-01');
      expect(await daysOf({})).toEqual(all);
      expect(await daysOf({ start_date: '2023-01-02' })).toEqual(all.filter((day) => day >= '2023-01-02'));
      expect(await daysOf({ end_date: '2023-01-31' })).toEqual(all.filter((day) => day <= '2023-01-31'));
    });
  }

  testWhere(isFilled(endpoint), 'both ends of a range belong to it', async () => {
    if (isMonthly) {
      expect(await daysOf({ start_date: '2023-01-31', end_date: '2023-01-31' })).toEqual(['2023-01-31']);
      expect(await daysOf({ start_date: '2023-01-01', end_date: '2023-01-30' })).toEqual([]);
      expect(await daysOf({ start_date: '2023-01-15', end_date: '2023-01-31' })).toEqual(['2023-01-31']);
    } else {
      expect(await daysOf({ start_date: '2023-01-01', end_date: '2023-01-01' })).toEqual(['2023-01-01']);
      expect(await daysOf({ start_date: '2023-01-02', end_date: '2023-01-31' })).toEqual([
        '2023-01-02',
        '2023-01-31',
      ]);
    }
  });

  testWhere(
    endpoint.earliest,
    `nothing before ${endpoint.earliest} is served, and an earlier start is no error`,
    async () => {
      const earliest = endpoint.earliest as string;
      const days = await daysOf(always);
      expect(days.filter((day) => day < earliest)).toEqual([]);
      if (isFilled(endpoint)) expect(days[0]).toBe(isMonthly ? '2023-01-31' : earliest);
      expect(await daysOf({ start_date: '2000-01-01', end_date: previousDay(earliest) })).toEqual([]);
    },
  );

  test('a range without data is empty', async () => {
    expect(await rowsOf(endpoint, { start_date: '2030-01-01', end_date: '2030-12-31' })).toEqual([]);
  });
});

function previousDay(day: string): string {
  return new Date(Date.parse(day) - 86_400_000).toISOString().slice(0, 10);
}

describe('every fault of a request is told at once', () => {
  test('with its place', async () => {
    const summary = ENDPOINTS.find(({ path }) => path === '/api/daily-summary') as Endpoint;
    const issues = await refusal(summary, { relay_chain: 'atlantis', start_date: 'today', foo: '1' });
    expect(issues.map(({ loc }) => loc[1]).sort()).toEqual(['end_date', 'foo', 'relay_chain', 'start_date']);
  });
});

describe('the OpenAPI document', () => {
  interface Described {
    name: string;
    in: string;
    required?: boolean;
    schema: { enum?: string[]; type?: string; format?: string };
  }
  let paths: Record<string, { get?: { parameters?: Described[] } }>;
  let text: string;
  beforeAll(async () => {
    const answer = await app.inject('/openapi.json');
    expect(answer.statusCode).toBe(200);
    text = answer.body;
    paths = answer.json().paths;
  });

  test('lists exactly the paths of the document, and ours', () => {
    const own = Object.entries(paths).filter(([path]) => !ELSEWHERE.test(path));
    expect(own.map(([path]) => path).sort()).toEqual(
      [...ENDPOINTS.map(({ path }) => path), ...OUR_PATHS].sort(),
    );
    for (const [path, methods] of own) expect(Object.keys(methods), path).toEqual(['get']);
  });

  test.each(ENDPOINTS)('describes $path with the same parameters, each as required as it is', (endpoint) => {
    const described = paths[endpoint.path]?.get?.parameters ?? [];
    expect(described.map(({ name }) => name).sort()).toEqual(allNames(endpoint).sort());
    for (const parameter of described) {
      expect(parameter.in).toBe('query');
      const declared = endpoint.parameters[parameter.name];
      expect(parameter.required ?? false, parameter.name).toBe(declared?.required ?? false);
      if (declared?.values)
        expect([...(parameter.schema.enum ?? [])].sort()).toEqual([...declared.values].sort());
      if (declared?.type === 'date')
        expect(parameter.schema).toMatchObject({ type: 'string', format: 'date' });
      if (declared?.type === 'integer') expect(parameter.schema.type).toBe('integer');
    }
  });

  test.each(ENDPOINTS)('names the record of $path', ({ record }) => {
    expect(text).toContain(record);
  });
});

test('every path of the document is here', () => {
  expect(ENDPOINTS).toHaveLength(38);
});
