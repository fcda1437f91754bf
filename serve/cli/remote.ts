import { type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import type { ReplayOrder, ReplayResult } from '../../aggregate/alerts/processor/replay.ts';
import type { ComputeProgress } from '../../aggregate/runner/aggregator.ts';
import type { ChainCoverage, SystemStatus } from '../../aggregate/status/status.ts';
import { ProductError } from '../../infra/errors.ts';
import type { DeadLetterRequest, DeadLetterResult } from '../../ingest/log/dead-letter-requests.ts';
import type { IngestSummary } from '../../ingest/log/publish.ts';
import type { Heights } from '../../ingest/sources/heights.ts';
import { type ControlError, findSocket, type Line } from '../control.ts';
import type { UsersAnswer, UsersOrder } from '../identity/accounts/operator.ts';
import type {
  ExportRequest,
  IngestReport,
  MissingRequest,
  Operator,
  RebuildRequest,
  Rebuilt,
  Source,
} from './operator.ts';

/** Hands the work to the server that owns the data directory. */
export class RemoteOperator implements Operator {
  readonly place: string;
  readonly #socket: string;

  private constructor(directory: string, socket: string) {
    this.place = `${directory} (through the server that runs on it)`;
    this.#socket = socket;
  }

  /** Null when no server answers for the directory. */
  static async connect(directory: string): Promise<RemoteOperator | null> {
    const socket = await findSocket(directory);
    return socket === null ? null : new RemoteOperator(directory, socket);
  }

  async hold<T>(work: () => Promise<T>): Promise<T> {
    const line = new AbortController();
    const held = Promise.withResolvers<void>();
    const order = this.#order<object, object>('/hold', Readable.from([]), () => held.resolve(), line.signal);
    order.catch((error) => held.reject(error));
    await held.promise;
    try {
      return await work();
    } finally {
      // Hanging up is what lets go.
      line.abort();
      await order.catch(() => undefined);
    }
  }

  ingest(source: Source, onProgress: (soFar: IngestSummary) => void): Promise<IngestReport> {
    const query = new URLSearchParams({
      name: source.name,
      ...(source.chain === undefined ? {} : { chain: source.chain }),
    });
    return this.#order<IngestSummary, IngestReport>(`/ingest?${query}`, source.bytes, onProgress);
  }

  async waitUntilComputed(onProgress: (progress: ComputeProgress) => void): Promise<void> {
    await this.#order('/settle', Readable.from([]), onProgress);
  }

  status(): Promise<SystemStatus> {
    return this.#get<SystemStatus>('/status');
  }

  coverage(of: { relay_chain?: string; chain?: string }): Promise<readonly ChainCoverage[]> {
    return this.#get<ChainCoverage[]>(`/coverage?${new URLSearchParams(of)}`);
  }

  missing({ chain, from, to }: MissingRequest): Promise<readonly Heights[]> {
    return this.#get<Heights[]>(
      `/missing?${new URLSearchParams({ chain, from: String(from), to: String(to) })}`,
    );
  }

  rebuild(order: RebuildRequest, onProgress: (progress: ComputeProgress) => void): Promise<Rebuilt> {
    const body = Readable.from([Buffer.from(JSON.stringify(order))]);
    return this.#order<ComputeProgress, Rebuilt>('/rebuild', body, onProgress, undefined, 'application/json');
  }

  async export(request: ExportRequest): Promise<Readable> {
    const answer = await this.#send(
      'GET',
      `/export?${new URLSearchParams({ ...request })}`,
      Readable.from([]),
    );
    if (answer.statusCode !== 200) throw failure(JSON.parse(await text(answer)) as ControlError);
    return answer;
  }

  users(order: UsersOrder): Promise<UsersAnswer> {
    return this.#post<UsersAnswer>('/users', order);
  }

  replayAlerts(order: ReplayOrder): Promise<readonly ReplayResult[]> {
    return this.#post<ReplayResult[]>('/alerts/replay', order);
  }

  deadLetters(order: DeadLetterRequest): Promise<DeadLetterResult> {
    return this.#post<DeadLetterResult>('/dead-letters', order);
  }

  async close(): Promise<void> {}

  async #post<Result>(path: string, order: object): Promise<Result> {
    const body = Readable.from([Buffer.from(JSON.stringify(order))]);
    const answer = await this.#send('POST', path, body, 'application/json');
    const said: unknown = JSON.parse(await text(answer));
    if (answer.statusCode !== 200) throw failure(said as ControlError);
    return said as Result;
  }

  async #get<Result>(path: string): Promise<Result> {
    const answer = await this.#send('GET', path, Readable.from([]));
    const said: unknown = JSON.parse(await text(answer));
    if (answer.statusCode !== 200) throw failure(said as ControlError);
    return said as Result;
  }

  /** Sends an order and its bytes, tells of progress while they go, and returns the result. */
  async #order<Step, Result>(
    path: string,
    body: Readable,
    onProgress: (step: Step) => void,
    signal?: AbortSignal,
    type = 'application/octet-stream',
  ): Promise<Result> {
    // A source that cannot be read to its end is the fault to tell, not the order that broke off with it.
    let fault: unknown;
    body.once('error', (error) => {
      fault = error;
    });
    const answer = await this.#send('POST', path, body, type, signal);
    let rest = '';
    try {
      for await (const piece of answer.setEncoding('utf8')) {
        const lines = (rest + piece).split('\n');
        rest = lines.pop() ?? '';
        for (const said of lines) {
          const line = JSON.parse(said) as Line<Step, Result>;
          if ('progress' in line) onProgress(line.progress);
          else if ('result' in line) return line.result;
          else throw failure(line.error);
        }
      }
    } catch (error) {
      throw fault ?? (error instanceof ProductError ? error : gone());
    } finally {
      body.destroy();
      answer.destroy();
    }
    throw gone();
  }

  #send(
    method: string,
    path: string,
    body: Readable,
    type?: string,
    signal?: AbortSignal,
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const order = request(
        {
          socketPath: this.#socket,
          method,
          path,
          ...(type === undefined ? {} : { headers: { 'content-type': type } }),
          ...(signal === undefined ? {} : { signal }),
        },
        resolve,
      );
      body.once('error', reject);
      order.on('error', () => reject(gone()));
      // When the server ends the order early, its answer says why.
      pipeline(body, order).catch(() => undefined);
    });
  }
}

const failure = ({ code = 'store_failed', message, detail }: ControlError) =>
  new ProductError(code, message, detail);

const gone = () =>
  new ProductError(
    'store_failed',
    'the server stopped before it had answered; give the same command again, nothing is loaded twice',
  );
