import { expect, test } from 'vitest';
import { DistributedQueue } from '../../../../infra/distributed/queue.ts';
import { newRedis } from '../../../../infra/distributed/redis.ts';
import type { Queue } from '../../../../infra/ports.ts';
import { AccountMails, type WaitingMail } from '../../../../serve/accounts/account-mails.ts';
import { readConfig } from '../../../../serve/settings/settings.ts';
import { startRedis } from '../../../support/services/redis.ts';
import { isInstalled } from '../../../support/services/service.ts';
import { aUser, openWorld } from '../../accounts/world.ts';
import { MailServer } from '../../mail/mail-server.ts';
import { ORIGIN, openMailWorld, until } from './mailing.ts';

const isMissing = !(await isInstalled('redis-server'));
if (isMissing) console.warn('NOT TESTED over Redis: apt-get install redis-server');

const answering = (...codes: number[]) => {
  let attempts = 0;
  return MailServer.open({
    onRcptTo: (_address, _session, done) => {
      const responseCode = codes[attempts++] ?? 0;
      done(responseCode === 0 ? null : Object.assign(new Error('not now'), { responseCode }));
    },
  });
};

const worldOf = (server: MailServer) =>
  openWorld({
    ...{ SMTP_URL: server.url, SMTP_FROM: 'accounts@metrics.example.com', SMTP_REQUIRE_TLS: 'false' },
    PUBLIC_URL: ORIGIN,
  });

test('a mail that the store or the mail server puts off is sent later, once', async () => {
  const server = await answering(451);
  await using world = await worldOf(server);
  const { users, mails } = world.accounts;
  const user = await aUser(world);
  const get = users.get.bind(users);
  users.get = () => {
    users.get = get;
    return Promise.reject(new Error('the store is away'));
  };
  await mails.requestConfirmation(user, user.email);
  await until(() => server.mails.length > 0);
  await world.pipeline.runtime.queue.idle('account-mails');
  expect(server.mails).toHaveLength(1);
  await server.close();
}, 40_000);

test('a mail that the server refuses is given up, and the next one is sent', async () => {
  const server = await answering(550);
  await using world = await worldOf(server);
  const { mails } = world.accounts;
  const user = await aUser(world);
  await mails.requestConfirmation(user, user.email);
  await world.pipeline.runtime.queue.idle('account-mails');
  expect([server.mails.length, await world.pipeline.runtime.queue.failed('account-mails')]).toEqual([0, []]);
  await mails.requestConfirmation(user, user.email);
  await world.pipeline.runtime.queue.idle('account-mails');
  expect(server.mails).toHaveLength(1);
  await server.close();
});

test.runIf(!isMissing)(
  'a mail survives a kill between its request and its sending, and is no secret',
  async () => {
    const service = await startRedis();
    const mail = await openMailWorld();
    const { accounts } = mail;
    const config = readConfig({ REDIS_URL: `redis://${service.host}:${service.port}` });
    const silent = { debug() {}, info() {}, warn() {}, error() {} };
    const opened = async () => {
      const redis = newRedis(config, silent, { maxRetriesPerRequest: null, socketTimeout: 30_000 });
      await redis.connect();
      const rules = { attempts: 3, backoffMs: 50, lockMs: 1000, answerMs: 500, logger: silent };
      return { redis, queue: new DistributedQueue({ redis, prefix: 'mails', ...rules }) };
    };
    const mailsOn = (queue: Queue) => new AccountMails({ ...accounts, queue });
    const user = await aUser(mail.world);
    const killed = await opened();
    await mailsOn(killed.queue).requestConfirmation(user, user.email);
    let job: string | null | undefined;
    await until(async () => {
      const stored = await killed.redis.keys('*');
      const jobs = stored.filter((key) => /:[0-9a-f-]{36}$/.test(key));
      [job] = await Promise.all(jobs.map((key) => killed.redis.hget(key, 'data')));
      return typeof job === 'string';
    });
    const { data } = JSON.parse(job ?? '{}') as { data: { id: string } };
    const row = await accounts.waitingMails.get(data.id);
    expect(row).toEqual({
      id: data.id,
      version: 1,
      topic: 'confirm-email',
      address: user.email,
      user_id: user.id,
      message_id: expect.stringMatching(/^account\.[\w-]{22}$/),
      requested_ms: expect.any(Number),
      expires_ms: 0,
    });
    killed.redis.disconnect();
    const next = await opened();
    const sent: WaitingMail[] = [];
    await mailsOn(next.queue).process(async (waiting) => {
      sent.push(waiting);
      return undefined;
    });
    await until(() => sent.length > 0);
    expect(sent).toEqual([row]);
    await next.queue.close();
    await mail.close();
    await service.close();
  },
  30_000,
);
