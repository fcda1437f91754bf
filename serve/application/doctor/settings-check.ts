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
/** Shorter names are near to those of other programs, and so is what differs in more letters. */
const NEAR_CHARACTERS_MIN = 7;
const NEAR_LETTERS_MAX = 2;
/** Of the memory of the machine, what the engine may be given: loading and serving need theirs beside it. */
const MEMORY_SHARE = 0.8;
/** Threads that read files while the others wait for the engine. */
const FILE_THREADS_MIN = 2;

/** The settings of a process: those that it refuses, those that it does not know, and those that endanger it. */
export function checkSettings(env: Environment, config: Config, memoryBytes = memoryOfMachine()): Finding[] {
  const faults = [...settingFaults(settings, env).values()].map((fault) =>
    failed(CHECK, fault, 'correct it or unset it; `chain-metrics settings` lists what there is'),
  );
  faults.push(...chainFaults(config));
  const warnings = [...unread(env, config), ...dangers(env, config, memoryBytes)].map(([text, remedy]) =>
    warning(CHECK, text, remedy),
  );
  const found = [...faults, ...warnings];
  return found.length === 0
    ? [fine(CHECK, 'all are known and within their ranges')]
    : found.slice(0, FINDINGS_MAX);
}

/** The chains that settings name must be known. */
function chainFaults(config: Config): Finding[] {
  try {
    const registry = readRegistry(config);
    for (const { chain } of config.FOLLOW) findChain(registry, chain);
    return [];
  } catch (error) {
    return [failed(CHECK, reasonOf(error), 'correct CHAINS_FILE or FOLLOW: without it nothing starts')];
  }
}

/** What is wrong, and what to do. */
type Danger = readonly [text: string, remedy: string];

const names = Object.keys(settings.shape);
const read = new Set([...names, ...names.filter(isSecretSetting).map(secretFileSetting)]);
const plain = (name: string) => name.replaceAll(/[^A-Za-z0-9]/g, '').toUpperCase();
const byPlainName = new Map(names.map((name) => [plain(name), name]));

/** What Kubernetes tells every container of its services, such as one that is called chain-metrics. */
const OF_KUBERNETES = /^tcp:\/\//;

/** Variables that are meant for this program, by their names, and that it does not read. */
function unread(env: Environment, { PROFILE }: Config): Danger[] {
  const given = Object.keys(env).filter((name) => env[name]);
  const unknown = given
    .filter((name) => !read.has(name) && !OF_KUBERNETES.test(env[name] ?? ''))
    .flatMap((name): Danger[] => {
      const meant = settingMeantBy(name);
      return meant === null
        ? []
        : [[`${name} is not read: no setting is called that`, `set ${meant} in its place`]];
    });
  const foreign =
    PROFILE === 'embedded' ? given.filter((name) => Object.hasOwn(distributedSettings, name)) : [];
  return foreign.length === 0
    ? unknown
    : [
        ...unknown,
        [
          `the embedded profile reads none of ${foreign.join(', ')}`,
          'set PROFILE=distributed, or unset them',
        ],
      ];
}

function settingMeantBy(name: string): string | null {
  const bare = plain(name).replace(/^CHAINMETRICS/, '');
  // Only secrets can be in files.
  const same = byPlainName.get(bare) ?? byPlainName.get(bare.replace(/FILE$/, ''));
  if (same !== undefined) return same;
  if (bare.length < NEAR_CHARACTERS_MIN) return null;
  return byPlainName.get(nearestName(bare, byPlainName.keys(), NEAR_LETTERS_MAX) ?? '') ?? null;
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
      `HOST=${HOST} lets other machines in, and PUBLIC_URL is not set: links name localhost, and cookies are not marked secure`,
      'set PUBLIC_URL to the https address that people open, or HOST=127.0.0.1',
    ],
    [
      isOpen && typeof TRUST_PROXY === 'number',
      `TRUST_PROXY=${TRUST_PROXY} believes everybody who connects, and HOST=${HOST} lets everybody connect: callers can invent their address`,
      'set TRUST_PROXY to the addresses of the proxies, or let only them reach the port',
    ],
    [
      isPublic && protocol === 'https:' && TRUST_PROXY === false,
      'PUBLIC_URL is that of a proxy, and TRUST_PROXY=false: all callers share the limits of one address, that of the proxy',
      'set TRUST_PROXY to the number or to the addresses of the proxies',
    ],
    [
      isPublic && config.OAUTH_INSECURE_REDIRECTS,
      'OAUTH_INSECURE_REDIRECTS=true on a public address: codes are sent unencrypted',
      'unset it; it is for development',
    ],
    [
      PROFILE === 'distributed' && !env.SECRETS_KEY && !env[secretFileSetting('SECRETS_KEY')],
      'SECRETS_KEY is not set: each server makes its own, and refuses forms, second factors and links in mails of the others, and cannot sign ID tokens',
      'set the same SECRETS_KEY (`openssl rand -base64 32`) for every server',
    ],
    [
      PROFILE === 'embedded' && config.STORE_MEMORY_BYTES > memoryBytes * MEMORY_SHARE,
      `STORE_MEMORY_BYTES=${config.STORE_MEMORY_BYTES}, and this machine has ${formatBytes(memoryBytes)}: the system may kill the process`,
      `set it to at most ${Math.floor(memoryBytes * MEMORY_SHARE)}`,
    ],
    [
      PROFILE === 'embedded' && Number(env.UV_THREADPOOL_SIZE || threadsMin) < threadsMin,
      `UV_THREADPOOL_SIZE=${env.UV_THREADPOOL_SIZE}: the engine blocks a thread for each of STORE_CONNECTIONS and READER_CONNECTIONS, and files wait behind its queries`,
      `set it to at least ${threadsMin}`,
    ],
    ...(PROFILE === 'distributed' ? unencrypted(config) : []),
  ];
  return rules.flatMap(([isDanger, ...danger]) => (isDanger ? [danger] : []));
}

/** Passwords that cross the public internet in the clear. */
function unencrypted(config: Config): (readonly [isDanger: boolean, ...Danger])[] {
  const clickHouse = new URL(config.CLICKHOUSE_URL);
  const redis = new URL(config.REDIS_URL);
  const brokers = config.KAFKA_BROKERS.split(',').map((one) => one.replace(/:\d+$/, ''));
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

/** Whether a name or an address is one of the public internet. */
function isPublicHost(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  return isIP(bare) === 0 ? bare !== '' && !PRIVATE_NAME.test(bare) : isPublicAddress(bare);
}

/** What the system lets this process have, which in a container is less than the machine has. */
const memoryOfMachine = () => Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
