import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildServer } from '../../../serve/application/compose/compose-server.ts';
import { heatmaps } from '../../../serve/console/charts/heatmap.ts';
import { shownMetrics } from '../../../serve/console/pages/shown-metrics.ts';
import { chartMetrics, lineId } from '../../../serve/console/series/chart-metrics.ts';
import { clockFrom, ingestAndCompute, openTestPipeline, type TestPipeline } from '../../support/pipeline.ts';
import { recordedLines } from '../../support/recordings.ts';

let pipeline: TestPipeline;
let app: FastifyInstance;
const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers });

const HOSTILE = '<img src=x onerror=alert(1)>\u202e\u0007/\'"';
const ASSETS = [HOSTILE, ...Array.from({ length: 12 }, (_, i) => `COIN${i}`)];

/** What a treasury holds: 13 assets, the first of them the most. */
function treasury() {
  const stated = (kind: string, payload: object) => ({
    line: JSON.stringify({
      ...{ schema: 'snapshot/1', kind, relay_chain: 'polkadot', chain: 'polkadot' },
      ...{ as_of: '2025-06-30T12:00:00.000Z', payload },
    }),
    chain: 'polkadot',
  });
  const balances = ASSETS.map((asset, i) => ({
    ...{ account: '0x6d6f646c70792f74727372790000000000000000', asset },
    ...{ decimals: 2, amount: String(10_000 - i * 100) },
  }));
  return [
    stated('treasury_balance', { balances }),
    ...ASSETS.map((symbol) => stated('price', { symbol, usd: 2 })),
  ];
}

beforeAll(async () => {
  pipeline = await openTestPipeline();
  await ingestAndCompute(pipeline.pipeline, [...recordedLines('runtime'), ...treasury()]);
  app = await buildServer(pipeline.pipeline);
});
afterAll(async () => {
  await app.close();
  await pipeline.close();
});

type Row = Readonly<Record<string, string | number | null>>;

describe('the lines of a chart', () => {
  it.each(chartMetrics.map((metric) => [metric.id, metric] as const))(
    'have the values that /api/%s answers',
    async (id, metric) => {
      const { dayColumn, columns, isMonthly } = metric;
      const rows: Row[] = (await get(`/api/${id}?start_date=2019-01-01&end_date=2026-12-31`)).json();
      for (const row of rows.slice(0, 3)) {
        const { relay_chain, chain, [dayColumn]: day } = row;
        const parts = metric.parts.map((name) => String(row[name]));
        const line = { metric, relay_chain: String(relay_chain), chain: String(chain), parts };
        const query = new URLSearchParams(
          columns.slice(0, 10).map((column): [string, string] => ['series', lineId({ ...line, column })]),
        );
        const answer = await get(`/api/series?${query}&start_date=${day}&end_date=${day}`);
        expect(answer.statusCode, answer.body).toBe(200);
        const { series, start, periods } = answer.json();
        expect([start, periods]).toEqual([isMonthly ? `${String(day).slice(0, 7)}-01` : day, 1]);
        expect(series.map(({ values }: { values: unknown }) => values)).toEqual(
          columns.slice(0, 10).map(({ name }) => [row[name] ?? null]),
        );
      }
    },
  );

  it('are sums of months where days add up', async () => {
    const range = 'start_date=2019-01-01&end_date=2026-12-31';
    const rows: Row[] = (await get(`/api/daily-summary?${range}`)).json();
    const byChain = Map.groupBy(rows, ({ relay_chain, chain }) => `${relay_chain}/${chain}`);
    for (const [chain, days] of byChain) {
      const line = `daily-summary.num_events@${chain}`;
      const answer = (await get(`/api/series?series=${line}&${range}&per=month`)).json();
      const months = Map.groupBy(days, ({ date }) => String(date).slice(0, 7));
      const sums = [...months.values()].map((some) =>
        some.reduce((sum, { num_events }) => sum + Number(num_events), 0),
      );
      expect(answer.series[0].values.filter((value: unknown) => value !== null)).toEqual(sums);
    }
  });

  it('are a file with the same values', async () => {
    const query =
      'series=daily-tps.num_blocks@polkadot/polkadot&series=daily-fees.total_fees@kusama/kusama&start_date=2019-01-01&end_date=2026-12-31';
    const { series } = (await get(`/api/series?${query}`)).json();
    const lines = (await get(`/api/series?${query}&format=csv`)).body.trim().split('\n').slice(1);
    const values = series.flatMap(({ values }: { values: (number | null)[] }) =>
      values.filter((value) => value !== null),
    );
    expect(lines.map((line) => Number(line.split(',').at(-1))).sort()).toEqual([...values].sort());
    expect((await get(`/api/series?${query}&format=parquet`)).rawPayload.subarray(0, 4).toString()).toBe(
      'PAR1',
    );
  });

  it.each([
    ['no series', ''],
    ['a series of another form', 'series=daily-tps'],
    ['an unknown metric', 'series=daily-cats.num@polkadot/polkadot'],
    ['a line without its part', 'series=monthly-gov-tokens.capital@polkadot/polkadot'],
    ['a part of a whole chain', 'series=daily-tps.num_blocks@polkadot/polkadot:aye'],
    ['a column without a chart', 'series=daily-summary.first_block@polkadot/polkadot'],
    ['eleven series', 'series=daily-tps.num_blocks@polkadot/polkadot&'.repeat(11)],
    [
      'a range of a century',
      'series=daily-tps.num_blocks@polkadot/polkadot&start_date=1970-01-01&end_date=2070-01-01',
    ],
    [
      'an end before its start',
      'series=daily-tps.num_blocks@polkadot/polkadot&start_date=2026-01-02&end_date=2026-01-01',
    ],
    ['SQL', `series=daily-tps.num_blocks@polkadot/${encodeURIComponent("x') OR 1=1 --")}`],
  ])('are refused for %s', async (_, query) => {
    const answer = await get(`/api/series?${query}`);
    expect(answer.statusCode).toBe(422);
    expect(answer.json().detail[0].loc[1]).toMatch(/series|start_date|end_date/);
  });
});

const wordsOf = (text: string) => text.toLowerCase().match(/\w+/g) ?? [];

describe('the pages of the metrics', () => {
  it('are there for every path of the API, by its title', async () => {
    for (const { id, title, endpoint } of shownMetrics) {
      const answer = await get(`/charts/${id}?range=all`);
      expect(answer.statusCode, id).toBe(200);
      expect(answer.body).toContain(`<h1>${title}</h1>`);
      const said = new Set(wordsOf(title));
      expect(wordsOf(endpoint.summary).filter((word) => !said.has(word)).length, title).toBeGreaterThan(2);
    }
    expect(new Set(shownMetrics.map(({ title }) => title)).size).toBe(shownMetrics.length);
    expect((await get('/charts')).body.match(/<li class="card">/g)).toHaveLength(shownMetrics.length);
  });

  it('find metrics by their words', async () => {
    expect((await get('/charts?q=coretime+burn')).body).toContain('Lifetime coretime burn');
    expect((await get('/charts?q=cats')).body).toContain('No metric matches all of these words');
  });

  it('draw the chains of an address, and have their values as a table', async () => {
    const { body } = await get(
      '/charts/daily-summary?column=num_events&chain=polkadot/polkadot&range=all&per=month',
    );
    expect(body).toMatch(/<svg class="plain".*<path class="line-\d" d="M/s);
    expect(body).toMatch(/<th scope="row">\d{4}-\d\d-01<\/th><td class="number">[\d,]+<\/td>/);
    expect(body).toContain('data-source="/api/series?series=daily-summary.num_events%40polkadot%2Fpolkadot');
  });

  it('draw the largest parts of a chain, tell how many there are, and draw those that are chosen', async () => {
    const path = '/charts/monthly-treasury-balances?range=all&column=balance_usd';
    const usual = (await get(path)).body;
    expect(usual).toContain('The 6 largest of 13 are drawn.');
    expect(usual).toContain('<summary>Asset <b>6</b></summary>');
    expect(usual).toContain('>Stacked<');
    expect(usual).toContain('<td class="number">$200</td>');
    expect(usual.replaceAll(/ value="[^"]*"/g, '').match(/\p{Cf}|<img (?!src="\/assets)/gu)).toBeNull();
    expect(usual).not.toMatch(/data-series="[^"]*:total"/);
    const query = new URLSearchParams({ chain: 'polkadot' });
    for (const part of [HOSTILE, 'total', 'COIN99']) query.append('part', part);
    const { body } = await get(`${path}&${query}`);
    expect(body.match(/data-series="/g)).toHaveLength(2);
    expect(body).toMatch(/data-series="[^"]*:total"><?[^<]*total, Polkadot/);
    expect(body).toContain('There are no rows of a part called COIN99.');
    const [, source = ''] = /data-source="([^"]+)"/.exec(body) ?? [];
    const { series } = (await get(source.replaceAll('&#38;', '&'))).json();
    const firsts = series.map(({ parts, values }: { parts: string[]; values: unknown[] }) => [
      parts,
      values[0],
    ]);
    expect(firsts).toEqual([
      [[HOSTILE], 200],
      [['total'], 2444],
    ]);
  });

  it('say why a metric has no lines, and lead to its list', async () => {
    expect((await get('/charts/daily-staking-rewards')).body).toContain('a row for every account and day');
    const list = (await get('/charts/coretime-sales')).body;
    expect(list).toContain('href="/coretime">Open the list</a>');
  });

  it.each(['/charts/daily-tps', '/embed/daily-tps'])(
    '%s names the chain that it does not draw',
    async (path) => {
      const { body } = await get(`${path}?chain=polkadot&chain=polkadot/polkadt&range=all`);
      expect(body).toContain('daily-tps.transactions_per_second%40polkadot%2Fpolkadot&');
      expect(body).toContain('no rows of a chain called polkadot/polkadt. Did you mean polkadot/polkadot?');
      expect((await get(`${path}?chain=polkadot/polkadot`)).body).not.toContain('no rows of a chain');
    },
  );

  it('are empty by the API for a chain that nobody knows, which a header says', async () => {
    const { headers, body } = await get('/api/daily-tps?chain=polkadt');
    expect([headers['x-unknown-chain'], JSON.parse(body)]).toEqual([
      'no chain is called that: did you mean polkadot? (/api/status lists those with blocks)',
      [],
    ]);
    for (const query of ['', '?chain=polkadot', '?chain=statemint', '?chain=ecosystem'])
      expect((await get(`/api/daily-tps${query}`)).headers).not.toHaveProperty('x-unknown-chain');
  });

  it('are a dashboard for Grafana too: each column in its unit, each chain by its own address', async () => {
    const path = '/charts/daily-fees';
    const [, href = ''] =
      /href="([^"]*grafana.json[^"]*)"/.exec((await get(`${path}?chain=polkadot`)).body) ?? [];
    const { panels } = (await get(href.replaceAll('&#38;', '&'))).json();
    const titles = chartMetrics
      .find(({ id }) => id === 'daily-fees')
      ?.columns.map(({ shown }) => shown.title);
    expect(panels.map(({ title }: { title: string }) => title)).toEqual(titles);
    const usd = panels.find(({ title }: { title: string }) => title === 'Fees in USD');
    expect(usd.fieldConfig.defaults.unit).toBe('currencyUSD');
    const url = usd.targets[0].url.replace(/\$\{__(from|to):date:YYYY-MM-DD\}/g, '2025-07-14');
    const answer = await get(url.slice(url.indexOf('/api/')));
    expect([answer.statusCode, answer.body.split('\n')[0]]).toEqual([200, expect.stringContaining('"date"')]);
    expect((await get('/charts/daily-cats/grafana.json')).statusCode).toBe(404);
  });

  it('show a chain with what is known of it, by its name or an alias', async () => {
    expect((await get('/chains')).body).toContain('href="/chains/polkadot"');
    const { body } = await get('/chains/polkadot');
    expect(body).toContain('DOT (10 decimals)');
    expect(body).toMatch(
      /role="img"><title>Polkadot: blocks of 1 of \d+ days since 2026-11-21.*, no price on 1 day</,
    );
    const cards = body.match(/<a class="tile".*?<svg/gs) ?? [];
    expect(cards.filter((card) => /\sDOT</.test(card))).toHaveLength(1);
    expect(body).toContain('Daily activity: active accounts');
    expect(body).toMatch(/Values of \d{4}-\d\d-\d\d, the last complete day\./);
    expect((await get('/')).body).toMatch(/Values of \d{4}-\d\d-\d\d, the last complete day\. Changes/);
    const runtime = { ...pipeline.pipeline.runtime, clock: clockFrom('2031-01-01T00:00:00Z') };
    const later = await buildServer({ ...pipeline.pipeline, runtime });
    expect((await later.inject('/chains/polkadot')).body).toContain('No metric of Polkadot has values in');
    expect((await later.inject('/')).body).toContain('No values from 2030-07-06 to 2031-01-01.');
    await later.close();
    expect((await get('/chains/polkadot-relay')).headers.location).toBe('/chains/polkadot');
    expect((await get('/chains/mars')).statusCode).toBe(404);
  });

  it('compare what an address names, and name what is not there', async () => {
    const { body } = await get(
      '/compare?series=daily-tps.num_blocks@polkadot/polkadot&series=no.such@thing/here&range=all',
    );
    expect(body).toContain('Blocks, Polkadot');
    expect(body).toContain('no.such@thing/here');
    expect((await get('/compare?metric=daily-fees.total_fees_usd&of=polkadot/ecosystem')).body).toContain(
      'All of Polkadot',
    );
  });

  it('compare, and say within the card what is left out and why', async () => {
    const cardOf = async (query: string) =>
      (await get(`/compare?range=all&${query}`)).body.split('class="card"')[1];
    const blocks = 'series=daily-tps.num_blocks@polkadot/polkad';
    expect(await cardOf(`${blocks}t`)).toContain(
      'Polkadt is not drawn: it has no rows. Did you mean polkadot?',
    );
    expect(await cardOf('metric=coretime-utilization.num_cores&of=solo/x')).toMatch(
      /coretime-utilization\.num_cores@solo\/x is not drawn: coretime-utilization /,
    );
    expect(await cardOf(`${blocks}ot&metric=daily-fees.total_fees_usd`)).toContain(
      'choose a metric and a chain.',
    );
    expect(await cardOf(`${blocks}ot`)).not.toContain('note warn');
  });

  it.each(['/', '/charts/daily-tps', '/compare', '/chains', '/embed/daily-tps', '/charts'])(
    '%s takes wrong parameters for nothing in particular',
    async (path) => {
      const wrong =
        'range=<script>&from=1&until=2&per=x&column=__proto__&chain=<script>&series=<script>&money=x&q=<script>';
      const answer = await get(`${path}?${wrong}`);
      expect(answer.statusCode).toBe(200);
      expect(answer.body).not.toContain('<script>');
    },
  );

  it('find chains, referenda, contracts and metrics by one search', async () => {
    expect((await get('/search?q=asset hub polkadot')).body).toContain('href="/chains/asset-hub-polkadot"');
    expect((await get('/search?q=%23123')).body).toContain('href="/governance/referenda/polkadot/123"');
    expect((await get('/search?q=staking rewards')).body).toContain(
      'href="/charts/daily-staking-rewards"><b>Staking rewards</b> <span>Staking</span><small>Staking and pool rewards',
    );
    for (const [address, list] of [
      ['0x00000000000000000000000000000000000000aa', '/contracts'],
      ['5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY', '/contracts/codes'],
    ]) {
      const link = `${list}?addresses=${address}`;
      expect((await get(`/search?q=${address}`)).body).toContain(`href="${link}"`);
      const { statusCode, body } = await get(link);
      expect(statusCode).toBe(200);
      // The filter of the list has taken it.
      expect(body).toContain(`value="${address}"`);
    }
    expect((await get('/search?q=<script>')).body).toContain('No results match all of these words');
  });

  it('are a page for browsers and an error of the API for programs where nothing is', async () => {
    const [page, error] = [await get('/nowhere', { accept: 'text/html,*/*;q=0.8' }), await get('/nowhere')];
    expect([page.statusCode, error.statusCode]).toEqual([404, 404]);
    expect(page.body).toContain('<h1>Page not found</h1>');
    expect(error.json()).toMatchObject({ title: 'Not Found', detail: expect.stringContaining('/nowhere') });
    expect((await get('/charts/daily-cats', { accept: 'text/html' })).body).toContain(
      'No metric is called daily-cats',
    );
  });

  it('draw heatmaps as calendars, where unknown is not zero', () => {
    const values = [0, null, 1, 8];
    const one = {
      id: 'a',
      title: 'Calls',
      relay_chain: 'polkadot',
      chain: 'x',
      parts: [],
      unit: 'count',
      token: null,
      gaps: [],
    } as const;
    const { text } = heatmaps({
      ...{ per: 'day', start: '2026-01-01', periods: 4, provisional_from: null },
      series: [{ ...one, values }],
    });
    const [calendar = '', key = ''] = text.split('class="key"');
    expect([...calendar.matchAll(/<rect class="([^"]+)"/g)].map(([, level]) => level)).toEqual([
      'level-0',
      'unknown',
      'level-1',
      'level-4',
    ]);
    expect(text).toContain('X: 9 in 4 days, 8 on the busiest');
    expect(key.replaceAll(/<[^>]+>/g, ' ').match(/no value|0|up to \d+/g)).toEqual([
      ...['no value', '0', 'up to 2', 'up to 4', 'up to 6', 'up to 8'],
    ]);
  });

  it('may be framed only where they are made for it, and hold no script of their own', async () => {
    const [page, embedded] = [await get('/charts/daily-tps'), await get('/embed/daily-tps')];
    expect(page.headers['x-frame-options']).toBe('DENY');
    expect(page.headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(embedded.headers['x-frame-options']).toBeUndefined();
    expect(embedded.headers['content-security-policy']).toContain('frame-ancestors *');
    for (const { body } of [page, embedded])
      expect(body).not.toMatch(/<script(?! type="module" src="\/assets\/)|<style| style=| on[a-z]+=/);
  });

  it('have tables that scroll by keys', async () => {
    for (const path of ['/', '/chains', '/charts/daily-tps?range=all', '/status', '/governance']) {
      const tables = (await get(path)).body.match(/<div class="table[^>]*>/g) ?? [];
      expect(tables.length, path).toBeGreaterThan(0);
      for (const one of tables) expect(one).toMatch(/ role="region" aria-label="[^"]+" tabindex="0"/);
    }
  });

  it('are linked to by the page of the API, and more of them where it has no script', async () => {
    const [, site = '', instead = ''] =
      /<nav class="site"(.*)<\/nav><noscript>(.*)<\/noscript>/s.exec((await get('/docs')).body) ?? [];
    expect(site).toContain('href="/docs/guides"');
    const links = [...instead.matchAll(/href="([^"]+)"/g)].map(([, href = '']) => href);
    expect(links).toContain('/openapi.json');
    for (const href of links) expect((await get(href)).statusCode, href).toBe(200);
  });

  it('are compressed for visitors without an account', async () => {
    const { headers, rawPayload } = await get('/charts/daily-tps', { 'accept-encoding': 'br' });
    expect(headers['content-encoding']).toBe('br');
    expect(rawPayload.length).toBeLessThan(15_000);
    expect((await get('/sign-in', { 'accept-encoding': 'br' })).headers['content-encoding']).toBeUndefined();
    const [, style = ''] = /href="(\/assets\/[^"]+\.css)"/.exec((await get('/charts')).body) ?? [];
    const coded = async (accepted: string) =>
      (await get(style, { 'accept-encoding': accepted })).headers['content-encoding'];
    expect([await coded('BR, *'), await coded('br;q=0, *')]).toEqual(['br', 'gzip']);
    // As for answers, a header longer than that of any client is not read.
    expect(await coded('br,'.padEnd(2000, '*,'))).toBeUndefined();
  });
});
