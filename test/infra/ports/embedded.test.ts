import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../infra/clock.ts';
import { EmbeddedKeyValue } from '../../../infra/embedded/key-value.ts';
import { EmbeddedLog } from '../../../infra/embedded/log.ts';
import { EmbeddedQueue } from '../../../infra/embedded/queue.ts';
import { openEmbedded } from '../../../infra/embedded/runtime.ts';
import { EmbeddedStore } from '../../../infra/embedded/store.ts';
import { ProductError } from '../../../infra/errors.ts';
import type { Ack, QueryOptions } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { createTable, landingTable } from '../../../infra/table.ts';
import { readConfig } from '../../../serve/settings/settings.ts';
import { clockContract } from './clock.contract.ts';
import { keyValueContract } from './key-value.contract.ts';
import { logContract } from './log.contract.ts';
import { gate, pause, until } from './opened.ts';
import { queueContract } from './queue.contract.ts';
import { storeContract } from './store.contract.ts';

const temporary = () => mkdtempSync(join(tmpdir(), 'chain-metrics-ports-'));
const remove = (directory: string) => rmSync(directory, { recursive: true, force: true });

clockContract('system', async () => ({ port: systemClock, close: async () => {} }));

keyValueContract('embedded', async () => {
  let now = 1_700_000_000_000;
  const clock = { now: () => now };
  const port = new EmbeddedKeyValue(clock, clock);
  return {
    port,
    close: () => port.close(),
    pass: async (ms) => {
      now += ms;
    },
  };
});

logContract('embedded', async () => {
  const port = new EmbeddedLog();
  return { port, close: () => port.close() };
});

queueContract('embedded', async (rules) => {
  const port = new EmbeddedQueue(rules);
  return { port, close: () => port.close() };
});

storeContract('embedded', async () => {
  const directory = temporary();
  const config = readConfig({ DATA_DIR: directory });
  let store = await EmbeddedStore.open(config);
  return {
    port: store,
    reopen: async () => {
      await store.close();
      store = await EmbeddedStore.open(config);
      return store;
    },
    close: async () => {
      await store.close();
      remove(directory);
    },
  };
});

// Guarantees of one process, whose publishers are answered when their messages are consumed.
describe('embedded log: delivery', () => {
  const message = { key: 'key', value: Buffer.from('value') };
  const DURABLE: Ack = { durable: Promise.resolve() };

  test('publish returns only after the handler of every group is done', async () => {
    const log = new EmbeddedLog();
    const done: string[] = [];
    for (const group of ['load', 'watch']) {
      await log.consume('topic', group, async () => {
        await pause(5);
        done.push(group);
        return DURABLE;
      });
    }
    await log.publish('topic', [message]);
    expect(done.sort()).toEqual(['load', 'watch']);
    await log.close();
  });

  test('the publisher of a batch gets the failure of its handler', async () => {
    const log = new EmbeddedLog();
    let failures = 1;
    await log.consume('topic', 'load', async () => {
      if (failures-- > 0) throw new Error('the disk is full');
      return DURABLE;
    });
    const first = await Promise.allSettled([log.publish('topic', [message])]);
    const outcomes = [...first, ...(await Promise.allSettled([log.publish('topic', [message])]))];
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect((outcomes[0] as PromiseRejectedResult).reason.message).toBe('the disk is full');
    await log.close();
  });

  test('publishers that wait share a batch, up to some megabytes and in their order', async () => {
    const log = new EmbeddedLog();
    const handled: string[] = [];
    await log.consume('topic', 'load', async (batch) => {
      await pause(5);
      handled.push(batch.map(({ key }) => key).join(' '));
      return DURABLE;
    });
    const large = Buffer.alloc(9 * 2 ** 20);
    const value = Buffer.from('value');
    const publish = (key: string, bytes = value) => log.publish('topic', [{ key, value: bytes }]);
    await Promise.all([publish('a'), publish('b'), publish('c', large), publish('d'), publish('e')]);
    expect(handled).toEqual(['a b', 'c', 'd e']);
    await publish('f');
    expect(handled.at(-1)).toBe('f');
    await log.close();
  });

  test('a large batch is delivered before the one before it is durable, and a small one after it', async () => {
    const log = new EmbeddedLog();
    const delivered: string[] = [];
    const held = gate();
    await log.consume('topic', 'load', async (batch) => {
      delivered.push(batch.map(({ key }) => key).join(' '));
      return { durable: held.opened };
    });
    const large = Buffer.alloc(2 * 2 ** 20);
    const publish = (key: string, value: Buffer) => log.publish('topic', [{ key, value }]);
    const published = [publish('a', large), publish('b', large)];
    await until('both are delivered', () => delivered.length === 2);
    published.push(publish('c', Buffer.from('value')));
    await pause(20);
    expect(delivered).toEqual(['a', 'b']);
    held.open();
    await Promise.all(published);
    expect(delivered).toEqual(['a', 'b', 'c']);
    await log.close();
  });

  test('after a batch that was shared few messages gather for a moment, and after any other none do', async () => {
    const log = new EmbeddedLog();
    const handled: string[] = [];
    await log.consume('topic', 'load', async (batch) => {
      await pause(300);
      handled.push(batch.map(({ key }) => key).join(' '));
      return DURABLE;
    });
    const publish = (...keys: readonly string[]) =>
      Promise.all(keys.map((key) => log.publish('topic', [{ ...message, key }])));
    await publish('a', 'b');
    const later = publish('c');
    await pause(500);
    await Promise.all([later, publish('d')]);
    expect(handled).toEqual(['a b', 'c d']);
    // What is large is not held up by what gathers before it.
    await Promise.all([publish('e'), log.publish('topic', [{ key: 'f', value: Buffer.alloc(9 * 2 ** 20) }])]);
    expect(handled.slice(2)).toEqual(['e', 'f']);
    await log.close();
  });

  test('a batch may have more messages than a call has arguments', async () => {
    const log = new EmbeddedLog();
    let count = 0;
    await log.consume('topic', 'load', async (batch) => {
      count += batch.length;
      return DURABLE;
    });
    const many = Array.from({ length: 300_000 }, () => message);
    await Promise.all([
      log.publish('topic', many),
      log.publish('topic', [message]),
      log.publish('topic', many),
    ]);
    expect(count).toBe(600_001);
    await log.close();
  });

  test('all publishers of a batch get its failure, and those of the next one do not', async () => {
    const log = new EmbeddedLog();
    await log.consume('topic', 'load', async (batch) => {
      await pause(1);
      if (batch.length > 1) throw new Error('the disk is full');
      return DURABLE;
    });
    const published = [1, 2].map(() => log.publish('topic', [message]));
    expect((await Promise.allSettled(published)).map(({ status }) => status)).toEqual([
      'rejected',
      'rejected',
    ]);
    await log.publish('topic', [message]);
    await log.close();
  });

  test('publishing to a topic without a consumer is an error, since the messages would be lost', async () => {
    const log = new EmbeddedLog();
    await expect(log.publish('nobody', [message])).rejects.toThrow(/nothing consumes nobody/);
    await log.close();
    await expect(log.publish('nobody', [message])).rejects.toThrow();
  });
});

describe('embedded store: the directory', () => {
  const codeOf = async (directory: string) => {
    try {
      const store = await EmbeddedStore.open(readConfig({ DATA_DIR: directory }));
      await store.close();
      return 'opened';
    } catch (error) {
      return error instanceof ProductError ? error : String(error);
    }
  };

  test('that cannot be created is store_unwritable, and the message names it', async () => {
    const directory = temporary();
    writeFileSync(join(directory, 'file'), '');
    const error = (await codeOf(join(directory, 'file', 'data'))) as ProductError;
    expect(error.code).toBe('store_unwritable');
    expect(error.message).toContain(join(directory, 'file', 'data'));
    remove(directory);
  });

  test('that another process uses is store_in_use, and that process continues', async () => {
    const directory = temporary();
    const store = await EmbeddedStore.open(readConfig({ DATA_DIR: directory }));
    const program = `
      import { EmbeddedStore } from ${JSON.stringify(new URL('../../../infra/embedded/store.ts', import.meta.url).href)};
      import { readConfig } from ${JSON.stringify(new URL('../../../serve/settings/settings.ts', import.meta.url).href)};
      try { await EmbeddedStore.open(readConfig({ DATA_DIR: ${JSON.stringify(directory)} })); console.log('opened'); }
      catch (error) { console.log(error.code, error.message); }
      process.exit(0);`;
    const other = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
    expect(other.stdout.trim()).toBe(`store_in_use ${directory} is in use by process ${process.pid}`);
    expect(await store.rows(sql`SELECT 1 AS one`)).toEqual([{ one: 1 }]);
    await store.close();
    remove(directory);
  });

  test('keeps no incomplete batch: it was never acknowledged', async () => {
    const directory = temporary();
    mkdirSync(join(directory, 'spool'));
    writeFileSync(join(directory, 'spool', '000001700000000-1-blocks_in.part'), '{"half":');
    const store = await EmbeddedStore.open(readConfig({ DATA_DIR: directory }));
    expect(await store.unfinished()).toEqual([]);
    expect(readdirSync(join(directory, 'spool'))).toEqual([]);
    await store.close();
    remove(directory);
  });

  test('whose spool cannot be written refuses a batch as store_unwritable', async () => {
    const directory = temporary();
    const store = await EmbeddedStore.open(readConfig({ DATA_DIR: directory }));
    remove(join(directory, 'spool'));
    const batch = landingTable({ name: 'gone_in', doc: 'none', columns: { sequence: 'UInt64' } });
    await expect(store.stage(batch, [Buffer.from('{}')])).rejects.toMatchObject({ code: 'store_unwritable' });
    await store.close();
    remove(directory);
  });
});

describe('embedded store: binary formats', () => {
  test.each(['Parquet', 'Arrow'] as const)('%s bytes are read back as the same rows', async (format) => {
    const directory = temporary();
    const store = await EmbeddedStore.open(readConfig({ DATA_DIR: directory }));
    const rows = sql`SELECT number AS n, concat('é🦀', toString(number)) AS t, if(number % 3 = 0, NULL, number / 7) AS d,
      toDateTime64(number, 3, 'UTC') AS at FROM numbers(20000)`;
    const file = join(directory, `rows.${format}`);
    writeFileSync(file, await store.bytes(rows, format));
    const sum = (from: ReturnType<typeof sql>) =>
      sql`SELECT count() AS rows, toString(sum(sipHash64(n, CAST(t, 'String'), ifNull(d, -1), toUnixTimestamp64Milli(at)))) AS sum FROM ${from}`;
    const engineName = format === 'Arrow' ? 'ArrowStream' : 'Parquet';
    expect(await store.rows(sum(sql`file(${file}, ${engineName})`))).toEqual(
      await store.rows(sum(sql`(${rows})`)),
    );
    await store.close();
    remove(directory);
  });
});

describe('embedded runtime', () => {
  test('opens all five ports on one directory and releases it when it is closed', async () => {
    const directory = temporary();
    for (let i = 0; i < 2; i++) {
      const runtime = await openEmbedded(readConfig({ DATA_DIR: directory }), [], systemClock);
      await runtime.store.run(
        createTable(landingTable({ name: 'any_in', doc: 'none', columns: { sequence: 'UInt64' } })),
      );
      await runtime.keyValue.set('key', String(i));
      expect(await runtime.keyValue.get('key')).toBe(String(i));
      await runtime.close();
    }
    remove(directory);
  });

  test('a query that exceeds its time is cancelled, and its connection stays usable', async () => {
    const directory = temporary();
    const store = await EmbeddedStore.open(
      readConfig({ DATA_DIR: directory, QUERY_SECONDS_MAX: '1', STORE_CONNECTIONS: '2' }),
    );
    const forever = () => store.rows(sql`SELECT sum(sipHash64(number, 1)) AS s FROM numbers(1000000000000)`);
    const ended = await Promise.allSettled([forever(), forever()]);
    for (const one of ended) expect(one).toMatchObject({ reason: { code: 'store_timeout' } });
    expect(await store.rows(sql`SELECT 1 AS one`)).toEqual([{ one: 1 }]);
    await store.close();
    remove(directory);
  });

  test('every connection reads files itself, loads no statistics and compiles late, also one that replaces a failed one', async () => {
    const directory = temporary();
    const store = await EmbeddedStore.open(readConfig({ DATA_DIR: directory, STORE_CONNECTIONS: '2' }));
    const ways = () =>
      store.rows(
        sql`SELECT getSetting('local_filesystem_read_method') AS way, toUInt8(getSetting('use_statistics')) AS statistics,
          toUInt8(getSetting('min_count_to_compile_expression')) AS runs`,
      );
    const bothWays = () => Promise.all([ways(), ways()]);
    const expected = Array.from({ length: 2 }, () => [{ way: 'pread', statistics: 0, runs: 50 }]);
    expect(await bothWays()).toEqual(expected);
    await Promise.allSettled([1, 2].map(() => store.rows(sql`SELECT throwIf(1)`)));
    expect(await bothWays()).toEqual(expected);
    await store.close();
    remove(directory);
  });

  test('a statement runs on several threads under the default memory limit, and on one where memory is scarce', async () => {
    const plan = async (settings: Record<string, string>) => {
      const directory = temporary();
      const store = await EmbeddedStore.open(readConfig({ DATA_DIR: directory, ...settings }));
      // As if the machine had four processors.
      const steps = await store.rows<{ explain: string }>(
        sql`SELECT explain FROM (EXPLAIN PIPELINE SELECT sum(number) FROM numbers_mt(1000000000) SETTINGS max_threads = 4)`,
      );
      await store.close();
      remove(directory);
      return steps.map(({ explain }) => explain).join('\n');
    };
    expect(await plan({})).toContain('NumbersRange × 4');
    expect(await plan({ STORE_MEMORY_BYTES: String(2 ** 28) })).not.toContain('×');
  });

  test('a statement of work has half of the processors, and one of a reader all of them', async () => {
    const directory = temporary();
    const store = await EmbeddedStore.open(readConfig({ DATA_DIR: directory }));
    const threads = async (options: QueryOptions) => {
      const [row] = await store.rows<{ threads: number }>(
        sql`SELECT getSetting('max_threads') AS threads`,
        options,
      );
      return row?.threads;
    };
    const processors = availableParallelism();
    expect(await threads({})).toBe(Math.max(1, processors >> 1));
    expect(await threads({ lane: 'readers' })).toBe(processors);
    expect(await threads({ lane: 'readers', isLowPriority: true })).toBe(Math.max(1, processors >> 2));
    await store.close();
    remove(directory);
  });
});
