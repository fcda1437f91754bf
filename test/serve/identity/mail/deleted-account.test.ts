import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from '../../../../infra/sql.ts';
import { deleteAccount } from '../../../../serve/accounts/account-removal.ts';
import { linkPath } from '../../../../serve/identity/mail/links.ts';
import { Browser } from '../../accounts/browser.ts';
import { aUser } from '../../accounts/world.ts';
import { type MailWorld, ORIGIN, openMailWorld, textOf } from './mailing.ts';

let mail: MailWorld;
beforeAll(async () => {
  mail = await openMailWorld();
});
afterAll(() => mail?.close());

test('a deletion is told once to the confirmed address, and ends links that were sent there', async () => {
  const user = await mail.confirmedUser();
  const link = linkPath(mail.accounts, 'reset-password', user, user.email);
  expect((await new Browser(mail.world.app).get(link)).statusCode).toBe(200);
  await Promise.all([deleteAccount(mail.accounts, user), deleteAccount(mail.accounts, user)]);
  const mails = await mail.mailsTo(user.email);
  expect(mails).toHaveLength(1);
  expect(textOf(mails[0] as never)).toContain(`The account with this address at ${ORIGIN} was deleted.`);
  expect((await new Browser(mail.world.app).get(link)).statusCode).toBe(410);
});

test('an address that nobody confirmed is told nothing', async () => {
  const user = await aUser(mail.world);
  await deleteAccount(mail.accounts, user);
  expect(await mail.mailsTo(user.email)).toEqual([]);
});

test('what else waits for the account is not sent any more', async () => {
  const user = await mail.confirmedUser();
  const { queue } = mail.world.pipeline.runtime;
  const add = queue.add;
  queue.add = async () => undefined;
  await mail.accounts.mails.requestReset(user.email, { address: '192.0.2.1', device: null });
  await mail.accounts.mails.requestConfirmation(user, 'next@example.org');
  queue.add = add;
  const waiting = () => mail.accounts.waitingMails.find(sql`expires_ms = 0`, 'topic');
  expect((await waiting()).map(({ topic }) => topic)).toEqual(['confirm-email', 'reset-password']);
  await deleteAccount(mail.accounts, user);
  expect(await mail.mailsTo(user.email)).toHaveLength(1);
  expect(await waiting()).toEqual([]);
});
