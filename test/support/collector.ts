import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { gunzipSync } from 'node:zlib';
import protobuf from 'protobufjs';
import { until } from '../infra/ports/opened.ts';

/** As much of what OTLP sends as the tests look at; the numbers of the fields are those of its specification. */
const OTLP = `syntax = "proto3";
  message Request { repeated ResourceSpans resource_spans = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
  message Resource { repeated KeyValue attributes = 1; }
  message ScopeSpans { repeated Span spans = 2; }
  message Span {
    bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
    fixed64 start = 7; fixed64 end = 8; repeated KeyValue attributes = 9; repeated Link links = 13; Status status = 15;
  }
  message Link { bytes trace_id = 1; bytes span_id = 2; }
  message Status { int32 code = 3; }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message AnyValue {
    oneof value {
      string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; ArrayValue array_value = 5;
    }
  }
  message ArrayValue { repeated AnyValue values = 1; }`;
const requestType = protobuf.parse(OTLP).root.lookupType('Request');

export interface CollectedSpan {
  readonly name: string;
  readonly trace: string;
  readonly id: string;
  /** '' of the first one of a trace. */
  readonly parent: string;
  /** As in the protocol: 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  readonly kind: number;
  readonly isFailed: boolean;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly trace: string; readonly id: string }[];
  /** What is said of the process. */
  readonly resource: Readonly<Record<string, unknown>>;
}

/** A collector of traces, which takes OTLP over HTTP as the specification says. */
export class Collector {
  readonly spans: CollectedSpan[] = [];
  /** Headers of the requests. */
  readonly headers: Record<string, unknown>[] = [];
  /** What requests are answered with. */
  status = 200;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, reply) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece) => pieces.push(piece));
      request.on('end', () => {
        this.headers.push({ ...request.headers, url: request.url });
        const body = Buffer.concat(pieces);
        if (this.status === 200)
          this.spans.push(
            ...spansIn(request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body),
          );
        reply.writeHead(this.status, { 'content-type': 'application/x-protobuf' }).end();
      });
    });
  }

  static async open(port = 0): Promise<Collector> {
    const collector = new Collector();
    collector.#server.listen(port, '127.0.0.1');
    await once(collector.#server, 'listening');
    return collector;
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Settings of a process that sends here at once. */
  get settings(): Record<string, string> {
    return { OTEL_EXPORTER_OTLP_ENDPOINT: this.url, OTEL_BSP_SCHEDULE_DELAY: '20' };
  }

  /** Waits for a span that answers to a description. */
  async find(what: string, is: (span: CollectedSpan) => boolean): Promise<CollectedSpan> {
    await until(what, () => this.spans.some(is));
    return this.spans.find(is) as CollectedSpan;
  }

  /** Waits until so many requests were answered. */
  asked(times: number): Promise<void> {
    return until(`${times} requests`, () => this.headers.length >= times);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

type Value = Readonly<Record<string, unknown>> & { readonly arrayValue?: { readonly values: Value[] } };
type Pair = { readonly key: string; readonly value: Value };

/** What the definition above makes of a request. */
interface Exported {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: Pair[] };
    readonly scopeSpans: readonly { readonly spans: readonly ExportedSpan[] }[];
  }[];
}
interface ExportedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly kind: number;
  readonly status?: { readonly code?: number };
  readonly attributes: Pair[];
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
}

function spansIn(body: Buffer): CollectedSpan[] {
  const options = { bytes: String, longs: Number, arrays: true, defaults: false };
  const { resourceSpans } = requestType.toObject(requestType.decode(body), options) as Exported;
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        name: span.name,
        trace: hex(span.traceId),
        id: hex(span.spanId),
        parent: hex(span.parentSpanId),
        kind: span.kind,
        isFailed: span.status?.code === 2,
        attributes: valuesOf(span.attributes),
        links: span.links.map((link) => ({ trace: hex(link.traceId), id: hex(link.spanId) })),
        resource: valuesOf(resource.attributes),
      })),
    ),
  );
}

const hex = (base64 = '') => Buffer.from(base64, 'base64').toString('hex');

const valuesOf = (pairs: readonly Pair[]): Record<string, unknown> =>
  Object.fromEntries(pairs.map(({ key, value }) => [key, plainOf(value)]));

function plainOf({ arrayValue, ...value }: Value): unknown {
  return arrayValue ? arrayValue.values.map(plainOf) : Object.values(value)[0];
}
