import { execFileSync } from 'node:child_process';
import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isReady, kafkaProcess } from './kafka.ts';
import { freePort } from './service.ts';

const AUDIENCE = 'kafka';
const SECURITY = 'org.apache.kafka.common.security';

/** A broker that lets nobody do anything without an ACL, with a listener for each way to sign in. */
export interface SecureKafka extends AsyncDisposable {
  /** For an administrator, without signing in. */
  readonly admin: string;
  /** Wants a client certificate. */
  readonly mtls: string;
  readonly oauth: string;
  /** SCRAM-SHA-512; its user is `alice` with the password `right`. */
  readonly scram: string;
  /** PEM files: of the authority, and of a client with the name `chain-metrics`. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  readonly tokens: TokenEndpoint;
}

interface TokenEndpoint {
  readonly url: string;
  /** Tokens that were given out. */
  readonly count: () => number;
}

export async function startSecureKafka(): Promise<SecureKafka> {
  const dir = mkdtempSync(join(tmpdir(), 'chain-metrics-secure-'));
  const files = makeCertificates(dir);
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const keys = join(dir, 'jwks.json');
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256', use: 'sig' };
  writeFileSync(keys, JSON.stringify({ keys: [jwk] }));
  const names = ['ADMIN', 'MTLS', 'OAUTH', 'SCRAM', 'CONTROLLER'];
  const ports = await Promise.all(names.map(freePort));
  const addresses = ports.map((port) => `127.0.0.1:${port}`);
  const jwks = pathToFileURL(keys).href;
  const kafka = await kafkaProcess(
    ports[0] as number,
    () => isReady(ports[0] as number),
    (data) => settings({ addresses, names, files, jwks, data }),
    {
      javaFlags: [`-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=${jwks}`],
      formatFlags: ['--add-scram', 'SCRAM-SHA-512=[name=alice,password=right]'],
    },
  );
  const { tokens, close } = await serveTokens(privateKey);
  const [admin, mtls, oauth, scram] = addresses as [string, string, string, string];
  return {
    admin,
    mtls,
    oauth,
    scram,
    ca: files.ca,
    cert: files.clientCert,
    key: files.clientKey,
    tokens,
    [Symbol.asyncDispose]: async () => {
      close();
      await kafka.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

type Certificates = ReturnType<typeof makeCertificates>;

function makeCertificates(dir: string) {
  const at = (name: string) => join(dir, name);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' });
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2'];
  openssl(...request, '-subj', '/CN=authority', '-keyout', at('ca.key'), '-out', at('ca.pem'));
  for (const [name, subject] of [
    ['server', '/CN=127.0.0.1'],
    ['client', '/CN=chain-metrics'],
  ] as const) {
    openssl(
      ...request, '-subj', subject, '-addext', 'subjectAltName=IP:127.0.0.1',
      '-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-addext', 'basicConstraints=critical,CA:FALSE',
      '-keyout', at(`${name}.key`), '-out', at(`${name}.pem`),
    ); // biome-ignore format: one command
  }
  writeFileSync(
    at('both.pem'),
    Buffer.concat(['server.key', 'server.pem'].map((name) => readFileSync(at(name)))),
  );
  return {
    ca: at('ca.pem'),
    both: at('both.pem'),
    clientCert: at('client.pem'),
    clientKey: at('client.key'),
  };
}

function settings({
  addresses,
  names,
  files,
  jwks,
  data,
}: {
  addresses: readonly string[];
  names: readonly string[];
  files: Certificates;
  jwks: string;
  data: string;
}): Record<string, string> {
  const listeners = names.map((name, i) => `${name}://${addresses[i]}`);
  return {
    'process.roles': 'broker,controller',
    'node.id': '1',
    'controller.quorum.voters': `1@${addresses[4]}`,
    listeners: listeners.join(','),
    'advertised.listeners': listeners.slice(0, 4).join(','),
    'listener.security.protocol.map':
      'ADMIN:PLAINTEXT,MTLS:SSL,OAUTH:SASL_SSL,SCRAM:SASL_SSL,CONTROLLER:PLAINTEXT',
    'inter.broker.listener.name': 'ADMIN',
    'controller.listener.names': 'CONTROLLER',
    'log.dirs': data,
    'auto.create.topics.enable': 'false',
    'offsets.topic.replication.factor': '1',
    'offsets.topic.num.partitions': '1',
    'group.initial.rebalance.delay.ms': '100',
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.location': files.both,
    'ssl.truststore.type': 'PEM',
    'ssl.truststore.location': files.ca,
    'listener.name.mtls.ssl.client.auth': 'required',
    'listener.name.oauth.sasl.enabled.mechanisms': 'OAUTHBEARER',
    'listener.name.oauth.oauthbearer.sasl.jaas.config': `${SECURITY}.oauthbearer.OAuthBearerLoginModule required;`,
    'listener.name.oauth.oauthbearer.sasl.server.callback.handler.class': `${SECURITY}.oauthbearer.OAuthBearerValidatorCallbackHandler`,
    // A connection has to sign in again after this time; the client does so 10 seconds before.
    'listener.name.oauth.oauthbearer.connections.max.reauth.ms': '12000',
    'sasl.oauthbearer.jwks.endpoint.url': jwks,
    'sasl.oauthbearer.expected.audience': AUDIENCE,
    'listener.name.scram.sasl.enabled.mechanisms': 'SCRAM-SHA-512',
    'listener.name.scram.scram-sha-512.sasl.jaas.config': `${SECURITY}.scram.ScramLoginModule required;`,
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'super.users': 'User:ANONYMOUS',
  };
}

/** Gives tokens of two seconds to the client `loader` with the secret `p+ss`. */
async function serveTokens(key: KeyObject): Promise<{ tokens: TokenEndpoint; close: () => void }> {
  let count = 0;
  const server = createServer((request, response) => {
    const [id, secret] = Buffer.from(request.headers.authorization?.slice('Basic '.length) ?? '', 'base64')
      .toString()
      .split(':')
      .map(decodeURIComponent);
    if (id !== 'loader' || secret !== 'p+ss') {
      response.writeHead(401).end('{"error":"invalid_client"}');
      return;
    }
    count++;
    const now = Math.floor(Date.now() / 1000);
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = { iss: 'test', sub: id, aud: AUDIENCE, iat: now, exp: now + 60, scope: 'kafka' };
    const text = `${part({ alg: 'RS256', kid: 'one' })}.${part(claims)}`;
    const signature = createSign('RSA-SHA256').update(text).sign(key).toString('base64url');
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({ access_token: `${text}.${signature}`, token_type: 'Bearer', expires_in: 2 }),
    );
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const { port } = server.address() as AddressInfo;
  return {
    tokens: { url: `http://127.0.0.1:${port}/token`, count: () => count },
    close: () => server.close(),
  };
}
