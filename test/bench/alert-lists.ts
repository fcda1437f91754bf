/** Lists with filters over a million alerts, and memory while one source repeats the same alert. */
import { alerts } from '../../aggregate/alerts/model/tables.ts';
import { raw, sql } from '../../infra/sql.ts';
import { Service } from '../serve/alerts/service.ts';
import { type Figure, milliseconds, ms, report } from './measure.ts';

const ALERTS = 1_000_000;
/** Newer versions of some alerts, in parts of their own: the engine has not merged them yet. */
const UPDATES = { inserts: 20, rows: 500 };
const ASKED = 30;
const P99_MS_MAX = 150;
const REPEATS = Number(process.argv[process.argv.indexOf('--repeats') + 1]) || 200_000;
const GROWTH_MIB_MAX = 100;

/** What people ask for, and the same as one would ask the engine for it. */
const KINDS: readonly (readonly [name: string, query: string, where: string, order: string])[] = [
  ['newest', '', '1', 'started_ms'],
  [
    'open and critical',
    '?status=triggered,acknowledged&severity=critical',
    "status IN ('triggered', 'acknowledged') AND severity = 'critical'",
    'started_ms',
  ],
  [
    'a word that many have',
    '?search=db-17&order_by=severity',
    "title ILIKE '%db-17%'",
    "indexOf(['critical', 'high', 'medium', 'low', 'info'], severity)",
  ],
  ['a word that few have', '?search=DB-4321', "title ILIKE '%db-4321%'", 'started_ms'],
  ['of a service', '?service=service%207&order_by=event_count', "service = 'service 7'", 'events'],
  ['page 50 of 100', '?status=resolved&page=50&per_page=100', "status = 'resolved'", 'started_ms'],
];

const service = await Service.open();
const { store } = service.pipeline.runtime;
const ann = await service.person('ann');
const project = await service.project(ann);
const source = await service.source(ann, project);

/** Alerts of numbers that a subquery gives. */
const insert = (numbers: string, version: number) =>
  store.run(
    sql`INSERT INTO ${alerts} SELECT ${project}, number + 1, concat(${source.id}, ':', lower(hex(cityHash64(number)))),
    ${source.id}, concat('Disk of db-', toString(number % 5000), ' is almost full'), 'It has been so for ten minutes.',
    ['critical', 'high', 'medium', 'low', 'info'][number % 5 + 1],
    ['triggered', 'acknowledged', 'resolved', 'resolved', 'resolved', 'ignored'][number % 6 + 1],
    concat('service ', toString(number % 50)), 'Prometheus', ['h1'], 'production', 'up == 0', '', 'y', '', [],
    1795000000000 - (${ALERTS} - number) * 60000, 0, number % 100 + ${version},
    1795000000000 - (${ALERTS} - number) * 60000, 1795000000000, 1795000000000, 0, [], 0, number + 1, 0,
    ${version} * ${ALERTS} + number FROM (${raw(numbers)})`,
  );
await insert(`SELECT number FROM numbers(${ALERTS})`, 1);
for (let i = 0; i < UPDATES.inserts; i++) {
  // Mostly what is new, and a tenth of anything.
  const age = `cityHash64(number, ${i}) % if(number % 10 = 0, ${ALERTS}, ${ALERTS / 50})`;
  await insert(`SELECT toUInt64(${ALERTS} - 1 - ${age}) AS number FROM numbers(${UPDATES.rows})`, 2 + i);
}

interface Times {
  readonly p50: number;
  readonly p99: number;
  /** Processor time of one, which says more where other programs run beside it. */
  readonly processor: number;
}

async function timesOf(work: () => Promise<unknown>): Promise<Times> {
  await work();
  const times: number[] = [];
  const before = process.cpuUsage();
  for (let i = 0; i < ASKED; i++) times.push(await milliseconds(work));
  const { user, system } = process.cpuUsage(before);
  times.sort((a, b) => a - b);
  return {
    p50: times[ASKED >> 1] as number,
    p99: times[Math.floor(ASKED * 0.99)] as number,
    processor: (user + system) / 1000 / ASKED,
  };
}

const figures: Figure[] = [];
for (const [name, query, where, order] of KINDS) {
  const own = await timesOf(async () => {
    const { status, headers } = await service.api(ann, 'GET', `/projects/${project}/alerts${query}`);
    if (status !== 200 || Number(headers['x-total']) < 1) throw new Error(`answered with ${status}`);
  });
  const condition = raw(`project = ${project} AND ${where}`);
  const pipeline = await timesOf(() =>
    Promise.all([
      store.rows(
        sql`SELECT * FROM ${alerts} FINAL WHERE ${condition} ORDER BY ${raw(order)} DESC, iid DESC LIMIT 20`,
      ),
      store.rows(sql`SELECT count() FROM ${alerts} FINAL WHERE ${condition}`),
    ]),
  );
  figures.push({
    work: `list over ${ALERTS} alerts: ${name}`,
    peer: 'the page and its count, asked of the engine alone',
    figure: `p50 ${ms(own.p50)}, p99 ${ms(own.p99)}, against ${ms(pipeline.p50)}, ${ms(pipeline.p99)}`,
    ratio: own.p50 / pipeline.p50,
    goal: `p99 <= ${P99_MS_MAX} ms`,
    met: own.p99 <= P99_MS_MAX,
    details: [`processor time of one: ${ms(own.processor)}, against ${ms(pipeline.processor)}`],
  });
}

const used = () => process.memoryUsage().rss / 2 ** 20;
const other = await service.source(ann, await service.project(ann));
let sent = 0;
const repeat = async (until: number) => {
  while (sent < until) {
    sent++;
    await service.send(other, '{"title":"the same again"}');
  }
};
await Promise.all(Array.from({ length: 64 }, () => repeat(REPEATS / 4)));
const before = used();
await Promise.all(Array.from({ length: 64 }, () => repeat(REPEATS)));
const growth = used() - before;
await service.close();
report([
  ...figures,
  {
    work: `memory while one source repeats ${REPEATS} times`,
    peer: '',
    figure: `${growth.toFixed(0)} MiB more after the first quarter (${before.toFixed(0)} MiB)`,
    goal: `< ${GROWTH_MIB_MAX} MiB`,
    met: growth < GROWTH_MIB_MAX,
  },
]);
