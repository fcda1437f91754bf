import { createWriteStream, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip, createZstdDecompress } from 'node:zlib';
import { Session } from 'chdb';
import { exceptionOf, isLineByLine, isReading, readingFrom } from './statement.ts';

/**
 * The HTTP interface of ClickHouse over chDB, for tests on machines without the server: the same statements, formats,
 * settings, parameters, compressions, headers and error messages. It is a separate process or container, so that tests
 * can stop, kill and restart it on the same data.
 */
const { FRONT_HOST = '127.0.0.1', FRONT_PORT = '0', FRONT_DATA = '', FRONT_CONFIG, FRONT_TIED } = process.env;
const { CLICKHOUSE_USER = 'default', CLICKHOUSE_PASSWORD = '' } = process.env;
const CONNECTIONS = 8;
const VERSION_HEADERS = { 'X-ClickHouse-Server-Display-Name': 'chdb', 'X-ClickHouse-Timezone': 'UTC' };

const bodies = join(FRONT_DATA, 'bodies');
mkdirSync(bodies, { recursive: true });
for (const left of readdirSync(bodies)) rmSync(join(bodies, left));
const open = () => {
  const session = new Session(join(FRONT_DATA, 'store'), {
    connectionArgs: [
      '--max_server_memory_usage=4000000000',
      '--timezone=UTC',
      ...(FRONT_CONFIG ? [`--config-file=${FRONT_CONFIG}`] : []),
    ],
  });
  // As the embedded store has it: the defaults cost much and help nothing here.
  session.query(
    "SET local_filesystem_read_method = 'pread', use_statistics = 0, min_count_to_compile_expression = 50, " +
      'min_count_to_compile_aggregate_expression = 50, min_count_to_compile_sort_description = 50',
  );
  return session;
};
const free = Array.from({ length: CONNECTIONS }, open);
/** Cancels queries, so that it must not wait for one. */
const killer = open();
const waiting: ((session: Session) => void)[] = [];
let serial = 0;

async function withSession<T>(isFresh: boolean, use: (session: Session) => Promise<T>): Promise<T> {
  if (isFresh) {
    const session = open();
    return use(session).finally(() => session.close());
  }
  let session = free.pop() ?? (await new Promise<Session>((take) => waiting.push(take)));
  try {
    return await use(session);
  } catch (error) {
    // What a cancelled query had made could stand before the result of the next one.
    session.close();
    session = open();
    throw error;
  } finally {
    const next = waiting.shift();
    if (next) next(session);
    else free.push(session);
  }
}

interface Asked {
  readonly statement: string;
  readonly file: string | undefined;
  readonly format: string;
  readonly settings: ReadonlyMap<string, string>;
  readonly params: ReadonlyMap<string, string>;
  readonly database: string | undefined;
  /** Whether the answer begins when the statement has ended. */
  readonly isWhole: boolean;
}

/** URL parameters that are neither settings nor parameters of the query. */
const NO_SETTINGS = new Set([
  'query', 'database', 'query_id', 'default_format', 'user', 'password', 'enable_http_compression', 'session_id',
  'session_timeout', 'role', 'wait_end_of_query', 'compress', 'decompress', 'send_progress_in_http_headers',
  'http_headers_progress_interval_ms',
]); // biome-ignore format: a list of names

async function read(request: IncomingMessage): Promise<Asked> {
  const url = new URL(request.url ?? '/', 'http://front');
  const fields = new Map(url.searchParams);
  const body = unpacked(request);
  let file: string | undefined;
  if (/^multipart\/form-data/.test(request.headers['content-type'] ?? '')) {
    const form = await new Response(Readable.toWeb(body) as never, {
      headers: { 'content-type': request.headers['content-type'] as string },
    }).formData();
    for (const [name, value] of form) fields.set(name, String(value));
  } else if (fields.has('query')) {
    file = join(bodies, `${++serial}`);
    await pipeline(body, createWriteStream(file));
  } else {
    const chunks: Buffer[] = [];
    for await (const chunk of body) chunks.push(chunk as Buffer);
    fields.set('query', Buffer.concat(chunks).toString('utf8'));
  }
  const given = [...fields];
  return {
    statement: fields.get('query') ?? '',
    file,
    format: fields.get('default_format') ?? String(request.headers['x-clickhouse-format'] ?? 'TabSeparated'),
    database: fields.get('database'),
    isWhole: fields.get('wait_end_of_query') === '1',
    settings: new Map(given.filter(([name]) => !NO_SETTINGS.has(name) && !name.startsWith('param_'))),
    params: new Map(given.filter(([name]) => name.startsWith('param_'))),
  };
}

function unpacked(request: IncomingMessage): Readable {
  const encoding = request.headers['content-encoding'];
  if (encoding === 'gzip') return request.pipe(createGunzip());
  if (encoding === 'zstd') return request.pipe(createZstdDecompress());
  return request;
}

const quoted = (value: string) => `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

/** chDB keeps settings for the whole connection, so each is set before its statement and reset after it. */
async function run(session: Session, asked: Asked, mark: string, answer: Answer): Promise<void> {
  const { settings, params, database } = asked;
  const before = [
    ...[...settings].map(([name, value]) => `SET ${name} = ${quoted(value)}`),
    ...[...params].map(([name, value]) => `SET ${name} = ${quoted(value)}`),
    ...(database ? [`USE ${database}`] : []),
  ];
  try {
    for (const each of before) await session.queryAsync(each);
    const statement =
      asked.file && statSync(asked.file).size > 0
        ? readingFrom(asked.file, asked.statement)
        : asked.statement;
    const text = `/* ${mark} */ ${statement}`;
    // A stream is planned in the one thread that answers all requests.
    if (!asked.isWhole && isLineByLine(statement, asked.format, settings)) {
      const stream = session.queryStream(text, { format: asked.format });
      answer.onGone(() => stream.cancel());
      for await (const chunk of stream) await answer.write(Buffer.from(chunk.raw()));
      await answer.end();
    } else {
      const result = await session.queryAsync(text, { format: asked.format });
      await answer.write(Buffer.from(result.bytes()));
      await answer.end({ read_rows: result.rowsRead, read_bytes: result.bytesRead });
    }
  } finally {
    for (const name of settings.keys())
      await session.queryAsync(`SET ${name} = DEFAULT`).catch(() => undefined);
    if (database) await session.queryAsync('USE default');
  }
}

/** A response whose head is sent with its first bytes, so that an early failure still sets the status. */
class Answer {
  readonly #response: ServerResponse;
  readonly #isPacked: boolean;
  readonly #format: string;
  #sink: NodeJS.WritableStream | undefined;

  constructor(response: ServerResponse, asked: Asked, isPacked: boolean) {
    this.#response = response;
    this.#isPacked = isPacked;
    this.#format = /\bFORMAT\s+(\w+)\s*;?\s*$/i.exec(asked.statement)?.[1] ?? asked.format;
  }

  get isBegun(): boolean {
    return this.#sink !== undefined;
  }

  onGone(cancel: () => void): void {
    this.#response.once('close', () => {
      if (!this.#response.writableFinished) cancel();
    });
  }

  async write(bytes: Buffer): Promise<void> {
    const sink = this.#begin({});
    if (!sink.write(bytes)) {
      await new Promise<void>((go) => {
        sink.once('drain', go);
        this.#response.once('close', go);
      });
    }
  }

  async end(summary: object = {}): Promise<void> {
    this.#begin(summary).end();
  }

  #begin(summary: object): NodeJS.WritableStream {
    if (this.#sink) return this.#sink;
    this.#response.writeHead(200, {
      ...VERSION_HEADERS,
      'Content-Type': /JSON/.test(this.#format)
        ? 'application/json; charset=UTF-8'
        : 'text/plain; charset=UTF-8',
      'X-ClickHouse-Format': this.#format,
      'X-ClickHouse-Summary': JSON.stringify({
        read_rows: '0',
        read_bytes: '0',
        written_rows: '0',
        ...summary,
      }),
      ...(this.#isPacked ? { 'Content-Encoding': 'gzip' } : {}),
    });
    if (!this.#isPacked) this.#sink = this.#response;
    else {
      const packer = createGzip({ level: 1 });
      packer.pipe(this.#response);
      this.#sink = packer;
    }
    return this.#sink;
  }
}

function fail(response: ServerResponse, error: unknown): void {
  const { status, code, text } = exceptionOf(error);
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, {
    ...VERSION_HEADERS,
    'Content-Type': 'text/plain; charset=UTF-8',
    'X-ClickHouse-Exception-Code': String(code),
  });
  response.end(`${text}\n`);
}

function isKnown(request: IncomingMessage): boolean {
  const [, basic] = /^Basic (.+)$/.exec(request.headers.authorization ?? '') ?? [];
  const user = request.headers['x-clickhouse-user'];
  const given = basic
    ? Buffer.from(basic, 'base64').toString()
    : `${user ?? 'default'}:${request.headers['x-clickhouse-key'] ?? ''}`;
  return given === `${CLICKHOUSE_USER}:${CLICKHOUSE_PASSWORD}`;
}

const REFUSED =
  'Code: 516. DB::Exception: Authentication failed: password is incorrect, or there is no user with such name. (AUTHENTICATION_FAILED)';

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://front');
  if (url.pathname === '/ping' || (url.pathname === '/' && request.method === 'GET' && !url.search)) {
    response.writeHead(200, VERSION_HEADERS).end('Ok.\n');
    return;
  }
  if (!isKnown(request)) {
    request.resume();
    return fail(response, new Error(REFUSED));
  }
  const mark = `front-${++serial}`;
  let file: string | undefined;
  let isGone = false;
  response.once('close', () => {
    isGone = !response.writableFinished;
    if (isGone)
      void killer
        .queryAsync(`KILL QUERY WHERE startsWith(query, '/* ${mark} */') ASYNC`)
        .catch(() => undefined);
  });
  try {
    const asked = await read(request);
    file = asked.file;
    if (request.method === 'GET' && !isReading(asked.statement)) {
      throw new Error('Code: 164. DB::Exception: Cannot execute query in readonly mode. (READONLY)');
    }
    response.setHeader('X-ClickHouse-Query-Id', url.searchParams.get('query_id') ?? mark);
    const wantsGzip =
      url.searchParams.get('enable_http_compression') === '1' &&
      /gzip/.test(request.headers['accept-encoding'] ?? '');
    // A parameter cannot be unset, so a connection with one is not used again.
    await withSession(asked.params.size > 0, async (session) => {
      if (!isGone) await run(session, asked, mark, new Answer(response, asked, wantsGzip));
    });
  } catch (error) {
    fail(response, error);
  } finally {
    if (file) rmSync(file, { force: true });
  }
}

const server = createServer((request, response) => void serve(request, response));
server.keepAliveTimeout = 10_000;
server.listen(Number(FRONT_PORT), FRONT_HOST, () => {
  const address = server.address();
  process.stdout.write(`ready ${typeof address === 'object' ? address?.port : ''}\n`);
});
// An ordinary exit would free memory that the threads of chDB still use.
for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.on(signal, () => process.kill(process.pid, 'SIGKILL'));
// Exits with its test; a container is stopped from outside.
if (FRONT_TIED) process.stdin.resume().on('end', () => process.kill(process.pid, 'SIGKILL'));
