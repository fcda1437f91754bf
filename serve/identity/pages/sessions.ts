import type { FastifyInstance } from 'fastify';
import { sql } from '../../../infra/clickhouse/sql.ts';
import { button, table, time } from '../../http/pages/fields.ts';
import { formToken } from '../../http/pages/forms.ts';
import { html } from '../../http/pages/html.ts';
import { seeOther, sendPage } from '../../http/pages/page.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { signOutEverywhere } from '../accounts/people.ts';
import { clearSessionCookie, endSessionById, requireUser, sessionOf } from '../accounts/sessions.ts';

const PATH = '/profile/sessions';

/** Browsers that are signed in, each to be ended, and the way to end all. */
export function serveSessions(pages: FastifyInstance, accounts: Accounts): void {
  pages.get(PATH, async (request, reply) => {
    const user = await requireUser(accounts, request);
    const here = (await sessionOf(accounts, request))?.session.id;
    const token = await formToken(accounts, request, reply);
    const live = await accounts.sessions.find(
      sql`user_id = ${user.id} AND epoch = ${user.session_epoch} AND awaits = '' AND ended_ms = 0
        AND expires_ms > ${accounts.clock.now()}`,
      'seen_ms DESC, id',
    );
    const body = html`<h1>Sessions</h1>
<p class="lead">Browsers that are signed in to your account. End those that you do not know, and change your password then.</p>
${table({
  caption: 'Sessions',
  head: ['Browser', 'Address', 'Signed in', 'Last seen', ''],
  rows: live.map((one) => [
    html`${browserOf(one.agent)} ${one.id === here && html`<span class="tag good">this one</span>`}`,
    html`${one.address}`,
    time(one.created_ms),
    time(one.seen_ms),
    one.id === here
      ? html``
      : button(
          `${PATH}/${one.id}/end`,
          token,
          'End',
          `End the session of ${browserOf(one.agent)} at ${one.address}`,
        ),
  ]),
  empty: 'No session.',
})}
${button(`${PATH}/end-all`, token, 'Sign out everywhere', 'Sign out everywhere', 'danger')}`;
    return sendPage(accounts, request, reply, { title: 'Sessions', body });
  });

  pages.post<{ Params: { id: string } }>(`${PATH}/:id/end`, async (request, reply) => {
    const user = await requireUser(accounts, request);
    const isDone = await endSessionById(accounts, request.params.id, user.id);
    return seeOther(
      reply,
      PATH,
      isDone ? 'The session is over.' : 'There is no such session.',
      isDone ? 'good' : 'bad',
    );
  });

  pages.post(`${PATH}/end-all`, async (request, reply) => {
    const user = await requireUser(accounts, request);
    await signOutEverywhere(accounts, user.id);
    clearSessionCookie(accounts, reply);
    return seeOther(reply, '/sign-in', 'All sessions are over, this one too.');
  });
}

/** The browser and system that a user agent names, for people to recognise. */
function browserOf(agent: string): string {
  const browser = /(Firefox|Edg|OPR|Chrome|Safari)\/\d+/.exec(agent)?.[1] ?? '';
  const system = /(Windows|Android|iPhone|iPad|Mac OS X|Linux)/.exec(agent)?.[1] ?? '';
  const names: Record<string, string> = { Edg: 'Edge', OPR: 'Opera', 'Mac OS X': 'macOS' };
  const shown = [browser, system].filter((name) => name !== '').map((name) => names[name] ?? name);
  return shown.length > 0 ? shown.join(' on ') : 'Unknown browser';
}
