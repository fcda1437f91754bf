import type { Accounts } from '../../accounts/accounts.ts';
import type { User } from '../../accounts/tables.ts';
import { findUser } from '../../accounts/users.ts';

/** Finds users of the identity domain. */
export class UserLookup {
  readonly #accounts: Pick<Accounts, 'users'>;

  constructor(accounts: Pick<Accounts, 'users'>) {
    this.#accounts = accounts;
  }

  async byId(ids: readonly string[]): Promise<Map<string, User>> {
    const distinct = [...new Set(ids)].filter((id) => id !== '');
    const found = await Promise.all(distinct.map((id) => this.#accounts.users.get(id)));
    return new Map(found.flatMap((user) => (user ? [[user.id, user]] : [])));
  }

  /**
   * Finds a user by exact username, with or without an @ before it; null if there is none. Never by email:
   * an unconfirmed email may belong to somebody else.
   */
  async byUsername(username: string): Promise<User | null> {
    const name = username.trim().replace(/^@/, '');
    return name.includes('@') ? null : findUser(this.#accounts, name);
  }
}
