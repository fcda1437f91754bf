import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { Logger } from '../logger.ts';

/** An exporter whose failures are told once, until it succeeds again. What it could not deliver is lost. */
export class ToldExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #address: string;
  readonly #logger: Logger;
  #isFailing = false;

  constructor(exporter: SpanExporter, address: string, logger: Logger) {
    this.#exporter = exporter;
    this.#address = address;
    this.#logger = logger;
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.#exporter.export(spans, ({ code, error }) => {
      this.#tell(code === ExportResultCode.SUCCESS ? null : wordsOf(error));
      done({ code: ExportResultCode.SUCCESS });
    });
  }

  forceFlush(): Promise<void> {
    return this.#exporter.forceFlush?.() ?? Promise.resolve();
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }

  #tell(reason: string | null): void {
    const isFailing = reason !== null;
    if (isFailing === this.#isFailing) return;
    this.#isFailing = isFailing;
    const collector = this.#address;
    if (isFailing) this.#logger.warn({ collector, reason }, 'traces are lost until the collector takes them');
    else this.#logger.info({ collector }, 'the collector takes traces again');
  }
}

/** Node names a connection that is refused by its code alone. */
const wordsOf = (error: (Error & { readonly code?: unknown }) | undefined): string =>
  error?.message || String(error?.code ?? 'it refuses them');
