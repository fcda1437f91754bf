import { expect, test } from 'vitest';
import { checkMail } from '../../../../serve/application/doctor/mail-check.ts';
import { MailServer } from '../../mail/mail-server.ts';

const SMTP_FROM = 'accounts@metrics.example.com';

test('says whether the mail server takes connections, and what to do without one', async () => {
  const server = await MailServer.open();
  const settings = { SMTP_URL: server.url, SMTP_FROM, SMTP_REQUIRE_TLS: false };
  expect(await checkMail(settings)).toMatchObject({ check: 'mail', state: 'ok', remedy: null });
  await server.close();
  expect(server.mails).toEqual([]);
  const closed = await checkMail(settings);
  expect(closed).toMatchObject({
    state: 'warning',
    text: expect.stringMatching(/^SMTP_URL: .*ECONNREFUSED/),
  });
  const { SMTP_FROM: _, ...incomplete } = settings;
  expect(await checkMail(incomplete)).toMatchObject({
    state: 'failed',
    text: expect.stringContaining('SMTP_FROM='),
  });
  const none = await checkMail({ SMTP_REQUIRE_TLS: true });
  expect(none).toMatchObject({ state: 'ok', text: expect.stringContaining('chain-metrics users') });
});
