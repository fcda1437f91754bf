import type { Store } from '../../infra/ports.ts';
import { literal, sql } from '../../infra/sql.ts';
import { encodeAddress } from '../chains/address.ts';
import { addressEncodings, addressEncodingsDue } from './tables.ts';

/** Keys per statement, since a first load may bring any number of keys. */
const KEYS_AT_ONCE = 10_000;

/** Encodes account keys with the prefix of their chain if the source printed them with another one. */
export async function encodeDueAddresses(store: Store): Promise<void> {
  for (;;) {
    // The alias must not be the name of a column: conditions would use the alias.
    const due = await store.rows<{ account: string; prefix: number }>(
      sql`SELECT concat('0x', lower(hex(key))) AS account, prefix FROM ${addressEncodingsDue} FINAL
        WHERE length(key) IN (20, 32) AND (key, prefix) NOT IN (SELECT key, prefix FROM ${addressEncodings})
        LIMIT ${KEYS_AT_ONCE}`,
    );
    if (due.length === 0) return;
    const encoded = due.map(
      ({ account, prefix }) =>
        `(unhex(${literal(account.slice(2))}), ${prefix}, ${literal(encodeAddress(account, prefix))})`,
    );
    await store.run(`INSERT INTO ${sql`${addressEncodings}`.text} VALUES ${encoded.join(', ')}`);
    if (due.length < KEYS_AT_ONCE) return;
  }
}
