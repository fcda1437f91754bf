import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { isSecretSetting } from '../../../infra/config/read.ts';
import { ProductError } from '../../../infra/errors.ts';
import { bounds, readConfig, settings } from '../../../serve/settings/settings.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Every setting: default, accepted values with what they are read as, refused values. */
const TABLE: Record<string, { byDefault: unknown; good: [string, unknown][]; bad: string[] }> = {
  PROFILE: { byDefault: 'embedded', good: [['embedded', 'embedded'], ['distributed', 'distributed']], bad: ['kafka', 'EMBEDDED'] },
  HOST: { byDefault: '127.0.0.1', good: [['0.0.0.0', '0.0.0.0'], ['::', '::']], bad: [] },
  PORT: { byDefault: 3000, good: [['0', 0], ['65535', 65_535]], bad: ['-1', '65536', '80.5', 'http', ' ', '0x50', '1e3'] },
  DATA_DIR: { byDefault: resolve('./data'), good: [['/var/lib/x', '/var/lib/x'], ['x/../y', resolve('y')]], bad: [] },
  CHAINS_FILE: { byDefault: undefined, good: [['chains.json', 'chains.json']], bad: [] },
  FOLLOW: {
    byDefault: [],
    good: [['polkadot=http://a:1, kusama=https://b/c', [{ chain: 'polkadot', url: 'http://a:1' }, { chain: 'kusama', url: 'https://b/c' }]]],
    bad: ['polkadot', 'polkadot=a:1', '=http://a', 'polkadot=http://a,kusama'],
  },
  FOLLOW_BEST: { byDefault: false, good: [['true', true]], bad: ['yes'] },
  FOLLOW_FORCE: { byDefault: false, good: [['true', true]], bad: ['force'] },
  FOLLOW_SNAPSHOTS: { byDefault: true, good: [['false', false]], bad: ['no'] },
  LOG_LEVEL: { byDefault: 'info', good: [['silent', 'silent'], ['debug', 'debug']], bad: ['verbose', 'INFO'] },
  ANONYMOUS_PER_MINUTE: { byDefault: 600, good: [['0', 0], ['1', 1]], bad: ['-1', 'many', 'Infinity'] },
  ANONYMOUS_PER_DAY: { byDefault: 50_000, good: [['0', 0], ['1', 1]], bad: ['-1', '1.5'] },
  PUBLIC_URL: { byDefault: undefined, good: [['https://metrics.example/', 'https://metrics.example'], ['http://localhost:3000', 'http://localhost:3000']], bad: ['metrics.example', 'ftp://x', 'https://x/path', 'https://user@x'] },
  SECRETS_KEY: { byDefault: undefined, good: [[`${'A'.repeat(43)}=`, `${'A'.repeat(43)}=`]], bad: [] },
  SIGN_UP: { byDefault: 'open', good: [['closed', 'closed']], bad: ['false', 'OPEN'] },
  SESSION_HOURS: { byDefault: 336, good: [['1', 1]], bad: ['0'] },
  OAUTH_CODE_SECONDS: { byDefault: 600, good: [['1', 1]], bad: ['0', '601'] },
  OAUTH_ACCESS_SECONDS: { byDefault: 7200, good: [['1', 1]], bad: ['0'] },
  OAUTH_REFRESH_DAYS: { byDefault: 365, good: [['1', 1]], bad: ['0'] },
  OAUTH_REFRESH_GRACE_SECONDS: { byDefault: 0, good: [['60', 60]], bad: ['-1', '61'] },
  OAUTH_PASSWORD_WITHOUT_CLIENT: { byDefault: true, good: [['false', false]], bad: ['no'] },
  OAUTH_RESOURCES: {
    byDefault: [],
    good: [['https://mcp.example.com, urn:example:reports', ['https://mcp.example.com', 'urn:example:reports']]],
    bad: ['mcp.example.com', 'localhost:3000', '/api', 'https://a.example/#b', 'https://a.example https://b.example', 'https://'],
  },
  OAUTH_INSECURE_REDIRECTS: { byDefault: false, good: [['true', true]], bad: ['yes'] },
  TRUST_PROXY: {
    byDefault: false,
    good: [['false', false], ['1', 1], ['10', 10], ['loopback, uniquelocal', ['loopback', 'uniquelocal']], ['192.0.2.1,2001:db8::/32', ['192.0.2.1', '2001:db8::/32']]],
    bad: ['true', 'TRUE', 'yes', '0', '-1', '11', '1.5', '0.0.0.0/0', '::/0', '10.0.0.0/33', '10.0.0.0/8/8', '10.0.0', 'nginx', 'loopback,', 'loopback,nginx'],
  },
  CONNECTIONS_MAX: { byDefault: 1000, good: [['1', 1]], bad: ['0', '100001'] },
  CONNECTIONS_PER_ADDRESS: { byDefault: 200, good: [['0', 0]], bad: ['-1'] },
  CACHE_BYTES: { byDefault: 64 * 2 ** 20, good: [['0', 0]], bad: ['-1', '64MB'] },
  QUERY_SECONDS_MAX: { byDefault: 60, good: [['1', 1]], bad: ['0'] },
  ANONYMOUS_STORE_SECONDS: { byDefault: 30, good: [['0', 0]], bad: ['-1'] },
  KEY_STORE_SECONDS: { byDefault: 120, good: [['0', 0]], bad: ['-1'] },
  READER_CONNECTIONS: { byDefault: 6, good: [['1', 1], ['64', 64]], bad: ['0', '65'] },
  STORE_CONNECTIONS: { byDefault: 4, good: [['2', 2], ['64', 64]], bad: ['1', '65'] },
  STORE_MEMORY_BYTES: { byDefault: 2 ** 31, good: [['268435456', 2 ** 28]], bad: ['268435455'] },
  DISK_FREE_BYTES_MIN: { byDefault: 64 * 2 ** 20, good: [['0', 0]], bad: ['-1'] },
  BATCH_BYTES: { byDefault: 48 * 2 ** 20, good: [['1024', 1024]], bad: ['1023'] },
  STORE_FSYNC: { byDefault: false, good: [['true', true], ['false', false]], bad: ['on'] },
  LINE_BYTES_MAX: { byDefault: 64 * 2 ** 20, good: [['1024', 1024]], bad: ['1023'] },
  RETENTION_DEAD_LETTERS_DAYS: { byDefault: 0, good: [['1', 1], ['36500', 36_500]], bad: ['-1', '0.5', '36501'] },
  RETENTION_RAW_DAYS: { byDefault: 0, good: [['31', 31], ['36500', 36_500]], bad: ['-1', '30', '36501'] },
  RETENTION_ALERT_EVENTS_DAYS: { byDefault: 0, good: [['8', 8], ['36500', 36_500]], bad: ['-1', '7', '36501'] },
  MIGRATE_ON_START: { byDefault: true, good: [['false', false]], bad: ['no'] },
  STOP_DELAY_SECONDS: { byDefault: 0, good: [['5', 5]], bad: ['-1', '601'] },
  LIMITS_WITHOUT_REDIS: { byDefault: 'local', good: [['refuse', 'refuse']], bad: ['open'] },
  STOP_SECONDS_MAX: { byDefault: 20, good: [['1', 1]], bad: ['0'] },
  KAFKA_BROKERS: { byDefault: 'localhost:9092', good: [['a:1,b.c:9092', 'a:1,b.c:9092']], bad: ['localhost', 'a:1, b:2', 'http://a:1'] },
  KAFKA_SASL: { byDefault: 'none', good: [['plain', 'plain'], ['scram-sha-512', 'scram-sha-512'], ['oauthbearer', 'oauthbearer']], bad: ['PLAIN'] },
  KAFKA_USER: { byDefault: '', good: [['alice', 'alice']], bad: [] },
  KAFKA_PASSWORD: { byDefault: '', good: [['secret', 'secret']], bad: [] },
  KAFKA_TLS: { byDefault: false, good: [['true', true]], bad: ['yes'] },
  KAFKA_OAUTH_URL: { byDefault: undefined, good: [['https://id.example/token', 'https://id.example/token']], bad: ['id.example', 'ftp://x'] },
  KAFKA_OAUTH_SCOPE: { byDefault: '', good: [['kafka', 'kafka']], bad: [] },
  KAFKA_TLS_CA_FILE: { byDefault: undefined, good: [['/ca.pem', '/ca.pem']], bad: [] },
  KAFKA_TLS_CERT_FILE: { byDefault: undefined, good: [['/user.crt', '/user.crt']], bad: [] },
  KAFKA_TLS_KEY_FILE: { byDefault: undefined, good: [['/user.key', '/user.key']], bad: [] },
  KAFKA_PREFIX: { byDefault: '', good: [['test.', 'test.']], bad: ['a b', 'a/b'] },
  KAFKA_PARTITIONS: { byDefault: 12, good: [['1', 1]], bad: ['0', '10001'] },
  KAFKA_REPLICATION: { byDefault: 1, good: [['3', 3]], bad: ['0', '10'] },
  KAFKA_RETENTION_HOURS: { byDefault: 168, good: [['1', 1]], bad: ['0'] },
  KAFKA_MESSAGE_BYTES: { byDefault: 8 * 2 ** 20, good: [['16777216', 2 ** 24]], bad: ['8388607'] },
  REDIS_URL: { byDefault: 'redis://localhost:6379', good: [['rediss://:x@h:1/2', 'rediss://:x@h:1/2']], bad: [] },
  REDIS_MODE: { byDefault: 'single', good: [['sentinel', 'sentinel'], ['cluster', 'cluster']], bad: ['CLUSTER'] },
  REDIS_NODES: { byDefault: undefined, good: [['a:1,b.c:26379', 'a:1,b.c:26379']], bad: ['a', 'a:1, b:2', 'redis://a:1'] },
  REDIS_SENTINEL_NAME: { byDefault: 'mymaster', good: [['main', 'main']], bad: [] },
  REDIS_SENTINEL_PASSWORD: { byDefault: '', good: [['secret', 'secret']], bad: [] },
  REDIS_PREFIX: { byDefault: 'chain-metrics', good: [['a.b_c-1', 'a.b_c-1']], bad: ['a:b'] },
  CLICKHOUSE_URL: { byDefault: 'http://localhost:8123', good: [['https://h:8443', 'https://h:8443']], bad: ['tcp://h:9000', 'h:8123'] },
  CLICKHOUSE_DATABASE: { byDefault: 'chain_metrics', good: [['metrics_2', 'metrics_2']], bad: ['2a', 'a.b', "a'b"] },
  CLICKHOUSE_USER: { byDefault: 'default', good: [['alice', 'alice']], bad: [] },
  CLICKHOUSE_PASSWORD: { byDefault: '', good: [['secret', 'secret']], bad: [] },
  CLICKHOUSE_READ_USER: { byDefault: undefined, good: [['reader', 'reader']], bad: [] },
  CLICKHOUSE_READ_PASSWORD: { byDefault: '', good: [['secret', 'secret']], bad: [] },
  CLICKHOUSE_CLUSTER: { byDefault: undefined, good: [['main', 'main']], bad: ['a b', '1a'] },
  SERVICE_WAIT_SECONDS: { byDefault: 60, good: [['0', 0]], bad: ['-1'] },
  WORK_CONCURRENCY: { byDefault: 2, good: [['1', 1], ['256', 256]], bad: ['0', '257'] },
  OPERATOR_HOST: { byDefault: '127.0.0.1', good: [['0.0.0.0', '0.0.0.0']], bad: [] },
  OPERATOR_PORT: { byDefault: 9464, good: [['0', 0]], bad: ['65536'] },
  REVISION: { byDefault: 'unknown', good: [['0f29e2a', '0f29e2a'], ['v1.2.0-3', 'v1.2.0-3']], bad: ['two words', 'a'.repeat(65)] },
  ALERT_BODY_BYTES_MAX: { byDefault: 2 ** 20, good: [['1024', 1024], ['67108864', 2 ** 26]], bad: ['1023', '67108865'] },
  ALERT_RETRY_WINDOW_SECONDS: { byDefault: 60, good: [['0', 0], ['86400', 86_400]], bad: ['-1', '86401'] },
  ALERT_CACHE_BYTES: { byDefault: 256 * 2 ** 20, good: [['0', 0]], bad: ['-1'] },
  ALERT_PRIVATE_TARGETS: { byDefault: false, good: [['true', true]], bad: ['yes'] },
  PAGE_UNREACHED_SECONDS: { byDefault: 120, good: [['10', 10]], bad: ['9', '3601'] },
  PAGE_GIVE_UP_HOURS: { byDefault: 4, good: [['168', 168]], bad: ['0', '169'] },
  PAGE_LINK_HOURS: { byDefault: 24, good: [['1', 1]], bad: ['0', '169'] },
  PAGE_BUNDLE_SECONDS: { byDefault: 60, good: [['0', 0]], bad: ['601'] },
  PAGE_FALLBACK_EMAIL: { byDefault: undefined, good: [['boss@example.org', 'boss@example.org']], bad: ['boss'] },
  RETENTION_PAGES_DAYS: { byDefault: 400, good: [['0', 0], ['8', 8]], bad: ['7', '36501'] },
  RETENTION_SILENCES_HOURS: { byDefault: 120, good: [['1', 1]], bad: ['0', '8761'] },
  PAGING_HEARTBEAT_URL: { byDefault: undefined, good: [['https://hc.example/ping/1', 'https://hc.example/ping/1']], bad: ['hc.example', 'ftp://hc.example'] },
  ALERT_PLAN: { byDefault: 'premium', good: [['free', 'free']], bad: ['ultimate'] },
  SMTP_URL: { byDefault: undefined, good: [['smtp://a:p%40@h:587', 'smtp://a:p%40@h:587'], ['smtps://h', 'smtps://h']], bad: [] },
  SMTP_FROM: { byDefault: undefined, good: [['alerts@example.org', 'alerts@example.org']], bad: ['alerts', 'Alerts <alerts@example.org>', 'a@b.c, d@e.f'] },
  SMTP_REQUIRE_TLS: { byDefault: true, good: [['false', false]], bad: ['no'] },
  TELEGRAM_BOT_TOKEN: { byDefault: undefined, good: [['123456:ABC-DEF_1', '123456:ABC-DEF_1']], bad: [] },
  TELEGRAM_API_URL: { byDefault: undefined, good: [['http://bot:8081/', 'http://bot:8081']], bad: ['bot:8081', 'ftp://bot'] },
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
    expect(config).toEqual({
      ...bounds,
      ...Object.fromEntries(
        names.map((name) => [name, TABLE[name]?.byDefault]).filter(([, value]) => value !== undefined),
      ),
    });
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

  test('a secret is never repeated, not even a wrong one', () => {
    expect(() => readConfig({ SECRETS_KEY: 'too short' })).toThrow(
      /^SECRETS_KEY=…: expected 32 bytes as base64$/,
    );
  });

  test('a value of several lines is told in one', () => {
    expect(() => readConfig({ PORT: 'a\nb' })).toThrow(/^PORT=a b: [^\n]+$/);
  });

  test('of several wrong ones the first is told', () => {
    expect(() => readConfig({ PORT: 'x', BATCH_BYTES: '0' })).toThrow(/^PORT=x/);
  });
});

describe('secrets in files', () => {
  const place = temporaryDirectory();
  afterAll(() => place[Symbol.dispose]());
  const fileOf = (text: string, name = 'secret') => {
    const file = join(place.path, name);
    writeFileSync(file, text);
    return file;
  };

  test.each(goods.filter(({ name }) => isSecretSetting(name)))(
    '$name can be in a file, with or without a newline at the end',
    ({ name, given, read }) => {
      for (const end of ['', '\n', '\r\n']) {
        expect(readConfig({ [`${name}_FILE`]: fileOf(given + end), [name]: '' })).toMatchObject({
          [name]: read,
        });
      }
    },
  );

  test('only the last newline is removed', () => {
    expect(readConfig({ KAFKA_PASSWORD_FILE: fileOf(' two\nlines \n\n') }).KAFKA_PASSWORD).toBe(
      ' two\nlines \n',
    );
  });

  test.each([
    ['both settings', { KAFKA_PASSWORD: 'hush' }, 'hush', /KAFKA_PASSWORD, not both$/],
    ['an empty file', {}, '\n', /it is empty$/],
    ['a file that is too long', {}, 'hush'.repeat(20_000), /at most 65536 bytes$/],
  ])('%s are refused without the secret', (_title, more, text, says) => {
    const file = fileOf(text);
    const reading = () => readConfig({ ...more, KAFKA_PASSWORD_FILE: file });
    expect(reading).toThrow(says);
    expect(reading).toThrow(new RegExp(`^KAFKA_PASSWORD_FILE=${file}: expected [^\n]+$`));
    expect(reading).not.toThrow(/hush/);
  });

  test('a file that cannot be read is named with the reason', () => {
    expect(() => readConfig({ KAFKA_PASSWORD_FILE: '/nowhere/secret' })).toThrow(
      /^KAFKA_PASSWORD_FILE=\/nowhere\/secret: expected a file that can be read: ENOENT/,
    );
    expect(() => readConfig({ KAFKA_PASSWORD_FILE: place.path })).toThrow(/EISDIR/);
  });

  test('a wrong secret of a file is not repeated', () => {
    expect(() => readConfig({ SECRETS_KEY_FILE: fileOf('too short') })).toThrow(
      /^SECRETS_KEY=…: expected 32 bytes as base64$/,
    );
  });
});
