import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildServer } from '../../../../serve/application/compose/compose-server.ts';
import { ingestAndCompute, openTestPipeline, type TestPipeline } from '../../../support/pipeline.ts';
import { recordedLines } from '../../../support/recordings.ts';
import { ALICE, confirmed, standard, submitted, vote, Writer } from './story.ts';

const VOTER = '5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY';
const VOTER_OF_POLKADOT = '15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5';

// Besides the recorded blocks: a referendum before the first served day, one without a known submission, and one of Kusama.
const relay = new Writer('polkadot');
relay.opening('2022-12-31T12:00:00.000Z', submitted(20, 1));
relay.opening('2023-01-01T12:00:00.000Z', submitted(10, 1), confirmed(9));
const kusama = new Writer('kusama');
kusama.opening('2024-01-01T12:00:00.000Z', submitted(3, 1));
kusama.extrinsics('2024-01-02T12:00:00.000Z', vote(ALICE, 3, standard(true, 1, '5')));
kusama.opening(
  '2024-01-03T12:00:00.000Z',
  ['bounties.BountyProposed', '7'],
  ['childBounties.Added', '8', '1'],
);

let opened: TestPipeline;
let app: FastifyInstance;
beforeAll(async () => {
  opened = await openTestPipeline();
  await ingestAndCompute(opened.pipeline, [...recordedLines('runtime'), ...relay.lines, ...kusama.lines]);
  app = await buildServer(opened.pipeline);
});
afterAll(async () => {
  await app.close();
  await opened.close();
});

type Served = Record<string, unknown>;
async function get(url: string): Promise<Served[]> {
  const answer = await app.inject({ url: `/api/${url}` });
  expect([url, answer.statusCode]).toEqual([url, 200]);
  return answer.json<Served[]>();
}
const refusal = async (url: string) => (await app.inject({ url: `/api/${url}` })).statusCode;
const values = (rows: readonly Served[], name: string) => rows.map((row) => row[name]);

describe('/api/daily-gov-referenda-results', () => {
  const PATH = 'daily-gov-referenda-results';
  it('has the primary relay chain, by index; rows before the first served day are omitted, rows without a start are not', async () => {
    expect(values(await get(PATH), 'referendum_index')).toEqual([0, 1, 9, 10]);
    expect(values(await get(`${PATH}?relay_chain=polkadot&chain=polkadot`), 'referendum_index')).toHaveLength(
      4,
    );
    expect(await get(`${PATH}?chain=kusama`)).toEqual([]);
  });
  it('filters by the day of submission, both ends inclusive', async () => {
    expect(
      values(await get(`${PATH}?start_date=2023-01-01&end_date=2023-01-01`), 'referendum_index'),
    ).toEqual([10]);
    expect(values(await get(`${PATH}?end_date=2026-11-21`), 'referendum_index')).toEqual([0, 1, 10]);
    expect(await get(`${PATH}?start_date=2023-01-02&end_date=2026-11-20`)).toEqual([]);
  });
  it.each(['relay_chain=kusama', 'relay_chain=solo', 'start_date=2023-02-30', 'referendum_index=1'])(
    'refuses %s',
    async (query) => {
      expect(await refusal(`${PATH}?${query}`)).toBe(422);
    },
  );
});

describe('/api/gov-voter-history', () => {
  const PATH = 'gov-voter-history';
  it('has every served relay chain, in the order of its key', async () => {
    const rows = await get(PATH);
    const key = (row: Served) =>
      [row.relay_chain, row.chain, row.referendum_index, row.voter, row.vote_type, row.vote_direction].join(
        ' ',
      );
    expect(rows.map(key)).toEqual(rows.map(key).toSorted());
    expect(new Set(values(rows, 'relay_chain'))).toEqual(new Set(['kusama', 'polkadot']));
    expect(rows).toHaveLength(10);
  });
  it('finds a voter by any encoding, and a referendum by its index', async () => {
    const rows = await get(`${PATH}?voter=${VOTER}`);
    expect(values(rows, 'voter')).toEqual([VOTER_OF_POLKADOT, VOTER_OF_POLKADOT]);
    expect(values(await get(`${PATH}?voter=${VOTER}&referendum_index=1`), 'capital_planck')).toEqual([
      '300000000000',
    ]);
    expect(await get(`${PATH}?referendum_index=4`)).toEqual([]);
  });
  it('does not show the keys of accounts', async () => {
    expect(Object.keys((await get(PATH))[0] as Served)).not.toContain('voter_key');
  });
  it.each([
    'referendum_index=one',
    'referendum_index=-1',
    'voter=nobody',
    'relay_chain=polkadot',
    'chain=polkadot',
    'start_date=2024-01-01',
  ])('refuses %s', async (query) => {
    expect(await refusal(`${PATH}?${query}`)).toBe(422);
  });
  it('is divided into pages without a gap', async () => {
    const rows: Served[] = [];
    for (let url: string | undefined = `/api/${PATH}?limit=3`; url !== undefined; ) {
      const answer: Awaited<ReturnType<typeof app.inject>> = await app.inject({ url });
      rows.push(...answer.json<Served[]>());
      url = /<([^>]+)>/.exec(String(answer.headers.link ?? ''))?.[1];
    }
    expect(rows).toEqual(await get(PATH));
  });
});

describe('/api/monthly-gov-participation and /api/monthly-gov-tokens', () => {
  it.each(['monthly-gov-participation', 'monthly-gov-tokens'])(
    '%s is of the primary relay chain, by the last day of its month',
    async (path) => {
      const rows = await get(path);
      expect(new Set(values(rows, 'relay_chain'))).toEqual(new Set(['polkadot']));
      expect(await get(`${path}?start_date=2026-11-30&end_date=2026-11-30&chain=polkadot`)).toEqual(rows);
      expect(await get(`${path}?start_date=2026-11-01&end_date=2026-11-29`)).toEqual([]);
      expect(await refusal(`${path}?relay_chain=kusama`)).toBe(422);
    },
  );
});

describe('/api/gov-parent-bounty-summary and /api/gov-child-bounties', () => {
  it('bounties have every served relay chain, and are found by id', async () => {
    expect(values(await get('gov-parent-bounty-summary'), 'parent_bounty_id')).toEqual([7, 8, 0, 1]);
    expect(values(await get('gov-parent-bounty-summary?parent_bounty_id=1'), 'bounty_status')).toEqual([
      'Rejected',
    ]);
    expect(await refusal('gov-parent-bounty-summary?parent_bounty_id=x')).toBe(422);
    expect(await refusal('gov-parent-bounty-summary?chain=polkadot')).toBe(422);
  });
  it('child bounties are found by chain, parent, and the start of their parent', async () => {
    expect(values(await get('gov-child-bounties'), 'parent_bounty_id')).toEqual([8, 0, 0]);
    expect(values(await get('gov-child-bounties?chain=kusama'), 'parent_bounty_id')).toEqual([8]);
    expect(values(await get('gov-child-bounties?parent_bounty_id=0'), 'child_bounty_id')).toEqual([0, 1]);
    expect(
      values(await get('gov-child-bounties?start_date=2026-11-21&end_date=2026-11-21'), 'child_bounty_id'),
    ).toEqual([0, 1]);
    expect(await get('gov-child-bounties?end_date=2026-11-20')).toEqual([]);
    expect(await refusal('gov-child-bounties?relay_chain=polkadot')).toBe(422);
  });
});
