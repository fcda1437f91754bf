import { requireHttpUrl } from '../http-client/http-url.ts';
import type { DestinationType } from '../messages/destination.ts';
import { RequestRefused } from '../model/access.ts';

/** A setting of a type of destination. */
interface SettingField {
  readonly isRequired: boolean;
  /** Secrets are never shown again. */
  readonly isSecret: boolean;
  /** Throws `RequestRefused` with the name of the field. */
  readonly check: (text: string, field: string) => void;
}

const matches =
  (pattern: RegExp, refusal: string): SettingField['check'] =>
  (text, field) => {
    if (!pattern.test(text)) throw new RequestRefused('bad_request', refusal, field);
  };

const EMAIL = /^(?=.{3,254}$)[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)+$/i;

const address = matches(EMAIL, 'Enter a valid email such as name@example.org.');
const chatId = matches(
  /^(-?\d{1,20}|@\w{5,32})$/,
  'Enter the number of the chat with the bot, or the @name of a public channel.',
);
const routingKey = matches(
  /^[A-Za-z0-9]{32}$/,
  'Enter the integration key of an Events API v2 integration: 32 letters and digits.',
);
const signingSecret = matches(/^[\x21-\x7e]{16,255}$/, 'Enter 16 to 255 letters, digits and symbols.');

const required = { isRequired: true, isSecret: false };
const secret = { isRequired: true, isSecret: true };

export const SETTING_FIELDS: Readonly<Record<DestinationType, Readonly<Record<string, SettingField>>>> = {
  email: { address: { ...required, check: address } },
  slack: { url: { ...secret, check: requireHttpUrl } },
  teams: { url: { ...secret, check: requireHttpUrl } },
  pagerduty: {
    routing_key: { ...secret, check: routingKey },
    url: { isRequired: false, isSecret: false, check: requireHttpUrl },
  },
  telegram: { chat_id: { ...required, check: chatId } },
  webhook: {
    url: { ...required, check: requireHttpUrl },
    secret: { isRequired: false, isSecret: true, check: signingSecret },
  },
};

export type DestinationSettings = Readonly<Record<string, string>>;

/** Settings with changes; '' removes a setting. Throws `RequestRefused` with the field at fault. */
export function changedSettings(
  type: DestinationType,
  before: DestinationSettings,
  changes: DestinationSettings,
): DestinationSettings {
  const fields = SETTING_FIELDS[type];
  const unknown = Object.keys(changes).find((name) => !Object.hasOwn(fields, name));
  if (unknown !== undefined) {
    const names = Object.keys(fields).join(', ');
    throw new RequestRefused(
      'bad_request',
      `A destination of type ${type} has these settings: ${names}.`,
      unknown,
    );
  }
  const next = Object.entries({ ...before, ...changes })
    .map(([name, text]) => [name, text.trim()] as const)
    .filter(([, text]) => text !== '');
  const settings = Object.fromEntries(next);
  for (const [name, { isRequired, check }] of Object.entries(fields)) {
    const text = settings[name] ?? '';
    if (text !== '') check(text, name);
    else if (isRequired)
      throw new RequestRefused('bad_request', `Enter the ${name.replace('_', ' ')}.`, name);
  }
  return settings;
}
