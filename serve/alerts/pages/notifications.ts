import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Accounts } from '../../accounts/accounts.ts';
import type { User } from '../../accounts/tables.ts';
import { HttpError } from '../../http/errors.ts';
import type { Form } from '../../http/form.ts';
import { button, secretCard, textField } from '../../pages/fields.ts';
import { formOf } from '../../pages/forms.ts';
import { type Html, html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import { showOnce, takeSecret } from '../../pages/shown-once.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { CONTACT_TYPES, type Contact } from '../destinations/contacts.ts';
import type { NotificationRule, UserRules } from '../destinations/rules.ts';
import { RequestRefused } from '../model/access.ts';
import { testResult } from './channels.ts';
import { DESTINATION_LABELS } from './destination-labels.ts';
import { select } from './frame.ts';

const PAGE = '/profile/notifications';
const CONTACT = `${PAGE}/contacts/:contact`;
/** Empty rows at the end of each list. */
const EMPTY_ROWS = 2;

const contactIdOf = (request: FastifyRequest) => (request.params as { contact: string }).contact;
const labelOf = ({ type }: Pick<Contact, 'type'>) => DESTINATION_LABELS[type].label;

interface NotificationParts
  extends Pick<AlertDomain, 'contacts' | 'messageSender' | 'notificationRules' | 'personalCalendars'> {
  readonly accounts: Accounts;
  readonly url: () => string;
}

/** The contacts and the notification rules of a user. */
export function serveNotificationPages(pages: FastifyInstance, parts: NotificationParts): void {
  const { contacts, notificationRules } = parts;
  pages.get(PAGE, async (request, reply) => {
    const user = await request.requireUser();
    return sendPage(parts, reply, user, { calendar: await takeSecret(parts.accounts, request, user) });
  });
  pages.post(`${PAGE}/calendar`, async (request, reply) => {
    const user = await request.requireUser();
    const address = `${parts.url()}/oncall_calendars/${await parts.personalCalendars.renew(user.id)}.ics`;
    return showOnce(parts.accounts, reply, user, PAGE, address);
  });
  pages.post(`${PAGE}/contacts`, async (request, reply) => {
    const user = await request.requireUser();
    const form = formOf(request);
    const type = CONTACT_TYPES.find((type) => type === form.text('type')) ?? 'email';
    return runAction(parts, reply, user, 'add', async () => {
      const { address } = await contacts.create(user, { type, address: form.text('address') });
      return `A code was sent to ${address}. Enter it within 10 minutes.`;
    });
  });
  const actions = {
    verify: async (user: User, id: string, form: Form) => {
      const { address } = await contacts.verify(user, id, form.text('code'));
      return `${address} is verified.`;
    },
    code: async (user: User, id: string) => {
      const { address } = await contacts.renewCode(user, id);
      return `A new code was sent to ${address}. Enter it within 10 minutes.`;
    },
    delete: async (user: User, id: string) => {
      await contacts.delete(user, id);
      return 'Contact deleted.';
    },
  };
  for (const [name, act] of Object.entries(actions)) {
    pages.post(`${CONTACT}/${name}`, async (request, reply) => {
      const user = await request.requireUser();
      const id = contactIdOf(request);
      return runAction(parts, reply, user, id, () => act(user, id, formOf(request)));
    });
  }
  pages.post(`${CONTACT}/test`, async (request, reply) => {
    const user = await request.requireUser();
    const outcome = await contacts.sendTest(user, contactIdOf(request));
    return sendPage(parts, reply, user, { news: testResult(outcome) });
  });
  pages.post(`${PAGE}/rules`, async (request, reply) => {
    const user = await request.requireUser();
    return runAction(parts, reply, user, 'rules', async () => {
      await notificationRules.put(user.id, storedRules(formOf(request)));
      return 'Rules saved.';
    });
  });
}

interface NotificationState {
  /** The result of the last action, shown at the top. */
  readonly news?: Html;
  /** The address of the calendar, which is shown once. */
  readonly calendar?: string | null;
  /** The refused form, or the contact of the refused form, with the error. */
  readonly refused?: { readonly form: string; readonly error: HttpError };
}

/** Runs the action of a form. If it is refused, shows the form again with the reason. */
async function runAction(
  parts: NotificationParts,
  reply: FastifyReply,
  user: User,
  form: string,
  act: () => Promise<string>,
): Promise<FastifyReply> {
  try {
    return seeOther(reply, PAGE, await act());
  } catch (error) {
    if (!(error instanceof HttpError) || error.status === 404) throw error;
    return sendPage(parts, reply, user, { refused: { form, error } });
  }
}

function storedRules(form: Form): UserRules {
  const list = (name: string): NotificationRule[] => {
    const waits = form.getAll(`${name}-after`);
    return form
      .getAll(`${name}-contact`)
      .map((contactId, i) => ({ contactId, afterMinutes: minutesIn(waits[i] ?? '') }))
      .filter(({ contactId }) => contactId !== '');
  };
  return {
    default: list('default'),
    important: list('important'),
    statusUpdates: form.has('status-updates'),
  };
}

const minutesIn = (text: string): number => (/^\d{1,9}$/.test(text.trim()) ? Number(text) : Number.NaN);

async function sendPage(
  { contacts, notificationRules, messageSender, personalCalendars }: NotificationParts,
  reply: FastifyReply,
  user: User,
  { news, calendar, refused }: NotificationState,
): Promise<FastifyReply> {
  const token = await reply.formToken();
  const [list, stored] = await Promise.all([contacts.list(user.id), notificationRules.get(user.id)]);
  const verified = list.filter(({ verified_ms }) => verified_ms > 0);
  const errorOf = (form: string) => (refused?.form === form ? refused.error : null);
  const about = list.find(({ id }) => refused?.form === id);
  const isCode = refused?.error instanceof RequestRefused && refused.error.field === 'code';
  const rulesError = errorOf('rules');
  const rules = rulesError === null ? stored : storedRules(formOf(reply.request));
  const noMail = messageSender.missingSetup('email');
  const body = html`<h1>Notifications</h1><p class="lead">How pages of your projects reach you.</p>
${news}
${calendar && secretCard('Address of your calendar', calendar)}
${about && !isCode && html`<p class="note bad" role="alert">${refused?.error.message}</p>`}
${verified.length === 0 && html`<p class="note warn">You have no verified contact, so no page reaches you. Add a contact and enter the code that is sent to it.</p>`}
${noMail !== '' && html`<p class="note warn">${noMail} Until then you cannot be paged by e-mail.</p>`}
${
  list.length > 0 &&
  html`<section class="card"><h2>Contacts</h2><ul class="contacts">${list.map((contact) => contactItem(contact, token, isCode ? errorOf(contact.id) : null))}</ul></section>`
}
${addCard(messageSender, formOf(reply.request), token, errorOf('add'))}
${verified.length > 0 && rulesCard(rules, verified, token, rulesError)}
${calendarCard(await personalCalendars.has(user.id), token)}`;
  return reply.page({ title: 'Notifications', body, status: refused === undefined ? 200 : 422 });
}

function contactItem(contact: Contact, token: Html, codeError: HttpError | null): Html {
  const { id, address, verified_ms, isOfAccount } = contact;
  const base = `${PAGE}/contacts/${id}`;
  const isVerified = verified_ms > 0;
  const act = (what: string, text: string, look = 'second small') =>
    button(`${base}/${what}`, token, text, `${text}: ${address}`, look);
  const fault = codeError && html`<p class="fault" id="code-${id}-fault">${codeError.message}</p>`;
  return html`<li><p><b>${address || 'unreadable'}</b> <span class="under">${labelOf(contact)}${isOfAccount && ', of your account'}</span> ${isVerified ? html`<span class="tag good">verified</span>` : html`<span class="tag warn">not verified</span>`}</p>
${
  !isVerified &&
  html`<form class="code-form" method="post" action="${base}/verify">${token}<label for="code-${id}">Code</label><input id="code-${id}" name="code" autocomplete="one-time-code" autocapitalize="none" spellcheck="false" required${codeError && html` aria-invalid="true" aria-describedby="code-${id}-fault" autofocus`}><button class="small">Confirm</button></form>${fault}`
}
<div class="actions">${isVerified ? act('test', 'Send test') : act('code', 'Send new code')}${!isOfAccount && act('delete', 'Delete', 'danger small')}</div></li>`;
}

function addCard(
  sender: NotificationParts['messageSender'],
  form: Form,
  token: Html,
  error: HttpError | null,
): Html {
  const usable = CONTACT_TYPES.filter((type) => sender.missingSetup(type) === '');
  const types = CONTACT_TYPES.map((type): [string, string] => [type, labelOf({ type })]);
  const shown = (name: string) => (error === null ? '' : form.text(name));
  const noTelegram = sender.missingSetup('telegram');
  return html`<section class="card"><h2>Add contact</h2><form method="post" action="${PAGE}/contacts">${token}
<div class="picker">${select('type', 'Type', types, shown('type') || (usable[0] ?? 'webhook'))}</div>
${textField({ name: 'address', label: 'Address', value: shown('address'), hint: 'An e-mail address, the number of your chat with the Telegram bot of this server, or the URL of a tool such as ntfy, Gotify or Pushover. A code is sent to it.', fault: error?.message })}
${noTelegram !== '' && html`<p class="hint spaced-below">${noTelegram}</p>`}
<button>Add contact</button></form></section>`;
}

function rulesCard(
  rules: UserRules,
  verified: readonly Contact[],
  token: Html,
  error: HttpError | null,
): Html {
  const list = (name: 'default' | 'important', title: string, hint: string) => {
    const fault = error instanceof RequestRefused && error.field === name ? error.message : null;
    const rows = [
      ...rules[name],
      ...Array.from({ length: EMPTY_ROWS }, () => ({ contactId: '', afterMinutes: 0 })),
    ];
    return html`<fieldset class="field"><legend>${title}</legend><p class="hint">${hint}</p>
${rows.map((rule, i) => ruleRow(name, rule, verified, `${title}, rule ${i + 1}`))}${fault && html`<p class="fault" role="alert">${fault}</p>`}</fieldset>`;
  };
  return html`<section class="card"><h2>Rules</h2><form method="post" action="${PAGE}/rules">${token}
${list('default', 'Pages', 'Each rule notifies one contact some minutes after a step pages you, unless somebody has acknowledged the page. Without a rule, your first contact is notified at once.')}
${list('important', 'Important pages', 'For steps that are marked as important. Without a rule, the rules above apply.')}
<label class="choice"><input type="checkbox" name="status-updates" value="on"${rules.statusUpdates && html` checked`}><div><b>Status updates</b><span>Notify me when a page that reached me is acknowledged or resolved.</span></div></label>
<button>Save rules</button></form></section>`;
}

function calendarCard(has: boolean, token: Html): Html {
  const label = has ? 'Renew the address' : 'Create an address';
  return html`<section class="card"><h2>Calendar</h2><p>Your shifts of the next 90 days in all projects, for a calendar application. Anyone with the address can read it. It is shown once.${has && ' A new address replaces the old one.'}</p>${button(`${PAGE}/calendar`, token, label, `${label} of your calendar`, 'second')}</section>`;
}

function ruleRow(
  name: string,
  { contactId, afterMinutes }: NotificationRule,
  verified: readonly Contact[],
  label: string,
): Html {
  const options = verified.map(
    (contact) =>
      html`<option value="${contact.id}"${contact.id === contactId && html` selected`}>${labelOf(contact)}: ${contact.address}</option>`,
  );
  return html`<div class="rule"><select name="${name}-contact" aria-label="${label}: contact"><option value="">No contact</option>${options}</select>
<label>after <input name="${name}-after" type="number" inputmode="numeric" min="0" max="1440" value="${Number.isInteger(afterMinutes) ? afterMinutes : ''}" aria-label="${label}: minutes"> min</label></div>`;
}
