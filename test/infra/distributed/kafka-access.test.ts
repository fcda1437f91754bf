import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DistributedLog } from '../../../infra/distributed/log.ts';
import type { Message } from '../../../infra/ports.ts';
import { readConfig } from '../../../serve/settings/settings.ts';
import { guideBlocks } from '../../support/guide-blocks.ts';
import { type SecureKafka, startSecureKafka } from '../../support/services/secure-kafka.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { pause, until } from '../ports/opened.ts';

const TOPIC = 'chain.blocks.v1';
const CONSUMED = [{ topic: TOPIC, group: 'load' }];

let kafka: SecureKafka;
beforeAll(async () => {
  kafka = await startSecureKafka();
});
afterAll(async () => {
  await kafka?.[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const warnings: unknown[] = [];
const logger = { debug() {}, info() {}, warn: (facts: unknown) => void warnings.push(facts), error() {} };
/** The settings that the guide shows, line by line. */
const shown = guideBlocks('distributed', 'settings')
  .flatMap((code) => code.trim().split('\n'))
  .map((line) =>
    Object.fromEntries([...line.matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name, value]) => [name, value])),
  );
const [TLS = {}, CERTIFICATE = {}, SCRAM = {}, OAUTH = {}] = shown as Record<string, string>[];

/** With the files of these tests in the place of those that the guide names. */
function ofGuide(settings: Readonly<Record<string, string>>): Record<string, string> {
  const files: Record<string, string> = {
    '/kafka/ca.crt': kafka.ca,
    '/kafka/user.crt': kafka.cert,
    '/kafka/user.key': kafka.key,
    '/kafka/password': fileOf('right'),
    '/kafka/secret': fileOf('p+ss'),
    'https://id.example/token': kafka.tokens.url,
    'client-id': 'loader',
  };
  return Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, files[value] ?? value]));
}
const folder = temporaryDirectory();
function fileOf(secret: string): string {
  const path = join(folder.path, secret);
  writeFileSync(path, secret);
  return path;
}

const open = (settings: Record<string, string>) =>
  DistributedLog.open(
    readConfig({ ...ofGuide(TLS), SERVICE_WAIT_SECONDS: '20', ...settings }),
    logger,
    CONSUMED,
  );
const mtls = () => ({ KAFKA_BROKERS: kafka.mtls, ...ofGuide(CERTIFICATE) });

async function administer(work: (admin: kafkajs.Admin) => Promise<unknown>): Promise<void> {
  const admin = new kafkajs.Kafka({ brokers: [kafka.admin], logLevel: kafkajs.logLevel.NOTHING }).admin();
  await admin.connect();
  await work(admin);
  await admin.disconnect();
}

/** What an operator of topics grants: neither Create nor DescribeConfigs. */
async function grant(principal: string): Promise<void> {
  const { AclResourceTypes, AclOperationTypes, AclPermissionTypes, ResourcePatternTypes } = kafkajs;
  const allowed = [
    [AclResourceTypes.TOPIC, 'chain.', AclOperationTypes.READ],
    [AclResourceTypes.TOPIC, 'chain.', AclOperationTypes.WRITE],
    [AclResourceTypes.TOPIC, 'chain.', AclOperationTypes.DESCRIBE],
    [AclResourceTypes.GROUP, 'load.', AclOperationTypes.READ],
  ] as const;
  const acl = allowed.map(([resourceType, resourceName, operation]) => ({
    resourceType,
    resourceName,
    operation,
    resourcePatternType: ResourcePatternTypes.PREFIXED,
    permissionType: AclPermissionTypes.ALLOW,
    principal,
    host: '*',
  }));
  await administer((admin) => admin.createAcls({ acl }));
}

/** Sends a message and receives it. */
async function exchange(log: DistributedLog, text: string): Promise<void> {
  const seen: string[] = [];
  await log.consume(TOPIC, 'load', async (batch: readonly Message[]) => {
    seen.push(...batch.map(({ value }) => value.toString()));
    return { durable: Promise.resolve() };
  });
  await log.publish(TOPIC, [{ key: 'key', value: Buffer.from(text) }]);
  await until('the message has arrived', () => seen.includes(text));
}

describe('a user that may not create topics', () => {
  test('is told which topics to make, and uses them once they exist', async () => {
    await grant('User:CN=chain-metrics');
    const refusal = open(mtls());
    await expect(refusal).rejects.toMatchObject({ code: 'service_refused' });
    await expect(refusal).rejects.toThrow(
      /^KAFKA_USER can neither see nor create the topic chain.blocks.v1 \(partitions: 12\) and chain.blocks.v1.dlq \(partitions: 1\).*retention.ms=/,
    );
    const configEntries = [{ name: 'max.message.bytes', value: '9000000' }];
    const topics = [TOPIC, `${TOPIC}.dlq`].map((topic) => ({ topic, numPartitions: 2, configEntries }));
    await administer((admin) => admin.createTopics({ topics }));
    warnings.length = 0;
    const log = await open(mtls());
    // Without DescribeConfigs the settings are not checked, which is said.
    expect(warnings).toContainEqual({ topic: TOPIC });
    await exchange(log, 'by certificate');
    await log.close();
  });
});

describe('TLS', () => {
  test('without a client certificate where one is wanted is refused with the settings to look at', async () => {
    await expect(open({ KAFKA_BROKERS: kafka.mtls })).rejects.toThrow(/KAFKA_TLS_CERT_FILE: .*TLS handshake/);
  });

  test('with an authority that did not sign the broker is refused', async () => {
    await expect(open({ ...mtls(), KAFKA_TLS_CA_FILE: kafka.cert })).rejects.toThrow(/KAFKA_TLS_CA_FILE/);
  });

  test.each([
    [{ KAFKA_TLS: 'false' }, /^KAFKA_TLS_CA_FILE: it needs KAFKA_TLS=true$/],
    [{ KAFKA_TLS_KEY_FILE: '' }, /a client certificate needs both$/],
    [{ KAFKA_TLS_KEY_FILE: '/nowhere.key' }, /^KAFKA_TLS_KEY_FILE=\/nowhere.key: .*ENOENT/],
    [{ KAFKA_SASL: 'oauthbearer' }, /^KAFKA_OAUTH_URL: /],
  ])('settings %o are refused at once', async (settings, says) => {
    await expect(open({ ...mtls(), ...settings } as Record<string, string>)).rejects.toThrow(says);
  });
});

describe('signing in over TLS', () => {
  test('with a client certificate', async () => {
    await grant('User:CN=chain-metrics');
    const log = await open(mtls());
    await exchange(log, 'by certificate');
    await log.close();
  });

  test('with SCRAM-SHA-512', async () => {
    await grant('User:alice');
    const user = { KAFKA_BROKERS: kafka.scram, ...ofGuide(SCRAM) };
    await expect(open({ ...user, KAFKA_PASSWORD_FILE: fileOf('wrong') })).rejects.toThrow(/KAFKA_PASSWORD/);
    const log = await open(user);
    await exchange(log, 'by password');
    await log.close();
  });

  test('with tokens of the client credentials grant, which are renewed', async () => {
    await grant('User:loader');
    const client = {
      ...{ KAFKA_BROKERS: kafka.oauth, KAFKA_OAUTH_SCOPE: 'kafka' },
      ...ofGuide(OAUTH),
    };
    await expect(open({ ...client, KAFKA_PASSWORD_FILE: fileOf('wrong') })).rejects.toThrow(/KAFKA_PASSWORD/);
    const atFirst = kafka.tokens.count();
    const log = await open(client);
    await exchange(log, 'by token');
    const before = kafka.tokens.count();
    expect(before).toBeGreaterThan(atFirst);
    const isRenewed = async () => {
      await log.publish(TOPIC, [{ key: 'key', value: Buffer.from('by a newer token') }]);
      await pause(500);
      return kafka.tokens.count() > before;
    };
    await until('a newer token is used', isRenewed);
    await log.close();
  });
});
