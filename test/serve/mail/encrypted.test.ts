import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Mailer } from '../../../serve/mail/mailer.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { MailServer } from './mail-server.ts';

const directory = temporaryDirectory();
const certificates = getCACertificates('default');
let key: string;
let cert: string;
beforeAll(() => {
  const [keyFile, certFile] = [join(directory.path, 'key.pem'), join(directory.path, 'cert.pem')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-days',
      '2',
      '-keyout',
      keyFile,
      '-out',
      certFile,
      ...subject,
    ],
    { stdio: 'ignore' },
  );
  key = readFileSync(keyFile, 'utf8');
  cert = readFileSync(certFile, 'utf8');
  setDefaultCACertificates([...certificates, cert]);
});
afterAll(() => {
  setDefaultCACertificates(certificates);
  directory[Symbol.dispose]();
});

const mail = {
  ...{ to: 'alice@example.org', subject: 's', text: 't', html: '<p>t</p>' },
  ...{ id: 'k', thread: '', isImportant: false },
};

test.each([
  ['smtp', false, 'localhost', ''],
  ['smtps', true, 'localhost', ''],
  ['smtp', false, '127.0.0.1', 'altnames'],
  ['smtps', true, '127.0.0.1', 'altnames'],
])('%s sends over TLS (from the start: %s) to %s: %s', async (protocol, secure, host, fault) => {
  let signedIn = '';
  const server = await MailServer.open({
    ...{ secure, key, cert, disabledCommands: [], authOptional: false },
    onAuth: ({ username = '', password }, _session, done) => {
      signedIn = `${username}:${password}`;
      done(null, { user: username });
    },
  });
  try {
    const mailer = new Mailer({
      SMTP_URL: `${protocol}://alerts:p%40ss@${host}:${server.port}`,
      SMTP_FROM: 'alerts@example.org',
      SMTP_REQUIRE_TLS: true,
    });
    const result = await mailer.send(mail);
    if (fault === '') {
      expect(result).toEqual({ status: 250, fault: '', isRefused: false });
      expect(signedIn).toBe('alerts:p@ss');
      expect(server.mails).toHaveLength(1);
    } else {
      expect(result).toMatchObject({ status: 0, fault: expect.stringContaining(fault), isRefused: false });
      expect(server.mails).toEqual([]);
    }
  } finally {
    await server.close();
  }
});
