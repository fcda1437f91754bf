import { afterAll, beforeAll, expect, test } from 'vitest';
import { MessageSender } from '../../../../serve/alerts/messages/send.ts';
import { Mailer } from '../../../../serve/mail/mailer.ts';
import { MailServer } from '../../mail/mail-server.ts';
import { HOSTILE, HUGE, madeMessage, messageOf } from './made-message.ts';

let server: MailServer;
let sender: MessageSender;
beforeAll(async () => {
  server = await MailServer.open();
  sender = new MessageSender({
    clock: { now: () => 0 },
    mailer: new Mailer({ SMTP_URL: server.url, SMTP_FROM: 'alerts@example.org', SMTP_REQUIRE_TLS: false }),
    settings: {},
    allowsPrivate: false,
  });
});
afterAll(() => server?.close());

const to = (address: string) =>
  ({ id: 'c1', type: 'email', isChannel: false, settings: { address } }) as const;

const HEADERS = [
  ...['auto-submitted', 'content-type', 'date', 'from', 'importance', 'message-id', 'mime-version'],
  ...['references', 'subject', 'to', 'x-auto-response-suppress'],
];

test.each([
  ['usual texts', madeMessage()],
  ['hostile texts', messageOf(HOSTILE)],
  ['hostile texts of a resolved alert', messageOf(HOSTILE, { event: 'resolved' })],
  ['hostile texts of an exhausted page', messageOf(HOSTILE, { event: 'exhausted' })],
  ['texts of 100 KB', messageOf(HUGE, { acknowledgeUrl: 'https://metrics.example.com/acknowledge/x.y' })],
  ['nothing but line breaks', messageOf('\r\n\r\n\r\n')],
])('a mail with %s has its own headers and no others', async (_name, message) => {
  const outcome = await sender.send(to('alice@example.org'), message);
  expect(outcome).toEqual({ status: 250, fault: '', isRefused: false, retryAfterMs: 0 });
  expect(server.last.to).toEqual(['alice@example.org']);
  expect(server.last.headers.map(([name]) => name).sort()).toEqual(HEADERS);
  expect(server.last.source.length).toBeLessThan(100_000);
});

test('an address with line breaks gets no mail', async () => {
  const before = server.mails.length;
  const outcome = await sender.send(to('a@example.org\r\nBcc: victim@example.org'), madeMessage());
  expect(outcome).toMatchObject({ status: 0, isRefused: true });
  expect(server.mails).toHaveLength(before);
});
