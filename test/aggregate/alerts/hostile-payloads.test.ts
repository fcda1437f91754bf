import { describe, expect, test } from 'vitest';
import { BodyError, parseDelivery } from '../../../aggregate/alerts/formats/delivery.ts';
import { type AlertItem, alertBytes, SEVERITIES } from '../../../aggregate/alerts/model/alert.ts';
import type { DeliveryHead } from '../../../aggregate/alerts/model/event.ts';
import { MAPPED_FIELDS } from '../../../aggregate/alerts/model/mapping.ts';
import { eventRules } from '../../../aggregate/alerts/model/rules.ts';
import type { SenderRules } from '../../../aggregate/alerts/model/sender-rules.ts';
import { emptyState } from '../../../aggregate/alerts/reducer/project-state.ts';
import { reduceEvent } from '../../../aggregate/alerts/reducer/reduce.ts';
import { Random } from '../../../ingest/demo/random.ts';
import { readConfig } from '../../../serve/settings/settings.ts';
import { prometheusBody } from '../../serve/alerts/made.ts';

const BODIES = 1000;
const AT = Date.UTC(2026, 10, 22);
const settings = readConfig({});
const rules = eventRules(settings);

/** Pieces of texts that are easily read, cut, stored or shown wrongly. */
const PIECES = [
  ...['a', ' ', '\n', '\r', '\t', '\0', '\u0085', '\u009f', '\u2028', '\u2029', '\u202e', '\u2066', '\u061c'],
  ...[
    '\ud800',
    '\udc00',
    '🦀',
    'e\u0301',
    '\ufeff',
    '\uffff',
    '"',
    '\\',
    "'",
    '<b>',
    '%00',
    '{{x}}',
    ']]>',
    '$(',
  ],
  ...[
    '2026-11-22T00:00:00Z',
    '9999-12-31',
    '-271821-04-20',
    '+275760-09-13',
    '0001-01-01T00:00:00Z',
    '1e999',
  ],
  ...[
    'resolved',
    'critical',
    'S1',
    'http://p/g?g0.expr=up',
    '__proto__',
    'constructor',
    'toString',
    'length',
  ],
];
const NAMES = [
  ...['title', 'description', 'start_time', 'end_time', 'service', 'monitoring_tool', 'hosts', 'severity'],
  ...['fingerprint', 'platform_environment_name', 'runbook', '__proto__', 'constructor', '', '0'],
];
const ITEM_NAMES = [
  ...['annotations', 'labels', 'startsAt', 'endsAt', 'status', 'fingerprint', 'generatorURL', 'generatorUrl'],
];
const PART_NAMES = [
  ...['title', 'summary', 'description', 'runbook', 'runbook_url', 'platform_incident_markdown'],
  ...['platform_y_label', 'alertname', 'severity', 'platform_environment_name', '__proto__'],
];

function textOf(random: Random): string {
  const piece = () => random.pick(PIECES).repeat(random.chance(0.001) ? random.whole(1000, 30_000) : 1);
  return Array.from({ length: random.whole(0, 6) }, piece).join('');
}

function anyValue(random: Random, depth: number, names: readonly string[]): unknown {
  const kind = random.whole(0, depth > 0 ? 9 : 5);
  if (kind <= 3) return textOf(random);
  if (kind === 4)
    return random.pick([null, true, false, 0, -0, 1e308, -1, 1.5, 2 ** 53, 1e14, 1_700_000_000]);
  if (kind === 5)
    return `${random.whole(1990, 2100)}-0${random.whole(1, 9)}-1${random.whole(0, 9)}T00:00:00Z`;
  const some = Array.from({ length: random.whole(0, 6) }, () => anyValue(random, depth - 1, names));
  if (kind <= 7) return some;
  return Object.fromEntries(
    some.map((value) => [random.chance(0.8) ? random.pick(names) : textOf(random), value]),
  );
}

const objectOf = (random: Random, names: readonly string[], of: (name: string) => unknown) =>
  Object.fromEntries(names.filter(() => random.chance(0.8)).map((name) => [name, of(name)]));

function bodyOf(random: Random): unknown {
  if (random.chance(0.05)) return anyValue(random, 3, NAMES);
  if (random.chance(0.5)) return objectOf(random, NAMES, () => anyValue(random, 3, NAMES));
  const part = () =>
    random.chance(0.9) ? objectOf(random, PART_NAMES, () => anyValue(random, 2, PART_NAMES)) : 1;
  const item = () =>
    random.chance(0.1)
      ? anyValue(random, 1, ITEM_NAMES)
      : objectOf(random, ITEM_NAMES, (name) => {
          if (name === 'annotations' || name === 'labels') return part();
          return random.chance(0.6) ? '2026-11-21T00:00:00Z' : anyValue(random, 2, ITEM_NAMES);
        });
  return prometheusBody(Array.from({ length: random.whole(0, 8) }, item));
}

/** Paths to whatever is there, and words that may be there. */
function rulesOf(random: Random): SenderRules {
  const path = () => [
    random.pick(NAMES),
    ...(random.chance(0.3) ? [random.pick(['__proto__', 'a', 0])] : []),
  ];
  const words = () => [textOf(random), 'true', '1'];
  return {
    tool: textOf(random),
    fields: { title: [path(), path()], start_time: [path()], end_time: [path()], hosts: [path()] },
    status: { path: path(), resolved: words(), acknowledged: words(), ignored: words() },
    fingerprint: [[path(), path()], [path()]],
    severity: { path: path(), words: { [textOf(random)]: 'low', true: 'info' }, otherwise: 'medium' },
    labels: { a: path(), ['__proto__']: path(), long: path() },
  };
}

const headOf = (random: Random): DeliveryHead => ({
  kind: 'delivery',
  id: 'd',
  from: '',
  at: AT,
  project: 1,
  integration: 'i1',
  endpoint: random.pick(['http', 'prometheus']),
  mapping: random.chance(0.3)
    ? Object.fromEntries(MAPPED_FIELDS.map((field) => [field, [random.pick(NAMES), random.whole(0, 2)]]))
    : null,
  sender_rules: random.chance(0.4) ? rulesOf(random) : null,
  heartbeat_matchers: '',
  groups_by_payload: random.chance(0.7),
  idempotency_key: random.chance(0.2) ? textOf(random) : '',
  rules,
});

/** Most characters of each text; those of one line have no character that hides or turns others. */
const LINES = { title: 200, service: 100, tool: 100, environment: 255, runbook: 1000, yLabel: 200 } as const;
const BLOCKS = { description: 1000, query: 5000, incidentMarkdown: 20_000 } as const;
const KEYS = { fingerprint: 100, retryKey: 200 } as const;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/;

const labelBytes = ({ matchLabels }: AlertItem): number =>
  Object.entries(matchLabels).reduce((sum, [name, value]) => sum + Buffer.byteLength(name + value), 0);

function faultsOf(item: AlertItem): string[] {
  const limits = { ...LINES, ...BLOCKS, ...KEYS };
  const long = Object.entries(limits).filter(
    ([name, max]) => Array.from(item[name as keyof typeof limits]).length > max,
  );
  const lines = [
    ...Object.keys(LINES).map((name) => item[name as keyof typeof LINES]),
    ...item.hosts,
    ...(item.labels ?? []),
  ];
  return [
    ...long.map(([name]) => `${name} is too long`),
    ...(Array.from(item.hosts.join(', ')).length > 255 ? ['hosts are too long'] : []),
    ...(Array.from((item.labels ?? []).join('')).length > 2000 ? ['labels are too long'] : []),
    ...(labelBytes(item) > 16 * 1024 ? ['labels to match are too long'] : []),
    ...(Object.keys(item.matchLabels).length > 64 ? ['too many labels to match'] : []),
    ...lines.filter((text) => HIDDEN.test(text)).map((text) => `${JSON.stringify(text)} hides characters`),
    ...(item.title.trim() === '' ? ['no title'] : []),
    ...(SEVERITIES.includes(item.severity) ? [] : [`severity ${item.severity}`]),
    ...(Number.isSafeInteger(item.startedMs) && Number.isSafeInteger(item.endedMs) ? [] : ['no whole times']),
  ];
}

describe('hostile payloads', () => {
  test(`${BODIES} of them are refused or read within every limit, twice alike`, () => {
    const random = new Random(13);
    const state = emptyState(1);
    let taken = 0;
    for (let i = 0; i < BODIES; i++) {
      const head = headOf(random);
      const body = Buffer.from(JSON.stringify(bodyOf(random)) ?? 'null');
      const read = () => {
        try {
          return parseDelivery(head, body, rules);
        } catch (error) {
          if (error instanceof BodyError) return error.message;
          throw error;
        }
      };
      const delivery = read();
      expect(read()).toEqual(delivery);
      if (typeof delivery === 'string') {
        expect(delivery.length).toBeLessThan(1000);
        continue;
      }
      for (const item of delivery.items) {
        if (item === null) continue;
        taken++;
        expect({ faults: faultsOf(item), body: String(body).slice(0, 300) }).toMatchObject({ faults: [] });
      }
      const { changed } = reduceEvent(state, { head, delivery });
      for (const alert of changed) {
        expect(alertBytes(alert)).toBeLessThan(40_000);
        expect(alert.started_ms).toBeLessThanOrEqual(AT + 300_000);
        expect(alert.ended_ms).toBeLessThanOrEqual(AT + 86_400_000);
      }
    }
    expect(taken).toBeGreaterThan(BODIES);
  });
});
