import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { type ConnectionOptions, connect } from 'node:tls';
import type { ISocketFactory, OauthbearerProviderResponse, SASLOptions } from 'kafkajs';
import { ProductError, reasonOf } from '../errors.ts';
import type { DistributedSettings } from './settings.ts';

type AccessSettings = Pick<
  DistributedSettings,
  | 'KAFKA_SASL'
  | 'KAFKA_USER'
  | 'KAFKA_PASSWORD'
  | 'KAFKA_OAUTH_URL'
  | 'KAFKA_OAUTH_SCOPE'
  | 'KAFKA_TLS'
  | 'KAFKA_TLS_CA_FILE'
  | 'KAFKA_TLS_CERT_FILE'
  | 'KAFKA_TLS_KEY_FILE'
>;

const TLS_FILES = {
  ca: 'KAFKA_TLS_CA_FILE',
  cert: 'KAFKA_TLS_CERT_FILE',
  key: 'KAFKA_TLS_KEY_FILE',
} as const;
const KEEP_ALIVE_MS = 60_000;
const TOKEN_MS_MAX = 10_000;
const TOKEN_BYTES_MAX = 64 * 1024;
/** Share of a token's lifetime after which it is renewed, so that each new connection gets a token that is still valid. */
const TOKEN_USED = 0.8;

/** TLS and SASL options. Throws `setting_invalid` if settings contradict each other or a file is missing. */
export function kafkaAccess(settings: AccessSettings): {
  readonly ssl: boolean;
  readonly socketFactory?: ISocketFactory;
  readonly sasl?: SASLOptions;
} {
  const { KAFKA_TLS: ssl, KAFKA_SASL } = settings;
  const given = Object.values(TLS_FILES).filter((name) => settings[name] !== undefined);
  if (!ssl && given.length > 0) throw invalid(`${given[0]}: it needs KAFKA_TLS=true`);
  if ((settings.KAFKA_TLS_CERT_FILE === undefined) !== (settings.KAFKA_TLS_KEY_FILE === undefined)) {
    throw invalid('KAFKA_TLS_CERT_FILE, KAFKA_TLS_KEY_FILE: a client certificate needs both');
  }
  if (ssl) tlsFiles(settings);
  return {
    ssl,
    ...(given.length > 0 && { socketFactory: secureSockets(settings) }),
    ...(KAFKA_SASL !== 'none' && { sasl: credentials(settings) }),
  };
}

/** Reads the files for each connection, so that renewed certificates are used without a restart. */
const secureSockets =
  (settings: AccessSettings): ISocketFactory =>
  ({ host, port, onConnect }) => {
    const servername = isIP(host) === 0 ? { servername: host } : {};
    const socket = connect({ host, port, ...servername, ...tlsFiles(settings) }, onConnect);
    return socket.setKeepAlive(true, KEEP_ALIVE_MS);
  };

function tlsFiles(settings: AccessSettings): ConnectionOptions {
  const files: ConnectionOptions = {};
  for (const [option, name] of Object.entries(TLS_FILES)) {
    const file = settings[name];
    if (file === undefined) continue;
    try {
      files[option as keyof typeof TLS_FILES] = readFileSync(file);
    } catch (error) {
      throw invalid(`${name}=${file}: expected a file that can be read: ${reasonOf(error)}`);
    }
  }
  return files;
}

function credentials(settings: AccessSettings): SASLOptions {
  const { KAFKA_SASL: mechanism, KAFKA_USER: username, KAFKA_PASSWORD: password } = settings;
  if (mechanism !== 'oauthbearer') return { mechanism, username, password } as SASLOptions;
  if (settings.KAFKA_OAUTH_URL === undefined)
    throw invalid('KAFKA_OAUTH_URL: KAFKA_SASL=oauthbearer needs it');
  return { mechanism, oauthBearerProvider: tokensOf(settings.KAFKA_OAUTH_URL, settings) };
}

/** Memoizes a token of the client credentials grant for all connections until it must be renewed. */
function tokensOf(
  url: string,
  settings: Pick<AccessSettings, 'KAFKA_USER' | 'KAFKA_PASSWORD' | 'KAFKA_OAUTH_SCOPE'>,
): () => Promise<OauthbearerProviderResponse> {
  let last: { readonly token: Promise<Token>; until: number } | undefined;
  return () => {
    if (last && performance.now() < last.until) return last.token;
    // Concurrent callers share this request.
    const asked = { token: requestToken(url, settings), until: Number.POSITIVE_INFINITY };
    last = asked;
    asked.token.then(
      ({ until }) => {
        asked.until = until;
      },
      () => {
        asked.until = 0;
      },
    );
    return asked.token;
  };
}

interface Token {
  readonly value: string;
  readonly until: number;
}

async function requestToken(
  url: string,
  {
    KAFKA_USER,
    KAFKA_PASSWORD,
    KAFKA_OAUTH_SCOPE: scope,
  }: Pick<AccessSettings, 'KAFKA_USER' | 'KAFKA_PASSWORD' | 'KAFKA_OAUTH_SCOPE'>,
): Promise<Token> {
  const askedAt = performance.now();
  const client = [KAFKA_USER, KAFKA_PASSWORD].map(encodeURIComponent).join(':');
  const answer = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(client).toString('base64')}`, accept: 'application/json' },
    body: new URLSearchParams({ grant_type: 'client_credentials', ...(scope && { scope }) }),
    redirect: 'error',
    signal: AbortSignal.timeout(TOKEN_MS_MAX),
  }).catch((error: Error) => {
    throw new Error(`KAFKA_OAUTH_URL does not answer: ${reasonOf(error.cause ?? error)}`);
  });
  const text = await answer.text();
  if (answer.status === 400 || answer.status === 401) {
    throw new Error(`authentication: KAFKA_OAUTH_URL refuses the client: ${text.slice(0, 200)}`);
  }
  if (!answer.ok || text.length > TOKEN_BYTES_MAX)
    throw new Error(`KAFKA_OAUTH_URL answers ${answer.status}`);
  const { access_token: value, expires_in: seconds } = JSON.parse(text) as Record<string, unknown>;
  if (typeof value !== 'string') throw new Error('KAFKA_OAUTH_URL answers without an access_token');
  return { value, until: askedAt + (Number(seconds) || 0) * 1000 * TOKEN_USED };
}

const invalid = (message: string) => new ProductError('setting_invalid', message);
