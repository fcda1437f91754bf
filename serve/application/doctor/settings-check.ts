import { isIP } from 'node:net';
import { totalmem } from 'node:os';
import {
  type Environment,
  isSecretSetting,
  secretFileSetting,
  settingFaults,
} from '../../../infra/config/read.ts';
import { distributedSettings } from '../../../infra/distributed/settings.ts';
import { reasonOf } from '../../../infra/errors.ts';
import { type Finding, failed, fine, warning } from '../../../infra/finding.ts';
import { formatBytes } from '../../../infra/format.ts';
import { nearestName } from '../../../infra/nearest-name.ts';
import { findChain, readRegistry } from '../../../ingest/chains/registry.ts';
import { isPublicAddress } from '../../alerts/http-client/public-address.ts';
import { type Config, settings } from '../../settings/settings.ts';

const CHECK = 'settings';
const FINDINGS_MAX = 20;
/** Shorter names, and names that differ in more letters, may belong to other programs. */
const NEAR_CHARACTERS_MIN = 7;
const NEAR_LETTERS_MAX = 2;
/** The part of the machine's memory that the engine may use. The rest is for loading and serving. */
const MEMORY_SHARE = 0.8;
/** Threads for files, in addition to those that the engine blocks. */
const FILE_THREADS_MIN = 2;

/** Reports invalid, unknown and dangerous settings. */
export function checkSettings(env: Environment, config: Config, memoryBytes = memoryOfMachine()): Finding[] {
  const faults = [...settingFaults(settings, env).values()].map((fault) =>
    failed(CHECK, fault, 'correct or unset it; `chain-metrics settings` lists all settings'),
  );
  faults.push(...chainFaults(config));
  const warnings = [...unusedVariables(env, config), ...dangers(env, config, memoryBytes)].map(
    ([text, remedy]) => warning(CHECK, text, remedy),
  );
  const found = [...faults, ...warnings];
  return found.length === 0 ? [fine(CHECK, 'all are valid')] : found.slice(0, FINDINGS_MAX);
}

function chainFaults(config: Config): Finding[] {
  try {
    const registry = readRegistry(config);
    for (const { chain } of config.FOLLOW) findChain(registry, chain);
    return [];
  } catch (error) {
    return [failed(CHECK, reasonOf(error), 'correct CHAINS_FILE or FOLLOW: no process starts before')];
  }
}

type Danger = readonly [text: string, remedy: string];

const names = Object.keys(settings.shape);
const usedVariables = new Set([...names, ...names.filter(isSecretSetting).map(secretFileSetting)]);
const normalized = (name: string) => name.replaceAll(/[^A-Za-z0-9]/g, '').toUpperCase();
const byNormalizedName = new Map(names.map((name) => [normalized(name), name]));

/** Kubernetes sets variables such as CHAIN_METRICS_PORT for every service. */
const OF_KUBERNETES = /^tcp:\/\//;

/** Variables that this program does not read, although their names are similar to settings. */
function unusedVariables(env: Environment, { PROFILE }: Config): Danger[] {
  const variables = Object.keys(env).filter((name) => env[name]);
  const misspelled = variables
    .filter((name) => !usedVariables.has(name) && !OF_KUBERNETES.test(env[name] ?? ''))
    .flatMap((name): Danger[] => {
      const setting = similarSetting(name);
      return setting === null ? [] : [[`there is no setting ${name}`, `set ${setting} instead`]];
    });
  const distributed =
    PROFILE === 'embedded' ? variables.filter((name) => Object.hasOwn(distributedSettings, name)) : [];
  return distributed.length === 0
    ? misspelled
    : [
        ...misspelled,
        [`the embedded profile ignores ${distributed.join(', ')}`, 'set PROFILE=distributed, or unset them'],
      ];
}

function similarSetting(name: string): string | null {
  const bare = normalized(name).replace(/^CHAINMETRICS/, '');
  // Only secrets can be in files.
  const same = byNormalizedName.get(bare) ?? byNormalizedName.get(bare.replace(/FILE$/, ''));
  if (same !== undefined) return same;
  if (bare.length < NEAR_CHARACTERS_MIN) return null;
  return byNormalizedName.get(nearestName(bare, byNormalizedName.keys(), NEAR_LETTERS_MAX) ?? '') ?? null;
}

function dangers(env: Environment, config: Config, memoryBytes: number): Danger[] {
  const { PUBLIC_URL, HOST, TRUST_PROXY, PROFILE } = config;
  const { hostname = '', protocol = '' } = PUBLIC_URL === undefined ? {} : new URL(PUBLIC_URL);
  const isPublic = isPublicHost(hostname);
  const isOpen = !isLoopback(HOST);
  const threadsMin = config.STORE_CONNECTIONS + config.READER_CONNECTIONS + FILE_THREADS_MIN;
  const rules: readonly (readonly [isDanger: boolean, ...Danger])[] = [
    [
      isPublic && protocol === 'http:',
      `PUBLIC_URL=${PUBLIC_URL}: passwords, cookies and keys travel unencrypted`,
      'put a proxy with TLS in front and set PUBLIC_URL to its https address',
    ],
    [
      isOpen && PUBLIC_URL === undefined,
      `HOST=${HOST} accepts requests of other machines, but PUBLIC_URL is not set: links point to localhost, and cookies are not marked secure`,
      'set PUBLIC_URL to the public https address, or HOST=127.0.0.1',
    ],
    [
      isOpen && typeof TRUST_PROXY === 'number',
      `TRUST_PROXY=${TRUST_PROXY} trusts every connection, and HOST=${HOST} accepts connections from anywhere: callers can forge their address`,
      'set TRUST_PROXY to the addresses of the proxies, or restrict the port to them',
    ],
    [
      isPublic && protocol === 'https:' && TRUST_PROXY === false,
      'PUBLIC_URL belongs to a proxy, but TRUST_PROXY=false: all callers have the address of the proxy and share its limits',
      'set TRUST_PROXY to the number or the addresses of the proxies',
    ],
    [
      isPublic && config.OAUTH_INSECURE_REDIRECTS,
      'OAUTH_INSECURE_REDIRECTS=true on a public address: authorization codes travel unencrypted',
      'unset it; use it only for development',
    ],
    [
      PROFILE === 'distributed' && !env.SECRETS_KEY && !env[secretFileSetting('SECRETS_KEY')],
      'SECRETS_KEY is not set: each server generates its own key, so it refuses forms, second factors and mailed links of the others and cannot sign ID tokens',
      'set the same SECRETS_KEY (`openssl rand -base64 32`) for every server',
    ],
    [
      PROFILE === 'embedded' && config.STORE_MEMORY_BYTES > memoryBytes * MEMORY_SHARE,
      `STORE_MEMORY_BYTES=${config.STORE_MEMORY_BYTES}, but this machine has ${formatBytes(memoryBytes)}: the system may kill the process`,
      `set it to at most ${Math.floor(memoryBytes * MEMORY_SHARE)}`,
    ],
    [
      PROFILE === 'embedded' && Number(env.UV_THREADPOOL_SIZE || threadsMin) < threadsMin,
      `UV_THREADPOOL_SIZE=${env.UV_THREADPOOL_SIZE}: STORE_CONNECTIONS and READER_CONNECTIONS block one thread each, so reading files waits for queries`,
      `set it to at least ${threadsMin}`,
    ],
    ...(PROFILE === 'distributed' ? unencrypted(config) : []),
  ];
  return rules.flatMap(([isDanger, ...danger]) => (isDanger ? [danger] : []));
}

/** Passwords that travel unencrypted over the public internet. */
function unencrypted(config: Config): (readonly [isDanger: boolean, ...Danger])[] {
  const clickHouse = new URL(config.CLICKHOUSE_URL);
  const redis = new URL(config.REDIS_URL);
  const brokers = config.KAFKA_BROKERS.split(',').map((broker) => broker.replace(/:\d+$/, ''));
  return [
    [
      clickHouse.protocol === 'http:' &&
        config.CLICKHOUSE_PASSWORD !== '' &&
        isPublicHost(clickHouse.hostname),
      'CLICKHOUSE_URL is http: the password of CLICKHOUSE_USER travels unencrypted',
      'set CLICKHOUSE_URL to the https address',
    ],
    [
      redis.protocol === 'redis:' && redis.password !== '' && isPublicHost(redis.hostname),
      'REDIS_URL is redis://: its password travels unencrypted',
      'set REDIS_URL to a rediss:// address',
    ],
    [
      config.KAFKA_SASL === 'plain' && !config.KAFKA_TLS && brokers.some(isPublicHost),
      'KAFKA_SASL=plain without KAFKA_TLS: the password of KAFKA_USER travels unencrypted',
      'set KAFKA_TLS=true, or KAFKA_SASL=scram-sha-512',
    ],
  ];
}

const isLoopback = (host: string) => host === 'localhost' || host === '::1' || /^127\./.test(host);
/** Names that no public server has. */
const PRIVATE_NAME = /^[^.]*$|\.(localhost|local|internal|lan|home\.arpa|svc|test|invalid)$/;

/** Whether a name or an address belongs to the public internet. */
function isPublicHost(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  return isIP(bare) === 0 ? bare !== '' && !PRIVATE_NAME.test(bare) : isPublicAddress(bare);
}

/** The memory that this process may use. In a container that is less than the machine has. */
const memoryOfMachine = () => Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
