import { beforeEach, describe, expect, test } from 'vitest';
import { parseDelivery } from '../../../aggregate/alerts/formats/delivery.ts';
import { type DeliveryHead, decodeHead, encodeEvent } from '../../../aggregate/alerts/model/event.ts';
import { eventRules } from '../../../aggregate/alerts/model/rules.ts';
import { eventInsert } from '../../../aggregate/alerts/processor/event-insert.ts';
import { EventParser } from '../../../aggregate/alerts/processor/parser.ts';
import { AlertWriter } from '../../../aggregate/alerts/processor/writer.ts';
import { emptyState, type ProjectState } from '../../../aggregate/alerts/reducer/project-state.ts';
import { reduceEvent } from '../../../aggregate/alerts/reducer/reduce.ts';
import { ProductError } from '../../../infra/errors.ts';
import type { Pieces, Store } from '../../../infra/ports.ts';
import { startSpan } from '../../../infra/tracing/spans.ts';
import { DeadLetterQueue } from '../../../ingest/dead-letters/dead-letter-queue.ts';
import { readConfig } from '../../../serve/settings/settings.ts';

const settings = readConfig({});
const rules = eventRules(settings);
const parser = new EventParser(() => {});

type Row = Record<string, unknown>;

/** A head is stored as its text. */
const asStored = (name: string, value: unknown) => (name === 'head' ? JSON.stringify(value) : value);

/** Keeps the rows of all inserts, and refuses statements as a test asks for it. */
class RefusingStore {
  readonly tables = new Map<string, Row[]>();
  statements = 0;
  refuses: (lines: string, table: string) => ProductError | null = () => null;

  insertLines(table: { name: string }, _columns: readonly string[], lines: readonly Pieces[]): Promise<void> {
    const text = lines.map((line) => (Buffer.isBuffer(line) ? line : Buffer.concat(line))).join('\n');
    return this.#take(table, text);
  }

  async #take({ name }: { name: string }, lines: string): Promise<void> {
    this.statements++;
    const error = this.refuses(lines, name);
    if (error) throw error;
    const rows = lines.split('\n').map((line) => JSON.parse(line, asStored) as Row);
    this.tables.set(name, [...(this.tables.get(name) ?? []), ...rows]);
  }

  insert(table: { name: string }, rows: readonly Row[]): Promise<void> {
    return this.#take(table, rows.map((row) => JSON.stringify(row)).join('\n'));
  }

  async rows(): Promise<Row[]> {
    return [];
  }

  of(name: string): Row[] {
    return this.tables.get(name) ?? [];
  }
}

let store: RefusingStore;
let failures: unknown[];
let deadLetters: DeadLetterQueue;
let writer: AlertWriter;
let state: ProjectState;
beforeEach(() => {
  state = emptyState(1);
  store = new RefusingStore();
  failures = [];
  const onFailure = (error: unknown) => failures.push(error);
  const asStore = store as unknown as Store;
  deadLetters = new DeadLetterQueue({ store: asStore, clock: Date, bytesMax: 1000, onFailure });
  writer = new AlertWriter({ store: asStore, deadLetters, onFailure });
});

/** The write of an event that creates an alert. */
function writeOf(title: string) {
  const head: DeliveryHead = {
    ...{ kind: 'delivery', id: title, project: 1, at: 1000, from: '', integration: 'i', endpoint: 'http' },
    ...{
      mapping: null,
      sender_rules: null,
      heartbeat_matchers: '',
      groups_by_payload: true,
      idempotency_key: '',
      rules,
    },
  };
  const body = Buffer.from(JSON.stringify({ title }));
  const delivery = parseDelivery(head, body, rules);
  const reduction = reduceEvent(state, { head, delivery });
  const record = { key: '1', value: encodeEvent(head, body), partition: 0, offset: 0 };
  const event = eventInsert({ head, delivery, body, record, reduction, span: startSpan('event') }, parser);
  return { events: [event], changed: reduction.changed, isUrgent: false };
}

const refusal = new ProductError('store_refused', 'the store refuses the rows (CANNOT_PARSE_TEXT)');
const exhaustion = new ProductError('store_exhausted', 'the rows are too large (MEMORY_LIMIT_EXCEEDED)');

describe('a write that the store refuses', () => {
  test('because of one event stores all others, and that one with what was read from its body', async () => {
    store.refuses = (lines) => (/"body":"?{.*poison/.test(lines) ? refusal : null);
    const titles = ['a', 'b', 'poison', 'c', 'd'];
    await Promise.all(titles.map((title) => writer.add(writeOf(title))));
    const events = store.of('alert_events');
    expect(events.map(({ id }) => id)).toEqual(titles);
    const positions = events.map(({ position }) => Number(position));
    expect(positions).toEqual(positions.map((_, i) => (positions[0] ?? 0) + i));
    expect(events.map(({ outcomes }) => outcomes)).toEqual(titles.map(() => ['created']));
    expect(store.of('alerts').map(({ title }) => title)).toEqual(titles);
    await deadLetters.stop();
    expect(store.of('dead_letters')).toMatchObject([
      { origin: 'project 1, delivery poison', bytes: '{"title":"poison"}', size: 18 },
    ]);
    expect(store.of('dead_letters')[0]?.reason).toContain('CANNOT_PARSE_TEXT');
    expect(writer.setAside).toBe(1);
    expect(failures.map(String)).toEqual([
      'ProductError: the store refused the body of the delivery poison of project 1; the rest was stored',
    ]);
    const { head } = events[2] as Row;
    const parsed = parser.parse(decodeHead(String(head)), Buffer.alloc(0));
    expect(parsed.delivery?.items).toMatchObject([{ title: 'poison' }]);
  });

  test('only without quotes is stored whole', async () => {
    store.refuses = (lines, table) =>
      table === 'alert_events' && lines.includes('"body":{') ? refusal : null;
    await writer.add(writeOf('whole'));
    expect(store.of('alert_events')).toMatchObject([{ body: '{"title":"whole"}', outcomes: ['created'] }]);
    expect(writer.setAside).toBe(0);
  });

  test('in whatever form stores the position of the event and its alert', async () => {
    const write = writeOf('poison');
    const { columns } = write.events[0] as { columns: Row };
    store.refuses = (lines, table) => {
      if (table === 'dead_letters') return lines.includes('"bytes":""') ? null : refusal;
      return table === 'alert_events' && lines.includes('created') ? refusal : null;
    };
    await writer.add(write);
    expect(store.of('alert_events')).toMatchObject([
      { position: columns.position, id: 'poison', outcomes: [], body: '' },
    ]);
    expect(store.of('alerts')).toMatchObject([{ title: 'poison' }]);
    await deadLetters.stop();
    expect(store.of('dead_letters')).toMatchObject([{ bytes: '', size: 18 }]);
  });

  test('because of the texts of an alert stores the alert without them', async () => {
    store.refuses = (lines, table) => (table === 'alerts' && lines.includes('poison') ? refusal : null);
    const write = writeOf('poison');
    await Promise.all([writer.add(writeOf('good')), writer.add(write)]);
    const { iid } = write.changed[0] as { iid: number };
    expect(store.of('alerts').map(({ title }) => title)).toEqual(['good', `Alert ${iid}`]);
    expect(writer.setAside).toBe(1);
  });

  test('because it is too large is written in parts, whole', async () => {
    store.refuses = (lines) => (lines.length > 1500 ? exhaustion : null);
    const titles = Array.from({ length: 20 }, (_, i) => `title ${i}`);
    await Promise.all(titles.map((title) => writer.add(writeOf(title))));
    expect(store.of('alert_events').map(({ body }) => (body as { title: string }).title)).toEqual(titles);
    expect(writer.setAside).toBe(0);
  });
});

describe('a store that is away', () => {
  test('gets the write again until it is back, and nothing is set aside', async () => {
    let attempts = 0;
    store.refuses = () => (++attempts < 4 ? new ProductError('store_failed', 'the store failed') : null);
    const written = writer.add(writeOf('late'));
    await expect.poll(() => writer.isFailing, { interval: 5 }).toBe(true);
    await written;
    expect(writer.isFailing).toBe(false);
    expect(store.of('alert_events')).toHaveLength(1);
    expect(failures).toHaveLength(3);
    expect(writer.setAside).toBe(0);
  });

  test('for dead letters only delays no event', async () => {
    store.refuses = (_lines, table) =>
      table === 'dead_letters' ? new ProductError('store_failed', 'away') : null;
    deadLetters.add({ topic: 't', source: '', origin: 'o', line: 0, reason: 'r', bytes: Buffer.from('b') });
    await writer.add(writeOf('in time'));
    expect(store.of('alerts')).toHaveLength(1);
    await deadLetters.stop();
    expect(deadLetters.lost).toBe(1);
  });

  test('loses dead letters above the limit of the queue, and counts them', async () => {
    store.refuses = (_lines, table) =>
      table === 'dead_letters' ? new ProductError('store_failed', 'away') : null;
    for (let line = 0; line < 1000; line++) {
      deadLetters.add({ topic: 't', source: '', origin: 'o', line, reason: 'r', bytes: Buffer.alloc(5000) });
    }
    expect(deadLetters.lost).toBeGreaterThan(500);
    await deadLetters.stop();
    expect(deadLetters.lost).toBe(1000);
  });
});
