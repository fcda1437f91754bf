import { asRecord, methodNames } from './names.ts';

/**
 * Every applied extrinsic has one outcome event. Some sources serve blocks without their events or extrinsics. Such a block
 * is refused, so that its height stays missing and can be loaded from another source.
 */
export const OUTCOME_PALLETS = ['system', 'System', 'SYSTEM'];
export const OUTCOME_EVENTS = ['ExtrinsicSuccess', 'extrinsicSuccess', 'ExtrinsicFailed', 'extrinsicFailed'];

export const EVENTS_MISSING =
  'events missing: the source had lost the events of this block; another source may have them';
export const EXTRINSICS_MISSING = 'extrinsics missing: only block 0 has none; another source may have them';

/** Returns the reason why a block is incomplete; null if it may be complete or is not a block. */
export function findIncompleteness(block: unknown): string | null {
  const { number, extrinsics } = asRecord(block) ?? {};
  if (!Array.isArray(extrinsics)) return null;
  if (extrinsics.length === 0) return String(number) === '0' ? null : EXTRINSICS_MISSING;
  const isText = (extrinsic: unknown) => typeof asRecord(extrinsic)?.success === 'string';
  const isWhole = extrinsics.some((extrinsic) => outcomesOf(extrinsic) > 0) && !extrinsics.some(isText);
  return isWhole ? null : EVENTS_MISSING;
}

/** Like `findIncompleteness`, for a line. Returns null for invalid JSON, which the load refuses. */
export function findLineIncompleteness(line: Buffer): string | null {
  try {
    return findIncompleteness(JSON.parse(line.toString('utf8')));
  } catch {
    return null;
  }
}

/** The number of outcome events of an extrinsic: one, unless the source is faulty. */
export function outcomesOf(extrinsic: unknown): number {
  const events = asRecord(extrinsic)?.events;
  if (!Array.isArray(events)) return 0;
  return events.filter((event) => {
    const [pallet = '', name = ''] = methodNames(asRecord(event)?.method) ?? [];
    return OUTCOME_PALLETS.includes(pallet) && OUTCOME_EVENTS.includes(name);
  }).length;
}
