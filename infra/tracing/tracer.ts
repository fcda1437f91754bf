/**
 * What is known of a span elsewhere: the text of the W3C header `traceparent`, with the ids of the trace and of the span
 * and whether the trace is recorded.
 */
export type Traceparent = string;

/** Few and short, and nothing that callers or chains write. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface SpanOptions {
  readonly kind?: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  /**
   * What the work follows from, in whatever process: it continues the trace of one cause, and is linked to several. The
   * active span when absent.
   */
  readonly causes?: readonly (Traceparent | undefined)[];
  /** What a caller outside says that it follows from, in place of causes. Only so many may have work recorded a second. */
  readonly caller?: string | undefined;
  readonly attributes?: SpanAttributes;
}

/** A piece of work of a trace. */
export interface Span {
  /** Undefined where nothing is traced. */
  readonly traceparent: Traceparent | undefined;
  /** Whether it is sent, so that it pays to tell more of it. */
  readonly isRecording: boolean;
  set(attributes: SpanAttributes): void;
  /** Links it to what else it follows from. */
  link(causes: readonly (Traceparent | undefined)[]): void;
  /** An error, or the name of its kind. Its text is not told: it may hold what somebody sent. */
  fail(error: unknown): void;
  end(): void;
}

/** The process whose work is traced. */
export interface TracedProcess {
  readonly version: string;
  readonly roles: readonly string[];
}

/** Follows work through this process and others, as OpenTelemetry does. All of it is free where it is off. */
export interface Tracer {
  readonly isOn: boolean;
  /** The span that this work is part of, until that ends. */
  readonly active: Span | undefined;
  /** Headers by which receivers outside continue its trace. */
  readonly headers: Readonly<Record<string, string>>;
  start(name: string, options?: SpanOptions): Span;
  /** Makes work, and all that it starts, part of a span, which may end later. */
  within<Result>(span: Span, work: () => Result): Result;
  /** Does work as a span that ends with it. */
  span<Result>(name: string, options: SpanOptions, work: (span: Span) => Promise<Result>): Promise<Result>;
  /** Does work that is part of no span, although a span started it. */
  apart<Result>(work: () => Result): Result;
  /** Delivers what is recorded, for a limited time. */
  close(): Promise<void>;
}

const NO_SPAN: Span = {
  traceparent: undefined,
  isRecording: false,
  set: () => undefined,
  link: () => undefined,
  fail: () => undefined,
  end: () => undefined,
};

/** Traces nothing. */
export const NO_TRACER: Tracer = {
  isOn: false,
  active: undefined,
  headers: {},
  start: () => NO_SPAN,
  within: (_span, work) => work(),
  span: (_name, _options, work) => work(NO_SPAN),
  apart: (work) => work(),
  close: async () => undefined,
};
