import { type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { ProductError } from '../../../infra/errors.ts';
import { ignore } from '../../../infra/ignore.ts';
import type { OperationClient } from './client.ts';
import { packFiles } from './files-body.ts';
import type { CallContext } from './operation.ts';
import type { InputOf, OperationName, ProgressOf, ResultOf } from './operations.ts';
import { findSocket } from './socket-path.ts';
import { fromWire, INPUT_HEADER, type WireError, type WireLine } from './wire.ts';

/** Calls operations of the server that has opened the data directory. */
export class SocketClient implements OperationClient {
  readonly location: string;
  readonly #socket: string;

  private constructor(directory: string, socket: string) {
    this.location = `${directory} (through the server that runs on it)`;
    this.#socket = socket;
  }

  /** Null if no server answers for the directory. */
  static async connect(directory: string): Promise<SocketClient | null> {
    const socket = await findSocket(directory);
    return socket === null ? null : new SocketClient(directory, socket);
  }

  async call<Name extends OperationName>(
    name: Name,
    input: InputOf<Name>,
    context: Partial<CallContext<ProgressOf<Name>>> = {},
  ): Promise<ResultOf<Name>> {
    const { files, onProgress = () => undefined, signal } = context;
    const { body = Readable.from(files ? packFiles(files) : [], { objectMode: false }) } = context;
    // An error of the source aborts the call too: report only the error of the source. A failed call destroys the body with the
    // error of the call, which is no error of the source.
    let [sourceError, callError]: unknown[] = [];
    body.once('error', (error) => {
      if (error !== callError) sourceError = error;
    });
    const onCallError = (error: unknown) => {
      callError = error;
    };
    const answer = await this.#send({ name, input, onCallError }, body, signal);
    if (answer.statusCode !== 200) throw fromWire(JSON.parse(await text(answer)) as WireError);
    if (answer.headers['content-type'] === 'application/octet-stream') return answer as never;
    try {
      for await (const line of linesOf(answer)) {
        if ('progress' in line) onProgress(line.progress as never);
        else if ('result' in line) return line.result as ResultOf<Name>;
        else throw fromWire(line.error);
      }
    } catch (error) {
      throw sourceError ?? (error instanceof ProductError ? error : serverStopped());
    } finally {
      body.destroy();
      answer.destroy();
    }
    throw serverStopped();
  }

  async close(): Promise<void> {}

  #send(
    {
      name,
      input,
      onCallError,
    }: { readonly name: string; readonly input: object; readonly onCallError: (error: unknown) => void },
    body: Readable,
    signal?: AbortSignal,
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const call = request(
        {
          socketPath: this.#socket,
          method: 'POST',
          path: `/operations/${name}`,
          headers: {
            'content-type': 'application/octet-stream',
            [INPUT_HEADER]: encodeURIComponent(JSON.stringify(input)),
          },
          ...(signal === undefined ? {} : { signal }),
        },
        resolve,
      );
      call.on('error', (error) => {
        onCallError(error);
        reject(serverStopped());
      });
      body.once('error', reject);
      // If the server ends the call early, its answer contains the reason.
      pipeline(body, call).catch(ignore('operations.body'));
    });
  }
}

async function* linesOf(answer: IncomingMessage): AsyncGenerator<WireLine> {
  let rest = '';
  for await (const piece of answer.setEncoding('utf8')) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield JSON.parse(line) as WireLine;
  }
}

const serverStopped = () =>
  new ProductError(
    'store_failed',
    'the server stopped before it answered; run the same command again: nothing is loaded twice',
  );
