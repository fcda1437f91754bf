import { z } from 'zod';
import type { Accounts } from '../../accounts/accounts.ts';
import { SigningKeys } from './signing-keys.ts';

/** A request of an operator about the keys that sign ID tokens. */
export const signingKeysRequest = z.discriminatedUnion('action', [
  z.object({ action: z.literal('list') }),
  z.object({ action: z.literal('rotate'), revoke: z.boolean() }),
]);
export type SigningKeysRequest = z.output<typeof signingKeysRequest>;

/** A published key without its private part. */
export interface ListedSigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly created_at: string;
  readonly signs_from: string;
  /** Null for a key that is not replaced yet. */
  readonly published_until: string | null;
}

export interface SigningKeysResult {
  readonly keys: readonly ListedSigningKey[];
}

export async function handleSigningKeysRequest(
  accounts: Accounts,
  request: SigningKeysRequest,
): Promise<SigningKeysResult> {
  const keys = new SigningKeys(accounts);
  if (request.action === 'rotate') await keys.rotate(request);
  const listed = await keys.list();
  return {
    keys: listed.map(({ id, alg, created_ms, signs_from_ms, expires_ms }) => ({
      kid: id,
      alg,
      created_at: new Date(created_ms).toISOString(),
      signs_from: new Date(signs_from_ms).toISOString(),
      published_until: expires_ms === 0 ? null : new Date(expires_ms).toISOString(),
    })),
  };
}
