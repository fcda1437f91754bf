import type { FastifyInstance } from 'fastify';
import { sql } from '../../../infra/sql.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import { clearSessionCookie, endSessionById } from '../../accounts/sessions.ts';
import type { Session } from '../../accounts/tables.ts';
import { signOutEverywhere } from '../../accounts/users.ts';
import { button, table, time } from '../../pages/fields.ts';
import { html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';

const PATH = '/profile/sessions';

/** The active sessions of a user. */
export function serveSessions(pages: FastifyInstance, accounts: Accounts): void {
  pages.get(PATH, async (request, reply) => {
    const user = await request.requireUser();
    const current = (await request.signedIn())?.session.id;
    const token = await reply.formToken();
    const active = await accounts.sessions.find(
      sql`user_id = ${user.id} AND epoch = ${user.session_epoch} AND awaits = '' AND ended_ms = 0
        AND expires_ms > ${accounts.clock.now()}`,
      'seen_ms DESC, id',
    );
    const body = html`<h1>Active sessions</h1>
<p class="lead">Browsers that are signed in to your account. If you do not recognize a session, revoke it and change your password.</p>
${table({
  caption: 'Active sessions',
  head: ['Session', ''],
  rows: active.map((session) => [
    html`${browserOf(session.agent)} at ${session.address} ${session.id === current && html`<span class="tag good">Current session</span>`}
<div class="under">Signed in ${time(session.created_ms)} by ${methodOf(session)}</div> <div class="under">Last active ${time(session.seen_ms)}</div>`,
    session.id === current
      ? button('/sign-out', token, 'Sign out', 'Sign out of this session', 'second small')
      : button(
          `${PATH}/${session.id}/end`,
          token,
          'Revoke',
          `Revoke the session of ${browserOf(session.agent)} at ${session.address}`,
        ),
  ]),
  empty: 'You have no active sessions.',
})}
${button(`${PATH}/end-all`, token, 'Sign out of all sessions', 'Sign out of all sessions', 'danger')}`;
    return reply.page({ title: 'Active sessions', body });
  });

  pages.post<{ Params: { id: string } }>(`${PATH}/:id/end`, async (request, reply) => {
    const user = await request.requireUser();
    const isEnded = await endSessionById(accounts, request.params.id, user.id);
    return seeOther(
      reply,
      PATH,
      isEnded ? 'The session was revoked.' : 'The session was not found.',
      isEnded ? 'good' : 'bad',
    );
  });

  pages.post(`${PATH}/end-all`, async (request, reply) => {
    const user = await request.requireUser();
    await signOutEverywhere(accounts, user.id);
    clearSessionCookie(accounts, reply);
    return seeOther(reply, '/sign-in', 'You have been signed out of all sessions.');
  });
}

/** How the user signed in. */
function methodOf({ amr }: Session): string {
  const first = amr.includes('swk') ? 'wallet' : 'password';
  return amr.includes('mfa') ? `${first} and verification code` : first;
}

/** The browser and operating system of a user agent. */
function browserOf(agent: string): string {
  const browser = /(Firefox|Edg|OPR|Chrome|Safari)\/\d+/.exec(agent)?.[1] ?? '';
  const system = /(Windows|Android|iPhone|iPad|Mac OS X|Linux)/.exec(agent)?.[1] ?? '';
  const names: Record<string, string> = { Edg: 'Edge', OPR: 'Opera', 'Mac OS X': 'macOS' };
  const shown = [browser, system].filter((name) => name !== '').map((name) => names[name] ?? name);
  return shown.length > 0 ? shown.join(' on ') : 'Unknown browser';
}
