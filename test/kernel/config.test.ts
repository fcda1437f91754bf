import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readConfig, settings } from '../../infra/config.ts';
import { ProductError } from '../../infra/errors.ts';

/** Every setting: default, accepted values with what they are read as, refused values. */
const TABLE: Record<string, { byDefault: unknown; good: [string, unknown][]; bad: string[] }> = {
  PROFILE: { byDefault: 'embedded', good: [['embedded', 'embedded']], bad: ['distributed', 'EMBEDDED'] },
  HOST: { byDefault: '127.0.0.1', good: [['0.0.0.0', '0.0.0.0'], ['::', '::']], bad: [] },
  PORT: { byDefault: 3000, good: [['0', 0], ['65535', 65_535]], bad: ['-1', '65536', '80.5', 'http', ' ', '0x50', '1e3'] },
  DATA_DIR: { byDefault: resolve('./data'), good: [['/var/lib/x', '/var/lib/x'], ['x/../y', resolve('y')]], bad: [] },
  CHAINS_FILE: { byDefault: undefined, good: [['chains.json', 'chains.json']], bad: [] },
  LOG_LEVEL: { byDefault: 'info', good: [['silent', 'silent'], ['debug', 'debug']], bad: ['verbose', 'INFO'] },
  ANONYMOUS_PER_MINUTE: { byDefault: 600, good: [['0', 0], ['1', 1]], bad: ['-1', 'many', 'Infinity'] },
  ANONYMOUS_PER_DAY: { byDefault: 50_000, good: [['0', 0], ['1', 1]], bad: ['-1', '1.5'] },
  TRUST_PROXY: { byDefault: false, good: [['true', true], ['false', false]], bad: ['yes', '1', 'TRUE'] },
  LIST_ROWS_MAX: { byDefault: 10_000, good: [['1', 1], ['1000000', 1_000_000]], bad: ['0', '1000001'] },
  CACHE_BYTES: { byDefault: 64 * 2 ** 20, good: [['0', 0]], bad: ['-1', '64MB'] },
  QUERY_SECONDS_MAX: { byDefault: 60, good: [['1', 1]], bad: ['0'] },
  STORE_CONNECTIONS: { byDefault: 4, good: [['2', 2], ['64', 64]], bad: ['1', '65'] },
  STORE_MEMORY_BYTES: { byDefault: 2 ** 31, good: [['268435456', 2 ** 28]], bad: ['268435455'] },
  STORE_FSYNC: { byDefault: false, good: [['true', true], ['false', false]], bad: ['on'] },
  BATCH_BYTES: { byDefault: 32 * 2 ** 20, good: [['1024', 1024]], bad: ['1023'] },
  LINE_BYTES_MAX: { byDefault: 64 * 2 ** 20, good: [['1024', 1024]], bad: ['1023'] },
  DEAD_LETTER_BYTES_MAX: { byDefault: 64 * 1024, good: [['0', 0]], bad: ['-1'] },
  JOB_ATTEMPTS: { byDefault: 5, good: [['1', 1], ['100', 100]], bad: ['0', '101'] },
  STOP_SECONDS_MAX: { byDefault: 20, good: [['1', 1]], bad: ['0'] },
}; // biome-ignore format: a table

const names = Object.keys(TABLE);
const goods = names.flatMap((name) =>
  (TABLE[name]?.good ?? []).map(([given, read]) => ({ name, given, read })),
);
const bads = names.flatMap((name) => (TABLE[name]?.bad ?? []).map((given) => ({ name, given })));

describe('settings', () => {
  test('are these and no others, each with its meaning', () => {
    expect(Object.keys(settings.shape).sort()).toEqual([...names].sort());
    for (const [name, schema] of Object.entries(settings.shape))
      expect(schema.description, name).toBeTruthy();
  });

  test('all have a default: the product starts without any', () => {
    const config = readConfig({});
    expect(config).toEqual(
      Object.fromEntries(
        names.map((name) => [name, TABLE[name]?.byDefault]).filter(([, value]) => value !== undefined),
      ),
    );
  });

  test('that are empty count as not given', () => {
    expect(readConfig(Object.fromEntries(names.map((name) => [name, ''])))).toEqual(readConfig({}));
  });

  test('of other programs are passed over', () => {
    expect(readConfig({ PATH: '/bin', NODE_ENV: 'test', port: '1' })).toEqual(readConfig({}));
  });

  test.each(goods)('$name=$given is accepted', ({ name, given, read }) => {
    expect(readConfig({ [name]: given })).toMatchObject({ [name]: read });
  });

  test.each(bads)(
    '$name=$given is refused in one line that names it and says what is accepted',
    ({ name, given }) => {
      let thrown: unknown;
      try {
        readConfig({ [name]: given });
      } catch (error) {
        thrown = error;
      }
      expect(thrown).toBeInstanceOf(ProductError);
      const { code, message } = thrown as ProductError;
      expect(code).toBe('setting_invalid');
      expect(message).toMatch(new RegExp(`^${name}=${given.replace(/[.*+?^$]/g, '\\$&')}: .+$`));
      expect(message).toMatch(/expected|Invalid|one of|>=|<=/);
    },
  );

  test('a value of several lines is told in one', () => {
    expect(() => readConfig({ PORT: 'a\nb' })).toThrow(/^PORT=a b: [^\n]+$/);
  });

  test('of several wrong ones the first is told', () => {
    expect(() => readConfig({ PORT: 'x', JOB_ATTEMPTS: '0' })).toThrow(/^PORT=x/);
  });
});
