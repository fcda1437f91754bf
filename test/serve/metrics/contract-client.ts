import type { FastifyInstance } from 'fastify';
import { expect, test } from 'vitest';
import { type Endpoint, OURS_EVERYWHERE, WITHOUT_CHANGES } from './endpoints.ts';

export type Row = Readonly<Record<string, unknown>>;
export const ALICE = '15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5';

export type ContractQuery = Readonly<Record<string, string | readonly string[]>>;

/** What a path needs to answer at all. */
export const needed = ({ parameters }: Endpoint): ContractQuery =>
  Object.fromEntries(
    Object.entries(parameters).flatMap(([name, { required, type }]) =>
      required ? [[name, SAMPLES[type] as string]] : [],
    ),
  );

export const SAMPLES: Record<string, string> = {
  relay_chain: 'polkadot',
  chain: 'polkadot',
  date: '2023-01-01',
  integer: '1',
  string: '1',
  hex: '0xffffffffffffffffffff',
  account: ALICE,
  h160: `0x${'1'.repeat(40)}`,
  order: 'desc',
  limit: '1',
  format: 'json',
  bom: 'false',
  exclude_domains: 'Consensus',
};

/** What no parameter of these kinds takes. */
export const BAD: Record<string, readonly string[]> = {
  integer: ['', 'x', '1.5', '1e3', ' 1', '1 ', '0x1', '१', '1,000'],
  enum: ['', 'other', 'TRANSFER', 'Bulk', '1'],
  account: ['', 'nobody', `${ALICE}x`, ALICE.slice(0, -1), '0x12', "'"],
  h160: ['', '0x', `0x${'1'.repeat(39)}`, `0x${'g'.repeat(40)}`, ALICE],
};

/** Sends requests to the server under test. */
export class ContractClient {
  readonly #app: () => FastifyInstance;

  constructor(app: () => FastifyInstance) {
    this.#app = app;
  }

  async ask({ path }: Endpoint, query: ContractQuery = {}) {
    const search = new URLSearchParams(
      Object.entries(query).flatMap(([name, given]) =>
        [given].flat().map((value): [string, string] => [name, value]),
      ),
    );
    return this.#app().inject(`${path}?${search}`);
  }

  async rowsOf(endpoint: Endpoint, query: ContractQuery = {}): Promise<Row[]> {
    const answer = await this.ask(endpoint, { ...needed(endpoint), ...query });
    expect(answer.statusCode, answer.body.slice(0, 500)).toBe(200);
    return answer.json();
  }

  async refusal(
    endpoint: Endpoint,
    query: ContractQuery,
  ): Promise<readonly { type: string; loc: unknown[]; msg: string }[]> {
    const answer = await this.ask(endpoint, query);
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
  async refuses(endpoint: Endpoint, name: string, given: string | readonly string[]): Promise<void> {
    const issues = await this.refusal(endpoint, { ...needed(endpoint), [name]: given });
    expect(issues.map(({ loc }) => loc)).toEqual([['query', name]]);
  }
}

export const allNames = (endpoint: Endpoint) => [
  ...Object.keys(endpoint.parameters),
  ...(endpoint.ours ?? []),
  ...OURS_EVERYWHERE,
  ...(WITHOUT_CHANGES.includes(endpoint.path) ? [] : ['changed_since']),
];
/** A test of what not every path has. */
export function testWhere(applies: unknown, title: string, body: () => Promise<void>): void {
  if (applies) test(title, body);
}

export const hasDates = ({ parameters }: Endpoint) => 'start_date' in parameters;
export const hasChain = ({ parameters }: Endpoint) => 'chain' in parameters;
/** Paths that the blocks above give rows to; of the others only the parameters are looked at here. */
export const isFilled = ({ path }: Endpoint) =>
  /\/(daily-(uptime|tps|fees|summary)|monthly-unique-accounts|explorer\/)/.test(path);
export const always: ContractQuery = { start_date: '2022-01-01', end_date: '2024-12-31' };
export const dayColumn = ({ path }: Endpoint) => (path.includes('/monthly-') ? 'month' : 'date');
