import { z } from 'zod';
import type { AlertDomain } from '../composition/domain.ts';
import { CONTACT_TYPES, type Contact } from '../destinations/contacts.ts';
import type { NotificationRule, UserRules } from '../destinations/rules.ts';
import { storedTemplate } from '../destinations/template-changes.ts';
import type { SendOutcome } from '../messages/send.ts';
import { timeText, wellFormedText } from '../projects/shapes.ts';
import type { Api } from './endpoint.ts';
import { templateInput, templateShape } from './template-shapes.ts';

const shape = z
  .object({
    id: z.string(),
    type: z.enum(CONTACT_TYPES),
    address: z.string().describe('email address, Telegram chat id, or webhook URL'),
    verified_at: z.iso.datetime().nullable().describe('time of verification; null: not verified'),
    created_at: z.iso.datetime(),
    template: templateShape.nullable().describe('template of a webhook; null: the built-in body'),
    is_account_email: z.boolean().describe('true for the confirmed email of the account'),
  })
  .meta({ id: 'ContactMethod' });

const contactJson = (contact: Contact) => ({
  id: contact.id,
  type: contact.type,
  address: contact.address,
  verified_at: timeText(contact.verified_ms),
  created_at: timeText(contact.created_ms),
  template: storedTemplate(contact.template),
  is_account_email: contact.isOfAccount,
});

export const testShape = z
  .object({
    status: z.int().nullable().describe('HTTP status of the response; null: no response'),
    fault: z.string().nullable().describe('reason of the failure; null: the message was accepted'),
  })
  .meta({ id: 'TestResult' });
export const testJson = ({ status, fault }: SendOutcome) => ({
  status: status || null,
  fault: fault || null,
});

const tag = 'On call' as const;
const role = null;
const all = '/user/contact_methods';
const one = `${all}/:contact_id`;
const params = z.object({ contact_id: z.string() });

/** Serves the contacts of the caller, and the rules that say which contact is notified when. */
export function serveContacts(api: Api, domain: Pick<AlertDomain, 'contacts' | 'notificationRules'>): void {
  const { contacts } = domain;
  api.add(
    {
      method: 'GET',
      path: all,
      tag,
      summary: 'List your contacts',
      doc: 'Includes the confirmed email of the account.',
      role,
      isWholeList: true,
      answer: z.array(shape),
    },
    async ({ caller }) => (await contacts.list(caller.user.id)).map(contactJson),
  );
  api.add(
    {
      method: 'POST',
      path: all,
      tag,
      summary: 'Add a contact',
      doc: 'Sends a code to the contact. Pages use the contact only after it is verified with this code.',
      role,
      body: z.object({
        type: z.enum(CONTACT_TYPES),
        address: wellFormedText().max(2000),
        template: templateInput.optional(),
      }),
      answer: shape,
      status: 201,
    },
    async ({ caller, body }) =>
      contactJson(await contacts.create(caller.user, { ...body, template: body.template ?? null })),
  );
  api.add(
    {
      method: 'PUT',
      path: one,
      tag,
      summary: 'Change the template of a contact',
      doc: 'Only webhooks have a template. Null restores the built-in body.',
      role,
      params,
      body: z.object({ template: templateInput }),
      answer: shape,
    },
    async ({ caller, params, body }) =>
      contactJson(await contacts.changeTemplate(caller.user, params.contact_id, body.template)),
  );
  serveContactActions(api, contacts);
  serveRules(api, domain);
}

function serveContactActions(api: Api, contacts: AlertDomain['contacts']): void {
  api.add(
    {
      method: 'POST',
      path: `${one}/verify`,
      tag,
      summary: 'Verify a contact',
      doc: 'Takes the code that was sent to the contact. A code is valid for 10 minutes and 5 tries. A request without a code sends a new one.',
      role,
      params,
      body: z.object({ code: wellFormedText().max(100).optional() }),
      isBodyOptional: true,
      answer: shape,
    },
    async ({ caller: { user }, params: { contact_id }, body }) => {
      const code = body?.code;
      const changed =
        code === undefined ? contacts.renewCode(user, contact_id) : contacts.verify(user, contact_id, code);
      return contactJson(await changed);
    },
  );
  api.add(
    {
      method: 'POST',
      path: `${one}/test`,
      tag,
      summary: 'Send a test message to a contact',
      role,
      params,
      answer: testShape,
    },
    async ({ caller, params }) => testJson(await contacts.sendTest(caller.user, params.contact_id)),
  );
  api.add(
    { method: 'DELETE', path: one, tag, summary: 'Delete a contact', role, params, status: 204 },
    async ({ caller, params }) => contacts.delete(caller.user, params.contact_id),
  );
}

const ruleShape = z.object({
  contact_id: z.string(),
  after_minutes: z.int().min(0).max(1440).describe('minutes to wait after the step that pages you'),
});
const rulesShape = z
  .object({
    default: z
      .array(ruleShape)
      .describe('if no rule names a verified contact, the first verified contact is notified at once'),
    important: z.array(ruleShape).describe('rules for important steps; empty: the default rules apply'),
    status_updates: z
      .boolean()
      .describe('true: you get a message when your page is acknowledged or resolved'),
  })
  .meta({ id: 'NotificationRules' });

function serveRules(api: Api, { notificationRules }: Pick<AlertDomain, 'notificationRules'>): void {
  const path = '/user/notification_rules';
  api.add(
    { method: 'GET', path, tag, summary: 'Get your notification rules', role, answer: rulesShape },
    async ({ caller }) => rulesJson(await notificationRules.get(caller.user.id)),
  );
  api.add(
    {
      method: 'PUT',
      path,
      tag,
      summary: 'Change your notification rules',
      doc: 'Replaces the fields that the request has. A list has at most 10 rules, all for verified contacts.',
      role,
      body: rulesShape.partial(),
      answer: rulesShape,
    },
    async ({ caller, body }) => {
      const given = {
        ...(body.default && { default: body.default.map(ruleOf) }),
        ...(body.important && { important: body.important.map(ruleOf) }),
        ...(body.status_updates === undefined ? {} : { statusUpdates: body.status_updates }),
      };
      return rulesJson(await notificationRules.put(caller.user.id, given));
    },
  );
}

const ruleOf = ({ contact_id, after_minutes }: z.output<typeof ruleShape>): NotificationRule => ({
  contactId: contact_id,
  afterMinutes: after_minutes,
});
const ruleJson = ({ contactId, afterMinutes }: NotificationRule) => ({
  contact_id: contactId,
  after_minutes: afterMinutes,
});
const rulesJson = (rules: UserRules) => ({
  default: rules.default.map(ruleJson),
  important: rules.important.map(ruleJson),
  status_updates: rules.statusUpdates,
});
