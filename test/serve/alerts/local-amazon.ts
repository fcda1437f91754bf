import { execFileSync } from 'node:child_process';
import { createSign } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, globalAgent, type Server } from 'node:https';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

export const AMAZON = 'https://sns.eu-west-1.amazonaws.com';
export const TOPIC = 'arn:aws:sns:eu-west-1:123456789012:alarms';

/** As the documentation of Amazon lists it. */
function textToSign(message: Readonly<Record<string, string>>): string {
  const names =
    message.Type === 'Notification'
      ? ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type']
      : ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'];
  const present = names.filter((name) => message[name] !== undefined);
  return present.map((name) => `${name}\n${message[name]}\n`).join('');
}

type Connect = (options: { readonly host: string; readonly servername: string }) => Socket;
type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A server that has the name and the certificates of Amazon SNS, for those who connect through its agent. */
export class LocalAmazon {
  readonly #server: Server;
  readonly #authority: Buffer;
  readonly #signingKey: Buffer;
  readonly #answers = new Map<string, Answer>();
  /** Paths that were asked for. */
  readonly asked: string[] = [];
  /** Of messages. */
  readonly certificate: Buffer;

  private constructor(server: Server, pair: (name: string) => { key: Buffer; cert: Buffer }) {
    this.#server = server;
    this.#authority = pair('tls').cert;
    this.#signingKey = pair('signing').key;
    this.certificate = pair('signing').cert;
    this.answer('/SimpleNotificationService-1.pem', (_request, response) => response.end(this.certificate));
    server.on('request', (request, response) => {
      const url = request.url ?? '';
      this.asked.push(url);
      const answer = this.#answers.get(url.split('?')[0] ?? '');
      if (answer) answer(request, response);
      else response.writeHead(404).end();
    });
  }

  static async open(): Promise<LocalAmazon> {
    using directory = temporaryDirectory();
    const at = (name: string) => join(directory.path, name);
    const pairs = new Map(
      ['tls', 'signing'].map((name) => {
        const names = [
          '-subj',
          '/CN=sns.amazonaws.com',
          '-addext',
          `subjectAltName=DNS:${new URL(AMAZON).host}`,
        ];
        const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...names];
        execFileSync('openssl', [...made, '-keyout', at('key'), '-out', at('cert')], { stdio: 'pipe' });
        return [name, { key: readFileSync(at('key')), cert: readFileSync(at('cert')) }] as const;
      }),
    );
    const pair = (name: string) => pairs.get(name) as { key: Buffer; cert: Buffer };
    const server = createServer(pair('tls')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new LocalAmazon(server, pair);
  }

  answer(path: string, answer: Answer): void {
    this.#answers.set(path, answer);
  }

  agent(): Agent {
    const agent = new Agent();
    Object.assign(agent, { createConnection: this.#connect });
    return agent;
  }

  /** Leads the requests of this process to Amazon here, until it is undone. */
  replaceAmazon(): () => void {
    const { createConnection } = globalAgent as unknown as { createConnection: Connect };
    Object.assign(globalAgent, {
      createConnection: (options: Parameters<Connect>[0]) =>
        options.host.endsWith('.amazonaws.com')
          ? this.#connect(options)
          : createConnection.call(globalAgent, options),
    });
    return () => Object.assign(globalAgent, { createConnection });
  }

  /** The names of certificates are checked as those of Amazon are. */
  readonly #connect = ({ servername }: { readonly servername: string }) => {
    const { port } = this.#server.address() as { port: number };
    return connect({ host: '127.0.0.1', port, servername, ca: this.#authority });
  };

  /** A message as Amazon sends it, and what is different in it. */
  message(fields: object = {}, version: '1' | '2' = '2'): Record<string, unknown> {
    const message: Record<string, string> = {
      Type: 'Notification',
      MessageId: crypto.randomUUID(),
      TopicArn: TOPIC,
      Message: 'Hello',
      Timestamp: new Date().toISOString(),
      SignatureVersion: version,
      SigningCertURL: `${AMAZON}/SimpleNotificationService-1.pem`,
      UnsubscribeURL: `${AMAZON}/?Action=Unsubscribe`,
      ...fields,
    };
    const signer = createSign(version === '1' ? 'RSA-SHA1' : 'RSA-SHA256');
    const Signature = signer.update(textToSign(message)).sign(this.#signingKey, 'base64');
    return { ...message, Signature };
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
