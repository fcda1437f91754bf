import type { FastifyInstance } from 'fastify';
import { finishDeletions } from './account-removal.ts';
import type { Accounts } from './accounts.ts';

const FLUSH_MS = 10_000;
const SWEEP_MS = 3_600_000;

/** Starts the periodic jobs: writing if keys were used, and deleting expired rows. */
export function startAccountMaintenance(app: FastifyInstance, accounts: Accounts): void {
  const every = (ms: number, what: string, work: () => Promise<unknown>) =>
    setInterval(() => work().catch((error) => app.log.warn({ err: error }, `${what} failed`)), ms).unref();
  const timers = [
    every(FLUSH_MS, 'writing the last use of keys', () => accounts.uses.flush()),
    every(SWEEP_MS, 'deleting expired rows and finishing deletions of accounts', () => sweep(accounts)),
  ];
  app.addHook('onClose', async () => {
    for (const timer of timers) clearInterval(timer);
    await accounts.uses.flush();
  });
}

/** Deletes expired rows, and finishes deletions of accounts. If several servers run, only one does so in half a period. */
export async function sweep(accounts: Accounts): Promise<void> {
  const isLeader = await accounts.keyValue.set('sweep/accounts', 'taken', {
    ttlMs: SWEEP_MS / 2,
    onlyIfAbsent: true,
  });
  if (!isLeader) return;
  await finishDeletions(accounts);
  await accounts.sessions.removeExpired();
  await accounts.wallets.removeExpired();
  await accounts.applications.removeExpired();
  await accounts.signingKeys.removeExpired();
  await accounts.waitingMails.removeExpired();
  if ((await accounts.grants.removeExpired()) > 0) await accounts.uses.removeOrphans(accounts.grants.table);
}
