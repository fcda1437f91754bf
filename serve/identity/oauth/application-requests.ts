import { z } from 'zod';
import { ProductError } from '../../../infra/errors.ts';
import { sql } from '../../../infra/sql.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import type { Application } from '../../accounts/tables.ts';

/** A request of an operator about applications. */
export const applicationsRequest = z.discriminatedUnion('action', [
  z.object({ action: z.literal('list') }),
  z.object({ action: z.literal('block'), id: z.string() }),
  z.object({ action: z.literal('unblock'), id: z.string() }),
]);
export type ApplicationsRequest = z.output<typeof applicationsRequest>;

/** An application without its secret. */
export interface ListedApplication {
  readonly id: string;
  readonly name: string;
  /** User name. */
  readonly owner: string;
  readonly is_confidential: boolean;
  readonly created_at: string;
  readonly is_blocked: boolean;
  /** Stops the application as well. */
  readonly is_owner_locked: boolean;
}

export interface ApplicationsResult {
  readonly applications: readonly ListedApplication[];
}

const LISTED_MAX = 100_000;

/** Executes a request. Throws a `ProductError` if the application does not exist. */
export async function handleApplicationsRequest(
  accounts: Accounts,
  request: ApplicationsRequest,
): Promise<ApplicationsResult> {
  if (request.action === 'list') {
    const found = await accounts.applications.find(sql`revoked_ms = 0`, 'created_ms, id', LISTED_MAX);
    return { applications: await listed(accounts, found) };
  }
  const { action, id } = request;
  const blocked_ms = action === 'block' ? accounts.clock.now() : 0;
  const changed = await accounts.applications.change(id, (application) => {
    if (application === null || application.revoked_ms > 0) return { result: null };
    const next = { ...application, blocked_ms };
    return { next, result: next };
  });
  if (changed === null)
    throw new ProductError(
      'usage',
      `there is no application ${id}; \`chain-metrics applications list\` shows all application IDs`,
    );
  return { applications: await listed(accounts, [changed]) };
}

function listed({ users }: Accounts, applications: readonly Application[]): Promise<ListedApplication[]> {
  return Promise.all(
    applications.map(async ({ id, name, owner_id, is_confidential, created_ms, blocked_ms }) => {
      const owner = await users.get(owner_id);
      return {
        id,
        name,
        owner: owner?.username ?? '',
        is_confidential,
        created_at: new Date(created_ms).toISOString(),
        is_blocked: blocked_ms > 0,
        is_owner_locked: (owner?.locked_ms ?? 0) > 0,
      };
    }),
  );
}
