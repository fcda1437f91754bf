import { z } from 'zod';
import { isoDay } from '../../infra/days.ts';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import { firstFault } from '../../infra/shape-error.ts';
import { timeOf } from '../decode/block-time.ts';
import type { SnapshotKind } from '../decode/snapshot.ts';
import { LINE_END } from './lines.ts';
import { isUnreachable, type Sidecar } from './sidecar.ts';
import { SIDECAR_KINDS, type SnapshotMoment } from './snapshot-kinds.ts';
import { type Subject, snapshotLine } from './snapshot-line.ts';

interface CollectorOptions extends Subject {
  /** Called once for each kind and reason if the source does not serve the kind. */
  readonly onUnavailable: (kind: SnapshotKind, reason: string) => void;
  readonly now?: () => number;
}

/** Takes snapshots of a chain's state from Sidecar, once a UTC day. */
export class SnapshotCollector {
  readonly #sidecar: Sidecar;
  readonly #options: CollectorOptions;
  readonly #reported = new Set<string>();
  #day = '';

  constructor(sidecar: Sidecar, options: CollectorOptions) {
    this.#sidecar = sidecar;
    this.#options = options;
  }

  /** Returns the snapshots at a finalized height as lines; none if that day has them already. */
  async collect(height: number): Promise<Buffer[]> {
    const { now = Date.now } = this.#options;
    if (isoDay(now()) === this.#day) return [];
    const time = await this.#timeOf(height);
    if (isoDay(time) === this.#day) return [];
    const lines: Buffer[] = [];
    for (const { kind, isOf, take } of SIDECAR_KINDS) {
      if (!isOf(this.#options)) continue;
      try {
        const payload = await take(momentOf(this.#sidecar, height), this.#options);
        lines.push(snapshotLine(this.#options.chain, kind, { height, time }, payload), LINE_END);
      } catch (error) {
        // An unreachable source may answer later, so the whole day is retried.
        if (!(error instanceof Error) || isUnreachable(error)) throw error;
        this.#report(kind, reasonOf(error));
      }
    }
    this.#day = isoDay(time);
    return lines;
  }

  #report(kind: SnapshotKind, reason: string): void {
    if (this.#reported.has(kind + reason.replace(/\d+/g, ''))) return;
    this.#reported.add(kind + reason.replace(/\d+/g, ''));
    this.#options.onUnavailable(kind, reason);
  }

  async #timeOf(height: number): Promise<number> {
    const time = timeOf(await this.#sidecar.block(height));
    if (time !== null) return time;
    throw new ProductError('source_failed', `block ${height} has no time, so no snapshots are taken of it`);
  }
}

/** Checks the height of each answer: a service without `at` answers for its head. */
function momentOf(sidecar: Sidecar, height: number): SnapshotMoment {
  const positioned = z.object({ at: z.object({ height: z.coerce.number() }) });
  return {
    read: async (path, schema) => {
      const document = await sidecar.read(
        `${path}${path.includes('?') ? '&' : '?'}at=${height}`,
        z.unknown(),
      );
      const at = positioned.safeParse(document);
      if (!at.success || at.data.at.height !== height)
        throw new Error(`${path} did not answer for block ${height}`);
      const read = schema.safeParse(document);
      if (read.success) return read.data;
      throw new Error(`${path} returned an unexpected document: ${firstFault(read.error)}`);
    },
  };
}
