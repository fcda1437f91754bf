/** The roles of a process. The embedded profile is one process with all of them. */
export const PROCESS_ROLES = ['ingest', 'load', 'work', 'serve'] as const;
export type ProcessRole = (typeof PROCESS_ROLES)[number];
export const ALL_ROLES: ReadonlySet<ProcessRole> = new Set(PROCESS_ROLES);
