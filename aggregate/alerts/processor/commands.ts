import { reasonOf } from '../../../infra/errors.ts';
import type { LogRecord } from '../../../infra/ports.ts';
import type { CommandHead } from '../model/event.ts';
import { deleteOldEvents } from './deletion.ts';
import type { DecodedEvent } from './project-state-cache.ts';
import { type ReplayDependencies, replayProject } from './replay.ts';
import type { EventResult } from './result-channel.ts';

export interface DecodedCommand {
  readonly order: CommandHead;
  readonly record: LogRecord;
}

/** Runs a command. Running it again has no further effect. Returns an error as `fault`. */
export async function runCommand(
  dependencies: ReplayDependencies,
  order: CommandHead,
): Promise<Pick<EventResult, 'replayed' | 'deleted' | 'fault'>> {
  try {
    if (order.kind === 'replay') return { replayed: await replayProject(dependencies, order) };
    return { deleted: await deleteOldEvents(dependencies.store, order) };
  } catch (error) {
    return { fault: reasonOf(error) };
  }
}

/** Splits a batch into commands and the runs of events between them. */
export function* splitAtCommands(
  batch: readonly (DecodedEvent | DecodedCommand)[],
): Generator<readonly DecodedEvent[] | DecodedCommand> {
  let events: DecodedEvent[] = [];
  for (const decoded of batch) {
    if (!('order' in decoded)) {
      events.push(decoded);
      continue;
    }
    if (events.length > 0) yield events;
    events = [];
    yield decoded;
  }
  if (events.length > 0) yield events;
}
