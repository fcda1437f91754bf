import { expect, test } from 'vitest';
import { setPassword } from '../../../../serve/accounts/password-change.ts';
import { createUser } from '../../../../serve/accounts/users.ts';
import { openPipeline } from '../../../../serve/application/compose/compose.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { testConfig } from '../../../support/test-config.ts';
import { PASSWORD } from '../../accounts/world.ts';
import { type Server, serve } from '../../application/cli/program.ts';
import { MailServer } from '../../mail/mail-server.ts';
import { ORIGIN, textOf, until } from './mailing.ts';

const EMAIL = 'ada@example.org';

const environment = (directory: string, SMTP_URL: string) => ({
  ...{ DATA_DIR: directory, SMTP_URL, SMTP_FROM: 'accounts@metrics.example.com', SMTP_REQUIRE_TLS: 'false' },
  ...{ PUBLIC_URL: ORIGIN, LOG_LEVEL: 'error' },
});

async function askForLink({ url }: Server, email: string): Promise<number> {
  const page = await fetch(`${url}/forgotten-password`);
  const cookie = page.headers.getSetCookie().map((set) => set.split(';')[0] ?? '');
  const form_token = /name="form_token" value="([^"]*)"/.exec(await page.text())?.[1] ?? '';
  const answer = await fetch(`${url}/forgotten-password`, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: cookie.join('; '), origin: ORIGIN },
    body: new URLSearchParams({ form_token, email }),
  });
  return answer.status;
}

test('mails that wait for the mail server are sent once after a stop and after kill -9', async () => {
  using directory = temporaryDirectory();
  const away = await MailServer.open();
  const early = environment(directory.path, away.url);
  await away.close();
  const pipeline = await openPipeline(testConfig(early));
  const accounts = pipeline.accounts();
  const made = { username: 'ada', email: EMAIL, password: PASSWORD, is_email_confirmed: true };
  await setPassword(accounts, await createUser(accounts, made), 'another four quiet words');
  await pipeline.close();

  const killed = await serve([], early);
  expect(await askForLink(killed, EMAIL)).toBe(303);
  expect(await askForLink(killed, 'nobody@example.org')).toBe(303);
  await killed.end('SIGKILL');

  const server = await MailServer.open();
  for (let start = 0; start < 2; start++) {
    const next = await serve([], environment(directory.path, server.url));
    await until(() => server.mails.length >= 2);
    await next.end('SIGTERM');
  }
  const texts = server.mails.map(textOf);
  expect(server.mails.map(({ to }) => to)).toEqual([[EMAIL], [EMAIL]]);
  expect(texts.filter((text) => text.includes('/reset-password?link='))).toHaveLength(1);
  expect(texts.filter((text) => text.includes('password was changed'))).toHaveLength(1);
  await server.close();
}, 60_000);
