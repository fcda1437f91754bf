import { type AlertWrite, OUTCOME_BYTES, ROW_BYTES, rowBytes } from './writer.ts';

/** Memory of an item of a delivery, or of an alert that waits for the store, without its texts. */
const ITEM_BYTES = 1024;

/**
 * Estimates the memory of an event until it is processed. Includes its row and its alerts, so that an accepted event needs
 * no more memory later.
 */
export const estimateEventBytes = (messageBytes: number, items: number): number =>
  messageBytes + ROW_BYTES + items * (ITEM_BYTES + OUTCOME_BYTES);

/** Estimates the memory of a write by project. */
export function estimateWriteBytes({ events, changed }: AlertWrite): ReadonlyMap<number, number> {
  const byProject = new Map<number, number>();
  const add = (project: number, bytes: number) =>
    byProject.set(project, (byProject.get(project) ?? 0) + bytes);
  for (const event of events) add(event.head.project, rowBytes(event));
  for (const { project } of changed) add(project, ITEM_BYTES);
  return byProject;
}
