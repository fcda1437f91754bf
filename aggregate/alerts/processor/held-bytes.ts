import { type AlertWrite, OUTCOME_BYTES, ROW_BYTES, rowBytes } from './writer.ts';

/** What an item of a delivery, or an alert that waits for the store, takes in memory beside its texts. */
const ITEM_BYTES = 1024;

/**
 * What an event takes in memory until it is decided on, and what its row and its alerts take after that: what was
 * accepted must not need more room later.
 */
export const heldBytes = (messageBytes: number, items: number): number =>
  messageBytes + ROW_BYTES + items * (ITEM_BYTES + OUTCOME_BYTES);

/** What a write holds in memory until it is durable. */
export function bytesByProject({ events, changed }: AlertWrite): ReadonlyMap<number, number> {
  const held = new Map<number, number>();
  const add = (project: number, bytes: number) => held.set(project, (held.get(project) ?? 0) + bytes);
  for (const event of events) add(event.head.project, rowBytes(event));
  for (const { project } of changed) add(project, ITEM_BYTES);
  return held;
}
