import { setTimeout } from 'node:timers/promises';
import type { Accounts } from '../../../../serve/accounts/accounts.ts';
import type { User } from '../../../../serve/accounts/tables.ts';
import { changeUser } from '../../../../serve/accounts/users.ts';
import { aUser, openWorld, type World } from '../../accounts/world.ts';
import { MailServer, type ReceivedMail } from '../../mail/mail-server.ts';

export const ORIGIN = 'http://metrics.test:3000';
const QUEUE = 'account-mails';
const WAIT_MS = 10;

/** A service that sends its mails to a server of its own. */
export interface MailWorld {
  readonly world: World;
  readonly server: MailServer;
  readonly accounts: Accounts;
  /** The mails to an address, when no job waits any more. */
  mailsTo(address: string): Promise<ReceivedMail[]>;
  /** The path of the link in the newest mail to an address. */
  linkTo(address: string): Promise<string>;
  /** A user with a confirmed address. */
  confirmedUser(): Promise<User>;
  close(): Promise<void>;
}

export async function openMailWorld(settings: Record<string, string> = {}): Promise<MailWorld> {
  const server = await MailServer.open();
  const world = await openWorld({
    ...{ SMTP_URL: server.url, SMTP_FROM: 'accounts@metrics.example.com', SMTP_REQUIRE_TLS: 'false' },
    ...{ PUBLIC_URL: ORIGIN, TRUST_PROXY: '1', ...settings },
  });
  const { accounts } = world;
  const mailsTo = async (address: string) => {
    await world.pipeline.runtime.queue.idle(QUEUE);
    return server.mails.filter(({ to }) => to.includes(address));
  };
  return {
    world,
    server,
    accounts,
    mailsTo,
    linkTo: async (address) => linkIn((await mailsTo(address)).at(-1)),
    confirmedUser: async () => {
      const { id } = await aUser(world);
      const email_confirmed_ms = accounts.clock.now();
      await changeUser(accounts, id, () => ({ email_confirmed_ms }));
      return (await accounts.users.get(id)) as User;
    },
    close: async () => {
      await world.close();
      await server.close();
    },
  };
}

/** The plain text of a mail: soft line breaks and codes of quoted-printable undone. */
export const textOf = ({ source }: ReceivedMail): string =>
  source
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));

function linkIn(mail: ReceivedMail | undefined): string {
  const [link] = (mail && /http[^\s"]+\?link=[\w-]+/.exec(textOf(mail))) ?? [];
  if (link === undefined) throw new Error('there is no link in the mail');
  return link.replace(ORIGIN, '');
}

/** Waits until something holds. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await setTimeout(WAIT_MS);
}
