import type { Locks } from '../../../infra/coordination/lock.ts';
import { HOUR_MS } from '../../../infra/days.ts';
import { ignore } from '../../../infra/ignore.ts';
import type { Clock } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { hashSecret, newLocator, readableCode, type Seal } from '../../accounts/secrets.ts';
import type { User } from '../../accounts/tables.ts';
import type { Limiter, Limiters } from '../../http/limiter.ts';
import type { Change, Records } from '../../stored-records/records.ts';
import type { Destination } from '../messages/destination.ts';
import { testMessage } from '../messages/message.ts';
import type { MessageSender, SendOutcome } from '../messages/send.ts';
import { RequestRefused } from '../model/access.ts';
import type { ContactMethod } from '../model/oncall-tables.ts';
import { SETTING_FIELDS } from './destination-settings.ts';
import { requireWithinLimit } from './message-limit.ts';
import { changedTemplate, type TemplateChanges, templateOf } from './template-changes.ts';

/** For each type of contact, the setting that contains its address. */
const ADDRESS_FIELDS = { email: 'address', telegram: 'chat_id', webhook: 'url' } as const;
type ContactType = keyof typeof ADDRESS_FIELDS;
export const CONTACT_TYPES = Object.keys(ADDRESS_FIELDS) as [ContactType, ...ContactType[]];

const CONTACTS_PER_USER = 10;
const CODE_CHARACTERS = 8;
const CODE_MS = 10 * 60_000;
const CODE_TRIES = 5;
/** Limits per hour: codes and tests of a user, and codes to an address. */
const MESSAGES_PER_HOUR = { user: 20, address: 5 };

/** A contact as its user sees it. */
export interface Contact {
  readonly id: string;
  readonly type: ContactType;
  readonly address: string;
  /** 0 until the user enters the code. */
  readonly verified_ms: number;
  readonly created_ms: number;
  /** The stored template; '' for none. */
  readonly template: string;
  /** True for the confirmed e-mail of the account. It cannot be deleted here. */
  readonly isOfAccount: boolean;
}

interface ContactsDependencies {
  readonly records: Records<ContactMethod>;
  readonly users: Records<User>;
  readonly clock: Clock;
  readonly locks: Locks;
  readonly limiters: Limiters;
  readonly seal: Seal;
  readonly sender: MessageSender;
  /** True if the notification rules of a user name the contact. */
  readonly isUsed: (userId: string, contactId: string) => Promise<boolean>;
  readonly publicUrl: () => string;
}

/** The addresses at which users are paged. A code verifies each, except the confirmed e-mail of the account. */
export class Contacts {
  readonly #deps: ContactsDependencies;
  readonly #perUser: Limiter;
  readonly #perAddress: Limiter;

  constructor(dependencies: ContactsDependencies) {
    this.#deps = dependencies;
    const { limiters } = dependencies;
    const seconds = HOUR_MS / 1000;
    this.#perUser = limiters({ name: 'contacts/user', max: MESSAGES_PER_HOUR.user, seconds });
    this.#perAddress = limiters({ name: 'contacts/address', max: MESSAGES_PER_HOUR.address, seconds });
  }

  /** The contacts of a user. The confirmed e-mail of the account comes first, then the oldest contacts. */
  async list(userId: string): Promise<Contact[]> {
    const [account, rows] = await Promise.all([this.#accountContact(userId), this.#rows(userId)]);
    const own = rows.map((row) => this.#shown(row));
    return account === null ? own : [account, ...own];
  }

  /** Ids of the verified contacts of a user: e-mail first, then the oldest. */
  async verified(userId: string): Promise<string[]> {
    const verified = (await this.list(userId)).filter(({ verified_ms }) => verified_ms > 0);
    const isEmail = ({ type }: Contact) => type === 'email';
    return [...verified.filter(isEmail), ...verified.filter((contact) => !isEmail(contact))].map(
      ({ id }) => id,
    );
  }

  /** The contact of a user without rules: the first verified one. Null if there is none. */
  async defaultContact(userId: string): Promise<string | null> {
    const account = await this.#accountContact(userId);
    return account?.id ?? (await this.verified(userId))[0] ?? null;
  }

  /** The destination of a verified contact; null if there is none. */
  async find(id: string): Promise<Destination | null> {
    const contact = id.startsWith(ACCOUNT)
      ? await this.#accountContact(id.slice(ACCOUNT.length))
      : await this.#findVerified(id);
    return contact && destinationOf(contact);
  }

  /** Adds a contact and sends a code to it. If the code cannot be sent, the contact is not stored. */
  async create(
    user: User,
    input: { readonly type: ContactType; readonly address: string; readonly template?: TemplateChanges },
  ): Promise<Contact> {
    const { locks, records, clock, seal, sender } = this.#deps;
    const { type } = input;
    const missing = sender.missingSetup(type);
    if (missing !== '') throw new RequestRefused('bad_request', missing, 'type');
    const address = input.address.trim();
    SETTING_FIELDS[type][ADDRESS_FIELDS[type]]?.check(address, 'address');
    const template = contactTemplate(type, '', input.template ?? null);
    return locks.run(`contacts/${user.id}`, async () => {
      const existing = await this.list(user.id);
      if (existing.filter(({ isOfAccount }) => !isOfAccount).length >= CONTACTS_PER_USER)
        throw new RequestRefused(
          'conflict',
          `You can have up to ${CONTACTS_PER_USER} contacts. Delete one first.`,
        );
      if (existing.some((other) => other.type === type && other.address === address))
        throw new RequestRefused('conflict', 'You already have this contact.');
      const created_ms = clock.now();
      const contact: Contact = {
        id: newLocator(),
        type,
        address,
        verified_ms: 0,
        created_ms,
        template,
        isOfAccount: false,
      };
      const code = await this.#sendCode(user.id, contact);
      await records.add({
        ...{
          id: contact.id,
          expires_ms: 0,
          user_id: user.id,
          type,
          created_ms,
          deleted_ms: 0,
          verified_ms: 0,
          template,
        },
        address: seal.encrypt(address, contextOf(contact.id)),
        ...code,
      });
      return contact;
    });
  }

  /** Sends a new code to an unverified contact. The old code becomes invalid. */
  async renewCode(user: User, id: string): Promise<Contact> {
    const contact = await this.#get(user.id, id);
    if (contact.verified_ms > 0) throw new RequestRefused('conflict', 'This contact is already verified.');
    const code = await this.#sendCode(user.id, contact);
    await this.#change(user.id, id, (row) => ({ next: { ...row, ...code }, result: undefined }));
    return contact;
  }

  /** Verifies a contact by its code. Counts each wrong code. */
  async verify(user: User, id: string, input: string): Promise<Contact> {
    const { clock, seal } = this.#deps;
    const code = input.toLowerCase().replace(/[\s-]/g, '');
    const verdict = await this.#change(user.id, id, (row) => {
      const now = clock.now();
      if (row.verified_ms > 0) return { result: 'right' };
      if (row.code_tries >= CODE_TRIES || now >= row.code_ends_ms) return { result: 'ended' };
      if (!seal.isSigned(CODE_PURPOSE, `${id}/${code}`, row.code_hash))
        return { next: { ...row, code_tries: row.code_tries + 1 }, result: 'wrong' };
      return { next: { ...row, verified_ms: now, code_hash: '', code_ends_ms: 0 }, result: 'right' };
    });
    if (verdict === 'wrong')
      throw new RequestRefused(
        'bad_request',
        'This code is wrong. Check the message that was sent to you.',
        'code',
      );
    if (verdict === 'ended')
      throw new RequestRefused('bad_request', 'This code is no longer valid. Ask for a new one.', 'code');
    return this.#get(user.id, id);
  }

  /** Sends a message that is marked as a test. */
  async sendTest(user: User, id: string): Promise<SendOutcome> {
    const { sender, publicUrl, clock } = this.#deps;
    const contact = await this.#get(user.id, id);
    if (contact.verified_ms === 0)
      throw new RequestRefused('conflict', 'Enter the code that was sent to this contact first.');
    await requireWithinLimit(this.#perUser, user.id);
    const message = testMessage({
      key: `test.${newLocator()}`,
      project: { id: 0, name: 'your account' },
      user: { name: user.name || user.username },
      publicUrl: publicUrl(),
      now: clock.now(),
    });
    return sender.send(destinationOf(contact), message);
  }

  /** Sets the texts of a contact; null for the built-in ones. */
  async changeTemplate(user: User, id: string, changes: TemplateChanges): Promise<Contact> {
    const { type } = await this.#get(user.id, id);
    await this.#change(user.id, id, (row) => ({
      next: { ...row, template: contactTemplate(type, row.template, changes) },
      result: undefined,
    }));
    return this.#get(user.id, id);
  }

  async delete(user: User, id: string): Promise<void> {
    const { clock, isUsed } = this.#deps;
    const { isOfAccount } = await this.#get(user.id, id);
    if (isOfAccount)
      throw new RequestRefused(
        'conflict',
        "This is your account's e-mail. Remove it from your notification rules instead.",
      );
    if (await isUsed(user.id, id))
      throw new RequestRefused(
        'conflict',
        'Your notification rules use this contact. Remove it from them first.',
      );
    await this.#change(user.id, id, (row) => ({
      next: { ...row, deleted_ms: clock.now() },
      result: undefined,
    }));
  }

  async #sendCode(userId: string, contact: Contact): Promise<Code> {
    const { sender, seal, clock } = this.#deps;
    await requireWithinLimit(this.#perUser, userId);
    await requireWithinLimit(
      this.#perAddress,
      hashSecret(`${contact.type} ${contact.address.toLowerCase()}`),
    );
    const code = readableCode(CODE_CHARACTERS);
    const { fault } = await sender.sendCode(destinationOf(contact), `code.${newLocator()}`, code);
    if (fault !== '')
      throw new RequestRefused('bad_request', `The code could not be sent: ${fault}`, 'address');
    return {
      code_hash: seal.sign(CODE_PURPOSE, `${contact.id}/${code}`),
      code_ends_ms: clock.now() + CODE_MS,
      code_tries: 0,
    };
  }

  #rows(userId: string): Promise<ContactMethod[]> {
    return this.#deps.records.find(
      sql`user_id = ${userId} AND deleted_ms = 0`,
      'created_ms, id',
      CONTACTS_PER_USER,
    );
  }

  async #get(userId: string, id: string): Promise<Contact> {
    const found = (await this.list(userId)).find((contact) => contact.id === id);
    if (found === undefined) throw new RequestRefused('not_found', 'Contact Not Found');
    return found;
  }

  async #findVerified(id: string): Promise<Contact | null> {
    const row = await this.#deps.records.get(id);
    if (row === null || row.deleted_ms > 0) return null;
    const contact = this.#shown(row);
    return contact.verified_ms > 0 ? contact : null;
  }

  #change<Result>(
    userId: string,
    id: string,
    change: (row: ContactMethod) => Change<ContactMethod, Result>,
  ): Promise<Result> {
    return this.#deps.records.change(id, (row) => {
      if (row === null || row.user_id !== userId || row.deleted_ms > 0)
        throw new RequestRefused('not_found', 'Contact Not Found');
      return change(row);
    });
  }

  async #accountContact(userId: string): Promise<Contact | null> {
    const user = await this.#deps.users.get(userId);
    if (user === null || user.email === '' || user.email_confirmed_ms === 0) return null;
    const { email: address, email_confirmed_ms: verified_ms, created_ms } = user;
    const shown = { id: `${ACCOUNT}${userId}`, type: 'email', address, verified_ms, created_ms } as const;
    return { ...shown, template: '', isOfAccount: true };
  }

  /** A contact with an unreadable address counts as not verified. */
  #shown(row: ContactMethod): Contact {
    const { id, type, verified_ms, created_ms, template } = row;
    const address = contactAddress(this.#deps.seal, row);
    const shown = { id, type: type as ContactType, address, created_ms, template, isOfAccount: false };
    return { ...shown, verified_ms: address === '' ? 0 : verified_ms };
  }
}

/** The address of a contact; '' if it is unreadable, as after a change of the server's key. */
export function contactAddress(seal: Seal, { id, address }: ContactMethod): string {
  try {
    return seal.decrypt(address, contextOf(id));
  } catch (error) {
    return ignore('contacts.decrypt', '')(error);
  }
}

/** Prefix of the id of the account's own e-mail; the id of the user follows. */
const ACCOUNT = 'account-';
const CODE_PURPOSE = 'contact code';

type Code = Pick<ContactMethod, 'code_hash' | 'code_ends_ms' | 'code_tries'>;

const contextOf = (id: string): string => `contact/${id}`;

/** Only webhook contacts have a template, because a program reads them. */
function contactTemplate(type: ContactType, before: string, changes: TemplateChanges): string {
  if (changes !== null && type !== 'webhook')
    throw new RequestRefused('bad_request', 'Only contacts of the type webhook have a template.', 'template');
  return changedTemplate(type, before, changes);
}

const destinationOf = ({ id, type, address, template }: Contact): Destination => ({
  id,
  type,
  isChannel: false,
  settings: { [ADDRESS_FIELDS[type]]: address },
  ...templateOf(template),
});
