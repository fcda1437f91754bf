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

  /** Null when no server answers for the directory. */
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
    // A source that cannot be read to its end is the fault to report, not the call that broke off with it; a call that
    // breaks off ends the body with its own error.
    let [fault, broken]: unknown[] = [];
    body.once('error', (error) => {
      if (error !== broken) fault = error;
    });
    const onBroken = (error: unknown) => {
      broken = error;
    };
    const answer = await this.#send({ name, input, onBroken }, body, signal);
    if (answer.statusCode !== 200) throw fromWire(JSON.parse(await text(answer)) as WireError);
    if (answer.headers['content-type'] === 'application/octet-stream') return answer as never;
    try {
      for await (const line of linesOf(answer)) {
        if ('progress' in line) onProgress(line.progress as never);
        else if ('result' in line) return line.result as ResultOf<Name>;
        else throw fromWire(line.error);
      }
    } catch (error) {
      throw fault ?? (error instanceof ProductError ? error : gone());
    } finally {
      body.destroy();
      answer.destroy();
    }
    throw gone();
  }

  async close(): Promise<void> {}

  #send(
    {
      name,
      input,
      onBroken,
    }: { readonly name: string; readonly input: object; readonly onBroken: (error: unknown) => void },
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
        onBroken(error);
        reject(gone());
      });
      body.once('error', reject);
      // When the server ends the call early, its answer says why.
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

const gone = () =>
  new ProductError(
    'store_failed',
    'the server stopped before it had answered; repeat the same command, nothing is loaded twice',
  );
