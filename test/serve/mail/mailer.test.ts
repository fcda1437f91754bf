import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { type Mail, Mailer } from '../../../serve/mail/mailer.ts';
import { MailServer } from './mail-server.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function mailServer(options: Parameters<typeof MailServer.open>[0] = {}): Promise<MailServer> {
  const server = await MailServer.open(options);
  closing.push(() => server.close());
  return server;
}

/** A server that says what a test wants, line by line; null closes the connection. */
async function scripted(answerTo: (line: string, socket: Socket) => string | null): Promise<string> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    const say = (text: string | null) => (text === null ? socket.destroy() : socket.write(text));
    say(answerTo('CONNECT', socket));
    socket.on('data', (data) => {
      for (const line of data.toString().split('\r\n')) if (line !== '') say(answerTo(line, socket));
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `smtp://127.0.0.1:${(server.address() as { port: number }).port}`;
}

const mailerTo = (SMTP_URL: string, SMTP_REQUIRE_TLS = false) =>
  new Mailer({ SMTP_URL, SMTP_FROM: 'alerts@metrics.example.com', SMTP_REQUIRE_TLS });

const mail: Mail = {
  to: 'alice@example.org',
  subject: '[critical] Disk is full',
  text: 'Only 2 % are free.\n',
  html: '<p>Only 2 % are free.</p>',
  id: '42/night/1.1.1/c1/0',
  thread: 'page.7.42',
  isImportant: true,
};

describe('a mail', () => {
  test('arrives with its headers', async () => {
    const server = await mailServer();
    expect(await mailerTo(server.url).send(mail)).toEqual({ status: 250, fault: '', isRefused: false });
    const { from, to, headers, source } = server.last;
    expect({ from, to }).toEqual({ from: 'alerts@metrics.example.com', to: ['alice@example.org'] });
    expect(Object.fromEntries(headers)).toMatchObject({
      from: 'Chain Metrics <alerts@metrics.example.com>',
      to: 'alice@example.org',
      subject: '[critical] Disk is full',
      'message-id': '<42/night/1.1.1/c1/0@metrics.example.com>',
      references: '<page.7.42@metrics.example.com>',
      'auto-submitted': 'auto-generated',
      'x-auto-response-suppress': 'All',
      importance: 'high',
      'content-type': expect.stringContaining('multipart/alternative'),
    });
    expect(source).toContain('\r\nOnly 2 % are free.\r\n');
    expect(source).toContain('<p>Only 2 % are free.</p>');
  });

  test('that is sent twice has one Message-ID', async () => {
    const server = await mailServer();
    const mailer = mailerTo(server.url);
    await mailer.send(mail);
    await mailer.send({ ...mail, isImportant: false, thread: '' });
    const ids = server.mails.map(({ headers }) => new Map(headers).get('message-id'));
    expect(ids).toEqual(Array(2).fill('<42/night/1.1.1/c1/0@metrics.example.com>'));
    expect(new Map(server.last.headers).has('importance')).toBe(false);
    expect(new Map(server.last.headers).has('references')).toBe(false);
  });

  test('has no header and no recipient that a text brings', async () => {
    const server = await mailServer();
    const attack =
      'x\r\nBcc: victim@example.org\r\nX-Evil: 1\r\n\r\nbody\r\n.\r\nRCPT TO:<victim@example.org>';
    const mailer = mailerTo(server.url);
    await mailer.send({ ...mail, subject: attack, text: attack, html: attack, id: attack, thread: attack });
    const { to, headers } = server.last;
    expect(to).toEqual(['alice@example.org']);
    expect(headers.map(([name]) => name)).not.toEqual(expect.arrayContaining(['bcc']));
    expect(headers.map(([name]) => name)).not.toEqual(expect.arrayContaining(['x-evil']));
    for (const address of [
      `alice@example.org\r\nBcc: victim@example.org`,
      'alice@example.org, victim@example.org',
    ]) {
      expect(await mailer.send({ ...mail, to: address })).toMatchObject({
        fault: 'this is not a single e-mail address',
        isRefused: true,
      });
      expect(server.mails).toHaveLength(1);
    }
  });

  test('reads no file and fetches nothing', async () => {
    const server = await mailServer();
    const path = { path: '/etc/hostname' } as unknown as string;
    const result = await mailerTo(server.url).send({ ...mail, text: path });
    expect(result.fault).toContain('File access rejected');
    expect(server.mails).toEqual([]);
  });
});

describe('a server that', () => {
  test('refuses the recipient with 5xx is not asked again', async () => {
    const error = Object.assign(new Error('No such mailbox'), { responseCode: 550 });
    const server = await mailServer({ onRcptTo: (_address, _session, done) => done(error) });
    expect(await mailerTo(server.url).send(mail)).toEqual({
      status: 550,
      fault: 'the mail server answered: 550 No such mailbox',
      isRefused: true,
    });
  });

  test.each([421, 450, 451])('answers %i to DATA is asked again', async (responseCode) => {
    const error = Object.assign(new Error('Later'), { responseCode });
    const server = await mailServer({
      onData: (stream, _session, done) => {
        stream.resume();
        stream.on('end', () => done(error));
      },
    });
    expect(await mailerTo(server.url).send(mail)).toMatchObject({ status: responseCode, isRefused: false });
  });

  test('refuses the message with 554 is not asked again', async () => {
    const error = Object.assign(new Error('Spam'), { responseCode: 554 });
    const server = await mailServer({
      onData: (stream, _session, done) => {
        stream.resume();
        stream.on('end', () => done(error));
      },
    });
    expect(await mailerTo(server.url).send(mail)).toMatchObject({ status: 554, isRefused: true });
  });

  test('knows no such user of ours is asked again: the settings are at fault, not the mail', async () => {
    const server = await mailServer({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: (_auth, _session, done) => done(new Error('Wrong password')),
    });
    const url = server.url.replace('://', '://alerts:wrong@');
    expect(await mailerTo(url).send(mail)).toMatchObject({ status: 535, isRefused: false });
  });

  test('hangs up after DATA is asked again', async () => {
    let lines = 0;
    const url = await scripted((line) => {
      if (line === 'CONNECT') return '220 ready\r\n';
      if (line.startsWith('EHLO')) return '250 hello\r\n';
      if (line === 'DATA') return '354 go on\r\n';
      if (line === '.') return null;
      lines++;
      return line.startsWith('MAIL') || line.startsWith('RCPT') ? '250 OK\r\n' : '';
    });
    const result = await mailerTo(url).send(mail);
    expect(result).toMatchObject({ status: 0, isRefused: false });
    expect(result.fault).not.toBe('');
    expect(lines).toBeGreaterThan(5);
  });

  test('never says anything is left after 10 s', async () => {
    const url = await scripted(() => '');
    const started = performance.now();
    const result = await mailerTo(url).send(mail);
    expect(result).toMatchObject({ status: 0, isRefused: false });
    expect(result.fault).toBe('no answer within 10 s');
    expect(performance.now() - started).toBeLessThan(12_000);
  }, 20_000);

  test('says a little each second is left too, as it may never end', async () => {
    const url = await scripted((line, socket) => {
      if (line === 'CONNECT') {
        const timer = setInterval(() => socket.write('220-wait\r\n'), 1000);
        socket.on('close', () => clearInterval(timer));
      }
      return '';
    });
    const started = performance.now();
    const result = await mailerTo(url).send(mail);
    expect(result).toMatchObject({ status: 0, isRefused: false });
    expect(result.fault).toBe('no answer within 10 s');
    expect(performance.now() - started).toBeLessThan(12_000);
  }, 20_000);

  test('has a certificate that proves nothing gets no mail', async () => {
    const server = await mailServer({ disabledCommands: [] });
    const result = await mailerTo(server.url).send(mail);
    expect(result).toMatchObject({ status: 0, isRefused: false });
    expect(result.fault).toMatch(/certificate/);
    expect(server.mails).toEqual([]);
  });

  test('offers no encryption gets no mail where that is required', async () => {
    const server = await mailServer();
    const result = await mailerTo(server.url, true).send(mail);
    expect(result.fault).not.toBe('');
    expect(server.mails).toEqual([]);
  });

  test('is not there is told', async () => {
    expect(await mailerTo('smtp://127.0.0.1:1').send(mail)).toMatchObject({
      fault: expect.stringContaining('ECONNREFUSED'),
      isRefused: false,
    });
  });
});

test('without a server there is no mail, and what to do is told', async () => {
  const mailer = new Mailer({ SMTP_REQUIRE_TLS: true });
  expect(mailer.isConfigured).toBe(false);
  expect(await mailer.send(mail)).toMatchObject({
    fault: expect.stringContaining('SMTP_URL'),
    isRefused: true,
  });
});

test('a server without a sender is a wrong setting', () => {
  expect(() => new Mailer({ SMTP_URL: 'smtp://h', SMTP_REQUIRE_TLS: true })).toThrow(/^SMTP_FROM=/);
});
