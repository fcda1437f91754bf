import { setTimeout as pause } from 'node:timers/promises';
import { chunkBySize } from '../../infra/chunk.ts';
import type { Message, Runtime } from '../../infra/ports.ts';
import { chunkForIn, sql } from '../../infra/sql.ts';
import { publishTraced } from '../../infra/tracing/messages.ts';
import { chainOfFile } from '../chains/chain-of-file.ts';
import type { Registry } from '../chains/registry.ts';
import { readLine } from '../log/envelope.ts';
import type { Stream } from '../log/topics.ts';
import { TOPICS } from '../log/topics.ts';
import { deadLetters } from '../raw/tables.ts';
import { type DeadLetter, ROW_BYTES, writeDeadLetters } from './dead-letters.ts';

/** A dead letter as it is stored, without its bytes. */
export interface RetriedLetter {
  readonly id: string;
  readonly topic: string;
  readonly origin: string;
  readonly line: number;
  readonly size: number;
  readonly attempts: number;
  readonly version: string;
  readonly log_offset: string;
}

export interface RetryOutcome {
  readonly id: string;
  /** Why the letter is refused again; null if it was accepted. */
  readonly refused: string | null;
}

/** The result of redelivering a letter of a topic without chain data. */
export interface RedeliveryResult {
  /** Why the letter, or a part of it, is refused again; null if all of it was accepted. */
  readonly refused: string | null;
  /** A dead letter with only the refused part, if the other part was accepted. */
  readonly rest?: DeadLetter;
}

export interface RetryDependencies {
  readonly runtime: Runtime;
  readonly registry: Registry;
  readonly deadLetterBytes: number;
  /** Resolves when everything that was published before is in the raw tables. */
  readonly waitUntilLoaded: (signal?: AbortSignal) => Promise<void>;
  /** Retries letters of topics without chain data, by topic. */
  readonly redeliver: Readonly<Record<string, (letter: RetriedLetter) => Promise<RedeliveryResult>>>;
}

const PART_BYTES = 16 * 2 ** 20;
/** Longest time that a retry waits until its messages are loaded. */
const LOADED_MS_MAX = 120_000;

/**
 * Publishes dead letters again to the topic of their stream, and waits until they are loaded or refused. A line that is
 * refused again stays a dead letter with one more attempt. A truncated line stays too: its source must be ingested again.
 */
export async function retryDeadLetters(
  dependencies: RetryDependencies,
  letters: readonly RetriedLetter[],
  chainName: string | undefined,
): Promise<RetryOutcome[]> {
  const outcomes: RetryOutcome[] = [];
  const { redeliver, deadLetterBytes } = dependencies;
  const lines: RetriedLetter[] = [];
  for (const letter of letters) {
    const deliver = redeliver[letter.topic];
    if (deliver === undefined) lines.push(letter);
    else outcomes.push(await redelivered(dependencies, letter, deliver));
  }
  // The log keeps whole lines; the store may have truncated them.
  const bytesOf = ({ size, log_offset }: RetriedLetter) =>
    ROW_BYTES + (log_offset === '' ? Math.min(size, deadLetterBytes) : size);
  for (const part of chunkBySize(lines, PART_BYTES, bytesOf)) {
    for (const outcome of await retryLines(dependencies, part, chainName)) outcomes.push(outcome);
  }
  return outcomes;
}

async function redelivered(
  { runtime, deadLetterBytes }: RetryDependencies,
  letter: RetriedLetter,
  deliver: (letter: RetriedLetter) => Promise<RedeliveryResult>,
): Promise<RetryOutcome> {
  const { refused, rest } = await deliver(letter);
  // Before the letter is dropped: after a kill in between, the letter still exists and is retried again.
  if (rest) await writeDeadLetters(runtime.store, [rest], runtime.clock.now(), deadLetterBytes);
  if (refused === null || rest) await dropDeadLetters(runtime, [letter]);
  else await countAttempt(runtime, letter, refused);
  return { id: letter.id, refused };
}

/** Stores the letter again with the new reason, without reading its bytes. */
async function countAttempt({ store, clock }: Runtime, { id }: RetriedLetter, reason: string): Promise<void> {
  const now = clock.now();
  await store.run(
    sql`INSERT INTO ${deadLetters} SELECT * REPLACE (${reason} AS reason, attempts + 1 AS attempts,
      greatest(${now}, version + 1) AS version,
      fromUnixTimestamp64Milli(toInt64(${now})) AS received_at) FROM ${deadLetters} FINAL WHERE id = ${id}`,
  );
}

async function retryLines(
  dependencies: RetryDependencies,
  letters: readonly RetriedLetter[],
  chainName: string | undefined,
): Promise<RetryOutcome[]> {
  const { runtime, registry, deadLetterBytes } = dependencies;
  const whole = await wholeBytes(runtime, letters);
  const outcomes: RetryOutcome[] = [];
  const published: RetriedLetter[] = [];
  const messages: Record<Stream, Message[]> = { blocks: [], snapshots: [] };
  for (const [at, letter] of letters.entries()) {
    const bytes = whole[at];
    const { id, topic, line } = letter;
    const origin = { source: 'retry', origin: letter.origin, line };
    // The letter of a truncated archive has no bytes to retry.
    if (!bytes?.length) {
      const kept = letter.size === 0 ? 'none of its bytes are stored' : 'only its first bytes are stored';
      outcomes.push({ id, refused: `${kept}; ingest ${letter.origin} again` });
      continue;
    }
    const chain = chainName === undefined ? chainOfFile(registry, letter.origin) : registry.find(chainName);
    const read = readLine(bytes, chain, registry, origin);
    if ('refused' in read) {
      const again = { ...origin, topic, reason: read.refused, bytes };
      await writeDeadLetters(runtime.store, [again], runtime.clock.now(), deadLetterBytes, runtime.log);
      outcomes.push({ id, refused: read.refused });
    } else {
      messages[read.topic].push(read);
      published.push(letter);
    }
  }
  for (const [stream, some] of Object.entries(messages) as [Stream, Message[]][]) {
    if (some.length > 0) await publishTraced(runtime, TOPICS[stream], some);
  }
  await dropDeadLetters(runtime, published);
  return [...outcomes, ...(await loadedOutcomes(dependencies, published))];
}

/** The outcomes of published letters: refused ones are dead letters again. */
async function loadedOutcomes(
  { runtime: { store }, waitUntilLoaded }: RetryDependencies,
  published: readonly RetriedLetter[],
): Promise<RetryOutcome[]> {
  if (published.length === 0) return [];
  const ended = new AbortController();
  const isLoaded = await Promise.race([
    waitUntilLoaded(ended.signal).then(() => true),
    pause(LOADED_MS_MAX, false, { signal: ended.signal }),
  ]);
  ended.abort();
  const refused = new Map<string, { reason: string; version: bigint }>();
  for (const origins of chunkForIn(new Set(published.map(({ origin }) => origin)))) {
    const rows = await store.rows<{ origin: string; line: number; reason: string; version: string }>(
      sql`SELECT origin, line, reason, toString(version) AS version FROM ${deadLetters} FINAL WHERE origin IN ${origins}`,
    );
    for (const row of rows) {
      refused.set(`${row.origin}:${row.line}`, { reason: row.reason, version: BigInt(row.version) });
    }
  }
  return published.map(({ id, origin, line, version }) => {
    const found = refused.get(`${origin}:${line}`);
    if (found && found.version > BigInt(version) + 1n) return { id, refused: found.reason };
    return {
      id,
      refused: isLoaded ? null : `published to the log, but not loaded within ${LOADED_MS_MAX / 1000} s`,
    };
  });
}

/** The whole lines: from the log if it has them, else from the store if they are not truncated. */
async function wholeBytes(
  { log, store }: Runtime,
  letters: readonly RetriedLetter[],
): Promise<(Buffer | null)[]> {
  const found = new Map<string, Buffer | null>();
  for (const ids of chunkForIn(letters.map(({ id }) => id))) {
    const rows = await store.rows<{ id: string; bytes: string; size: number }>(
      sql`SELECT id, bytes, size FROM ${deadLetters} FINAL WHERE id IN ${ids}`,
    );
    for (const { id, bytes, size } of rows) {
      const stored = Buffer.from(bytes);
      found.set(id, stored.length === size ? stored : null);
    }
  }
  for (const topic of new Set(letters.map((letter) => letter.topic))) {
    const logged = letters.filter((letter) => letter.topic === topic && letter.log_offset !== '');
    if (logged.length === 0) continue;
    const offsets = logged.map(({ log_offset }) => log_offset);
    const bytes = await log.readDeadLetters(topic, offsets);
    logged.forEach(({ id }, i) => {
      if (bytes[i]) found.set(id, bytes[i]);
    });
  }
  return letters.map(({ id }) => found.get(id) ?? null);
}

/** Writes tombstones. Any later dead letter of the same line has a greater version. */
export async function dropDeadLetters({ store }: Runtime, letters: readonly RetriedLetter[]): Promise<void> {
  await store.insert(
    deadLetters,
    letters.map(({ id, topic, origin, line, attempts, version }) => ({
      id,
      topic,
      origin,
      line,
      attempts,
      version: String(BigInt(version) + 1n),
      is_deleted: 1,
    })),
  );
}
