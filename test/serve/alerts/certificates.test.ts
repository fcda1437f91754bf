import { Agent } from 'node:https';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { amazonUrl } from '../../../serve/alerts/sns/amazon.ts';
import { SigningCertificates } from '../../../serve/alerts/sns/certificates.ts';
import { AMAZON, LocalAmazon } from './local-amazon.ts';

describe('a URL', () => {
  test.each([
    'https://sns.eu-west-1.amazonaws.com/a.pem',
    'https://SNS.us-gov-west-1.amazonaws.com/?Action=ConfirmSubscription',
    'https://sns.cn-north-1.amazonaws.com.cn:443/a.pem',
  ])('%s leads to Amazon SNS', (url) => {
    expect(amazonUrl(url)).not.toBeNull();
  });

  test.each([
    'http://sns.eu-west-1.amazonaws.com/a.pem',
    'https://sns.eu-west-1.amazonaws.com:8443/a.pem',
    'https://sns.eu-west-1.amazonaws.com.evil.example/a.pem',
    'https://evil.example/sns.eu-west-1.amazonaws.com/a.pem',
    'https://sns.eu-west-1.amazonaws.com@evil.example/a.pem',
    'https://evil.example#@sns.eu-west-1.amazonaws.com/a.pem',
    'https://evil.example\\@sns.eu-west-1.amazonaws.com/a.pem',
    'https://user:password@sns.eu-west-1.amazonaws.com/a.pem',
    'https://evil.sns.eu-west-1.amazonaws.com/a.pem',
    'https://xsns.eu-west-1.amazonaws.com/a.pem',
    'https://sns.amazonaws.com/a.pem',
    // Buckets whose name is sns.
    'https://sns.s3.amazonaws.com/a.pem',
    'https://sns.s3-eu-west-1.amazonaws.com/a.pem',
    'https://sns.s3.eu-west-1.amazonaws.com/a.pem',
    'https://sns.eu-west-1.amazonaws.com./a.pem',
    'https://sns.eu-west-1.amazonaws.org/a.pem',
    'https://sns.eu-west-1.amazonaws.com.cn.evil.example/a.pem',
    'https://169.254.169.254/latest/meta-data',
    'file:///etc/passwd',
    '//sns.eu-west-1.amazonaws.com/a.pem',
    'no URL',
    '',
  ])('%s does not', (url) => {
    expect(amazonUrl(url)).toBeNull();
  });
});

describe('certificates', () => {
  let amazon: LocalAmazon;
  beforeAll(async () => {
    amazon = await LocalAmazon.open();
  });
  afterAll(() => amazon?.close());

  let now = Date.UTC(2026, 10, 20);
  const open = () => new SigningCertificates({ agent: amazon.agent(), clock: { now: () => now } });
  const urlOf = (name: string) => new URL(`${AMAZON}/${name}.pem`);
  const answerAs = (name: string) =>
    amazon.answer(`/${name}.pem`, (_request, response) => response.end(amazon.certificate));

  test('are fetched once a day, however many messages wait for them', async () => {
    const certificates = open();
    const url = urlOf('SimpleNotificationService-1');
    const asked = amazon.asked.length;
    await Promise.all([1, 2, 3].map(() => certificates.keyOf(url)));
    await certificates.keyOf(url);
    expect(amazon.asked).toHaveLength(asked + 1);
    now += 86_400_000;
    await certificates.keyOf(url);
    expect(amazon.asked).toHaveLength(asked + 2);
  });

  test('are at most 16, of which the oldest gives way', async () => {
    const certificates = open();
    const names = Array.from({ length: 17 }, (_, i) => `many-${i}`);
    for (const name of names) {
      answerAs(name);
      await certificates.keyOf(urlOf(name));
    }
    const asked = amazon.asked.length;
    for (const name of names.slice(1)) await certificates.keyOf(urlOf(name));
    expect(amazon.asked).toHaveLength(asked);
    await certificates.keyOf(urlOf('many-0'));
    expect(amazon.asked).toHaveLength(asked + 1);
  });

  test('that fail push none out, and are at most 16 at a time', async () => {
    const certificates = open();
    answerAs('good');
    await certificates.keyOf(urlOf('good'));
    const hostile = Array.from({ length: 40 }, (_, i) => certificates.keyOf(urlOf(`hostile-${i}`)));
    const failed = await Promise.allSettled(hostile);
    expect(new Set(failed.map(({ status }) => status))).toEqual(new Set(['rejected']));
    expect(amazon.asked.filter((url) => url.includes('hostile'))).toHaveLength(16);
    const asked = amazon.asked.length;
    await certificates.keyOf(urlOf('good'));
    expect(amazon.asked).toHaveLength(asked);
  });

  test('that never arrive are given up after 10 seconds', async () => {
    amazon.answer('/slow.pem', (_request, response) => response.write('-----BEGIN'));
    const began = performance.now();
    await expect(open().keyOf(urlOf('slow'))).rejects.toThrow(/aborted|timeout/i);
    expect(performance.now() - began).toBeLessThan(12_000);
  });

  test('of a server that is not Amazon are not taken', async () => {
    const agent = new Agent();
    const { createConnection } = amazon.agent() as unknown as { createConnection(options: object): unknown };
    // The certificate of the server is for one region.
    Object.assign(agent, {
      createConnection: (options: object) =>
        createConnection({ ...options, servername: 'sns.us-east-1.amazonaws.com' }),
    });
    const certificates = new SigningCertificates({ agent, clock: { now: Date.now } });
    await expect(certificates.keyOf(urlOf('good'))).rejects.toThrow(/altnames|certificate/);
  });
});
