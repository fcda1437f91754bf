import type { Service } from '../../infra/ports.ts';

/** The roles of a process. The embedded profile is one process with all of them. */
export const PROCESS_ROLES = ['ingest', 'load', 'work', 'serve'] as const;
export type ProcessRole = (typeof PROCESS_ROLES)[number];
export const ALL_ROLES: ReadonlySet<ProcessRole> = new Set(PROCESS_ROLES);

/** The services that a role needs. A process waits for them at its start, and is not ready without them. */
const NEEDS: Readonly<Record<ProcessRole, readonly Service[]>> = {
  ingest: ['log', 'keyValue'],
  load: ['store', 'log', 'keyValue'],
  work: ['store', 'keyValue'],
  serve: ['store'],
};

export const servicesOf = (roles: ReadonlySet<ProcessRole>): ReadonlySet<Service> =>
  new Set([...roles].flatMap((role) => NEEDS[role]));

export const ALL_SERVICES: ReadonlySet<Service> = new Set(Object.values(NEEDS).flat());
