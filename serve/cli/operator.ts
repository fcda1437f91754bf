import type { Readable } from 'node:stream';
import type { ReplayOrder, ReplayResult } from '../../aggregate/alerts/processor/replay.ts';
import type { ComputeProgress } from '../../aggregate/runner/aggregator.ts';
import type { ChainCoverage, SystemStatus } from '../../aggregate/status/status.ts';
import type { DeadLetterRequest, DeadLetterResult } from '../../ingest/log/dead-letter-requests.ts';
import type { IngestSummary } from '../../ingest/log/publish.ts';
import type { Heights } from '../../ingest/sources/heights.ts';
import type { UsersAnswer, UsersOrder } from '../identity/accounts/operator.ts';

export interface Source {
  /** Path of the file, as the operator knows it. */
  readonly name: string;
  readonly bytes: Readable;
  /** Chain of bare blocks, over the file's name. */
  readonly chain?: string;
}

/** What became of one source. Blocks and snapshots are those that were kept. */
export interface IngestReport extends IngestSummary {
  readonly refused_facts: number;
  /** Why lines were refused, the most frequent reasons first. */
  readonly reasons: readonly { readonly reason: string; readonly lines: number }[];
}

export interface RebuildRequest {
  /** Metrics by any of their names; all of them when empty. */
  readonly metrics: readonly string[];
  readonly from: string;
  /** The first day that is left alone. */
  readonly until: string;
}

export interface Rebuilt {
  readonly metrics: readonly string[];
  readonly windows: number;
}

export interface MissingRequest extends Heights {
  readonly chain: string;
}

export interface ExportRequest {
  /** A metric by any of its names. */
  readonly metric: string;
  readonly format: string;
  readonly relay_chain?: string;
  readonly chain?: string;
  readonly from?: string;
  /** The first day that is left out. */
  readonly until?: string;
}

/**
 * What an operator can do, whoever owns the data directory: this process, or a server that is asked over its
 * socket.
 */
export interface Operator {
  /** Where the work is done, in words. */
  readonly place: string;
  /** While the work runs nothing is computed: days that many files touch are computed once, by `waitUntilComputed`. */
  hold<T>(work: () => Promise<T>): Promise<T>;
  ingest(source: Source, onProgress: (soFar: IngestSummary) => void): Promise<IngestReport>;
  waitUntilComputed(onProgress: (progress: ComputeProgress) => void): Promise<void>;
  status(): Promise<SystemStatus>;
  coverage(of: { relay_chain?: string; chain?: string }): Promise<readonly ChainCoverage[]>;
  /** Heights of a range that are not stored, holes between stored ones first; as many ranges as one answer holds. */
  missing(request: MissingRequest): Promise<readonly Heights[]>;
  rebuild(request: RebuildRequest, onProgress: (progress: ComputeProgress) => void): Promise<Rebuilt>;
  /** All rows of a metric, in the form that was asked for. */
  export(request: ExportRequest): Promise<Readable>;
  users(order: UsersOrder): Promise<UsersAnswer>;
  deadLetters(order: DeadLetterRequest): Promise<DeadLetterResult>;
  /** Decides on the alerts of projects anew, or tells what would change. */
  replayAlerts(order: ReplayOrder): Promise<readonly ReplayResult[]>;
  close(): Promise<void>;
}
