import { z } from 'zod';
import { isoDay } from '../../../infra/days.ts';
import { ProductError, reasonOf } from '../../../infra/errors.ts';
import { firstFault } from '../../../infra/shape-error.ts';
import type { SnapshotKind } from '../../decode/snapshot.ts';
import type { SkippedSnapshot } from '../../raw/skipped-snapshots.ts';
import { LINE_END } from '../../sources/lines.ts';
import { type Subject, snapshotLine } from '../../sources/snapshot-line.ts';
import { isPruned } from '../map-pages.ts';
import { RequestFailure } from '../transport.ts';
import type { StateMoment } from './block-times.ts';
import { STATE_KINDS } from './kinds.ts';
import { BlockState } from './state.ts';
import type { StateNode } from './state-node.ts';

interface TakenSnapshots {
  readonly lines: readonly Buffer[];
  readonly skipped: readonly SkippedSnapshot[];
}

/** The kinds of snapshots that a chain has on a day. */
export const kindsOf = (subject: Subject, day: string): SnapshotKind[] =>
  STATE_KINDS.filter(({ isOf }) => isOf(subject, day)).map(({ kind }) => kind);

export const PRUNED = 'the node has pruned the state of that day: use an archive node';

/** Takes snapshots of some kinds after a block. Throws if the node does not answer, so that all are retried. */
export async function takeState(
  node: StateNode,
  moment: StateMoment,
  subject: Subject,
  kinds: readonly SnapshotKind[],
): Promise<TakenSnapshots> {
  const day = isoDay(moment.time);
  const lines: Buffer[] = [];
  const skipped: SkippedSnapshot[] = [];
  let state: BlockState | null = null;
  for (const { kind, take } of STATE_KINDS) {
    if (!kinds.includes(kind)) continue;
    try {
      state ??= new BlockState(node.rpc, moment.hash, await node.runtimeAt(moment.hash));
      lines.push(snapshotLine(subject.chain, kind, moment, await take(state, subject)), LINE_END);
    } catch (error) {
      skipped.push({ day, kind, reason: skipReason(error) });
    }
  }
  return { lines, skipped };
}

/** The reason for skipping a kind. Rethrows the error of an unanswered request, because all kinds are retried then. */
function skipReason(error: unknown): string {
  if (isPruned(error)) return PRUNED;
  if (error instanceof z.ZodError) return `its state has an unexpected format: ${firstFault(error)}`;
  const isAnswered = !(error instanceof RequestFailure) || error.kind === 'large';
  if (!isAnswered || (error instanceof ProductError && error.code !== 'source_failed')) throw error;
  return reasonOf(error);
}
