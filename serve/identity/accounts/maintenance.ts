import type { FastifyInstance } from 'fastify';
import type { Accounts } from './accounts.ts';

const FLUSH_MS = 10_000;
const SWEEP_MS = 3_600_000;

/** What happens by itself while a server runs: notes are written, what ended long ago is removed. */
export function startAccountMaintenance(app: FastifyInstance, accounts: Accounts): void {
  const every = (ms: number, what: string, work: () => Promise<unknown>) =>
    setInterval(() => work().catch((error) => app.log.warn({ err: error }, `${what} failed`)), ms).unref();
  const timers = [
    every(FLUSH_MS, 'writing when keys were used', () => accounts.uses.flush()),
    every(SWEEP_MS, 'removing what has expired', () => sweep(accounts)),
  ];
  app.addHook('onClose', async () => {
    for (const timer of timers) clearInterval(timer);
    await accounts.uses.flush();
  });
}

/** Removes rows that mean nothing any more. Of several servers one does it. */
export async function sweep(accounts: Accounts): Promise<void> {
  const isMine = await accounts.keyValue.set('sweep/accounts', 'taken', {
    ttlMs: SWEEP_MS / 2,
    onlyIfAbsent: true,
  });
  if (!isMine) return;
  await accounts.sessions.removeExpired();
  await accounts.wallets.removeExpired();
  await accounts.applications.removeExpired();
  if ((await accounts.grants.removeExpired()) > 0) await accounts.uses.removeLost(accounts.grants.table);
}
