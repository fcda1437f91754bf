import type { Accounts } from '../../identity/accounts/accounts.ts';
import type { User } from '../../identity/accounts/tables.ts';
import { findUser } from '../../identity/accounts/users.ts';
import { RequestRefused } from './access.ts';

/** Finds users of the identity domain. */
export class UserLookup {
  readonly #accounts: Accounts;

  constructor(accounts: Accounts) {
    this.#accounts = accounts;
  }

  async byId(ids: readonly string[]): Promise<Map<string, User>> {
    const distinct = [...new Set(ids)].filter((id) => id !== '');
    const found = await Promise.all(distinct.map((id) => this.#accounts.users.get(id)));
    return new Map(found.flatMap((user) => (user ? [[user.id, user]] : [])));
  }

  /** By id or username, with or without an @. Not by email: anybody may have entered it. */
  async get(idOrUsername: string | number): Promise<User> {
    const text = String(idOrUsername).replace(/^@/, '');
    const user = /^\d+$/.test(text)
      ? await this.#accounts.users.get(text)
      : text.includes('@')
        ? null
        : await findUser(this.#accounts, text);
    if (user === null) throw new RequestRefused('not_found', 'User Not Found', 'user');
    return user;
  }
}
