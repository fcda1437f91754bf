import { describe, expect, it } from 'vitest';
import { checkSettings } from '../../../../serve/application/doctor/settings-check.ts';
import { readConfig } from '../../../../serve/settings/settings.ts';

const GIB = 2 ** 30;
const KEY = `${'A'.repeat(43)}=`;

/** What is found in an environment: `state text` of each finding. */
function found(env: Record<string, string>, memoryBytes = 16 * GIB): string[] {
  const good = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== 'eighty'));
  return checkSettings(env, readConfig(good), memoryBytes).map(({ state, text }) => `${state} ${text}`);
}

describe('the settings of a process', () => {
  it('are fine when all are known, within their ranges and safe together', () => {
    const fine = ['ok all are valid'];
    expect(found({ HOME: '/root', PATH: '/bin', LOG_LEVEL: 'warn' })).toEqual(fine);
    expect(found({ CHAIN_METRICS_PORT: 'tcp://10.0.0.1:3000' })).toEqual(fine);
    expect(found({ PUBLIC_URL: 'https://metrics.example', TRUST_PROXY: '1' })).toEqual(fine);
    expect(found({ HOST: '0.0.0.0', PUBLIC_URL: 'http://192.168.1.2:3000' })).toEqual(fine);
    expect(found({ PROFILE: 'distributed', SECRETS_KEY: KEY })).toEqual(fine);
  });

  it('that are out of range are all told, not only the first', () => {
    expect(found({ PORT: 'eighty', CACHE_BYTES: 'eighty' })).toEqual([
      expect.stringMatching(/^failed PORT=eighty: expected a whole number/),
      expect.stringMatching(/^failed CACHE_BYTES=eighty: expected a whole number/),
    ]);
  });

  it('that name chains which are not known are told', () => {
    expect(found({ FOLLOW: 'nope=http://127.0.0.1:9' })).toEqual([
      expect.stringMatching(/^failed no chain is called nope/),
    ]);
    expect(found({ CHAINS_FILE: '/nowhere.json' })).toEqual([expect.stringMatching(/^failed CHAINS_FILE=/)]);
  });

  it.each([
    ['DATADIR', 'DATA_DIR'],
    ['data_dir', 'DATA_DIR'],
    ['CHAIN_METRICS_PORT', 'PORT'],
    ['CHAIN_METRICS_DATA_DIR', 'DATA_DIR'],
    ['PUBLIC_URLS', 'PUBLIC_URL'],
    ['STORE_MEMORY_BYTE', 'STORE_MEMORY_BYTES'],
    ['KAFKA_BROKER', 'KAFKA_BROKERS'],
    ['DATA_DIR_FILE', 'DATA_DIR'],
  ])('%s is told to be unknown, and %s to be meant', (name, meant) => {
    expect(checkSettings({ [name]: 'x' }, readConfig({}), 16 * GIB)).toEqual([
      {
        check: 'settings',
        state: 'warning',
        text: `there is no setting ${name}`,
        remedy: `set ${meant} instead`,
      },
    ]);
  });

  it.each(['KAFKA_HOME', 'REDIS_HOST', 'CLICKHOUSE_HOST', 'REPORT', 'POST', 'HOSTNAME', 'SECRETS_KEY_FILE'])(
    '%s is left to other programs, or known',
    (name) => {
      const env = name === 'SECRETS_KEY_FILE' ? {} : { [name]: 'x' };
      expect(found(env)).toEqual(['ok all are valid']);
    },
  );

  it.each([
    [{ PUBLIC_URL: 'http://metrics.example' }, /travel unencrypted/],
    [{ HOST: '0.0.0.0' }, /PUBLIC_URL is not set/],
    [
      { HOST: '::', PUBLIC_URL: 'https://metrics.example', TRUST_PROXY: '1' },
      /callers can forge their address/,
    ],
    [{ PUBLIC_URL: 'https://metrics.example' }, /share its limits/],
    [
      { PUBLIC_URL: 'https://metrics.example', TRUST_PROXY: '1', OAUTH_INSECURE_REDIRECTS: 'true' },
      /OAUTH_INSECURE_REDIRECTS/,
    ],
    [{ PROFILE: 'distributed' }, /SECRETS_KEY is not set/],
    [{ STORE_MEMORY_BYTES: String(15 * GIB) }, /the system may kill the process/],
    [{ UV_THREADPOOL_SIZE: '4' }, /STORE_CONNECTIONS and READER_CONNECTIONS block one thread each/],
    [
      { UV_THREADPOOL_SIZE: '16', READER_CONNECTIONS: '20' },
      /STORE_CONNECTIONS and READER_CONNECTIONS block one thread each/,
    ],
    [{ KAFKA_BROKERS: 'a:1', REDIS_PREFIX: 'b' }, /ignores KAFKA_BROKERS, REDIS_PREFIX/],
    [
      {
        PROFILE: 'distributed',
        SECRETS_KEY: KEY,
        CLICKHOUSE_URL: 'http://db.example:8123',
        CLICKHOUSE_PASSWORD: 'x',
      },
      /the password of CLICKHOUSE_USER travels unencrypted/,
    ],
    [
      { PROFILE: 'distributed', SECRETS_KEY: KEY, REDIS_URL: 'redis://:x@8.8.8.8:6379' },
      /REDIS_URL is redis:\/\//,
    ],
    [
      { PROFILE: 'distributed', SECRETS_KEY: KEY, KAFKA_SASL: 'plain', KAFKA_BROKERS: 'k.example:9092' },
      /KAFKA_SASL=plain without KAFKA_TLS/,
    ],
  ] as [Record<string, string>, RegExp][])('%j endanger it', (env, says) => {
    expect(found(env)).toEqual([expect.stringMatching(new RegExp(`^warning .*${says.source}`))]);
  });

  it('never show a secret', () => {
    const text = JSON.stringify(found({ SECRETS_KEY: 'eighty', PROFILE: 'distributed' }));
    expect(text).not.toContain('eighty');
  });
});
