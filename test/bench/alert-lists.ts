/** Lists with filters over a million alerts, and memory while one source repeats the same alert. */
import { alerts } from '../../aggregate/alerts/tables.ts';
import { sql } from '../../infra/kernel/sql.ts';
import { Service } from '../alerts/service.ts';
import { ms, report } from './measure.ts';

const ALERTS = 1_000_000;
const ASKED = 25;
const REPEATS = Number(process.argv[process.argv.indexOf('--repeats') + 1]) || 200_000;
const GROWTH_MIB_MAX = 100;

const service = await Service.open();
const ann = await service.person('ann');
const project = await service.project(ann);
const source = await service.source(ann, project);
await service.engine.runtime.store.run(
  sql`INSERT INTO ${alerts} SELECT ${project}, number + 1, toString(cityHash64(number)), ${source.id},
    concat('Disk of db-', toString(number % 5000), ' is almost full'), 'It has been so for ten minutes.',
    ['critical', 'high', 'medium', 'low', 'info'][number % 5 + 1],
    ['triggered', 'acknowledged', 'resolved', 'resolved', 'resolved', 'ignored'][number % 6 + 1],
    concat('service ', toString(number % 50)), 'Prometheus', ['h1'], 'production', 'up == 0', '', 'y', '',
    1795000000000 - number * 60000, 0, number % 100 + 1, 1795000000000 - number * 60000, 1795000000000,
    1795000000000, 0, [], 0, number + 1, 0, number + 1 FROM numbers(${ALERTS})`,
);
const queries = [
  '',
  '?status=triggered,acknowledged&severity=critical',
  '?search=db-17&order_by=severity',
  '?service=service%207&order_by=event_count',
  '?status=resolved&page=50&per_page=100',
];
const times: number[] = [];
for (let i = 0; i < ASKED; i++) {
  const started = performance.now();
  const { status } = await service.api(
    ann,
    'GET',
    `/projects/${project}/alerts${queries[i % queries.length]}`,
  );
  if (status !== 200) throw new Error(`answered with ${status}`);
  times.push(performance.now() - started);
}
times.sort((a, b) => a - b);
const p99 = times[Math.floor(times.length * 0.99)] ?? 0;

const used = () => process.memoryUsage().rss / 2 ** 20;
let sent = 0;
const repeat = async (until: number) => {
  while (sent < until) {
    sent++;
    await service.send(source, '{"title":"the same again"}');
  }
};
await Promise.all(Array.from({ length: 64 }, () => repeat(REPEATS / 4)));
const before = used();
await Promise.all(Array.from({ length: 64 }, () => repeat(REPEATS)));
const growth = used() - before;
await service.close();
report([
  {
    work: `lists with filters over ${ALERTS} alerts`,
    peer: '',
    figure: `p99 ${ms(p99)}, median ${ms(times[times.length >> 1] ?? 0)}`,
    goal: 'printed',
    met: true,
  },
  {
    work: `memory while one source repeats ${REPEATS} times`,
    peer: '',
    figure: `${growth.toFixed(0)} MiB more after the first quarter (${before.toFixed(0)} MiB)`,
    goal: `< ${GROWTH_MIB_MAX} MiB`,
    met: growth < GROWTH_MIB_MAX,
  },
]);
