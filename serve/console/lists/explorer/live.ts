import { PassThrough } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { decodeAddress } from '../../../../ingest/chains/address.ts';
import { DOMAINS } from '../../../../ingest/decode/domain.ts';
import { HttpError } from '../../../http/errors.ts';
import { callerKey } from '../../../http/readers.ts';
import { readFilters } from '../filter-input.ts';
import type { ListPages } from '../frame.ts';
import type { ListRow } from '../list-page.ts';
import { listRow } from '../table-parts.ts';
import { chainOf, extrinsics } from './explorer.ts';
import { ExtrinsicFeeds, type Place, placeOf } from './extrinsic-feeds.ts';

/** Most rows per poll. A page that missed more must be reloaded. */
const ROWS_MAX = 100;
/** Proxies close connections that are idle for a minute. */
const HEARTBEAT_MS = 15_000;
/** Maximum duration of a stream; then the browser reconnects, perhaps to another server. */
const LIFE_MS = 15 * 60_000;
/** Most buffered bytes for a client that does not read. */
const WAITING_BYTES_MAX = 512 * 1024;

/** Serves new extrinsics as server-sent events: rows of the table of the page, in HTML. */
export function serveLive(
  pages: FastifyInstance,
  sources: ListPages & { readonly listenersMax: number },
): void {
  const { readers, listReader, registry, listenersMax } = sources;
  const feeds = new ExtrinsicFeeds({
    listenersMax,
    read: async (chain, signal) => {
      const wanted = { values: { chain }, limit: ROWS_MAX };
      return (await listReader.read(extrinsics.source, wanted, readers.forAll(signal))).rows;
    },
  });
  const streams = new Set<PassThrough>();
  pages.addHook('preClose', async () => {
    for (const stream of streams) stream.end();
  });
  pages.get('/explorer/live', async (request, reply) => {
    // A client that has disconnected already emits no `close`.
    if (reply.raw.closed) throw new HttpError('unavailable', 'The caller hung up.');
    const given = readFilters(extrinsics.source, extrinsics.filters ?? [], request.query, registry);
    const isWanted = filterOf(given.typed);
    const stream = new PassThrough();
    const leave = feeds.listen({
      caller: callerKey(request),
      chain: chainOf(given, registry),
      after: lastOf(request),
      send: (rows) => {
        for (const row of rows)
          if (isWanted(row)) stream.write(eventOf(row, listRow({ ...extrinsics, registry }, row).text));
        if (stream.readableLength > WAITING_BYTES_MAX) stream.destroy();
      },
    });
    streams.add(stream);
    const beat = setInterval(() => stream.write(': \n\n'), HEARTBEAT_MS).unref();
    const life = setTimeout(() => stream.end(), LIFE_MS).unref();
    reply.raw.once('close', () => {
      leave();
      streams.delete(stream);
      clearInterval(beat);
      clearTimeout(life);
      stream.destroy();
    });
    stream.write('retry: 5000\n\n');
    return (
      reply
        .type('text/event-stream; charset=utf-8')
        .header('cache-control', 'no-store')
        // Without this, nginx buffers the events.
        .header('x-accel-buffering', 'no')
        .send(stream)
    );
  });
}

/** Filters new rows by the filters of the page. */
function filterOf({ address, exclude_domains }: Readonly<Record<string, string>>): (row: ListRow) => boolean {
  const key = address === undefined ? null : (decodeAddress(address)?.key ?? '');
  const hidden = new Set<unknown>(
    (exclude_domains ?? '').split(',').filter((one) => DOMAINS.some((domain) => domain === one)),
  );
  return ({ domain, signer }) =>
    !hidden.has(domain) &&
    (key === null || (typeof signer === 'string' && decodeAddress(signer)?.key === key));
}

function eventOf(row: ListRow, text: string): string {
  const lines = text.trimEnd().split(/\r\n|\r|\n/);
  return `event: extrinsic\nid: ${placeOf(row).join('-')}\n${lines.map((line) => `data: ${line}\n`).join('')}\n`;
}

/** The newest extrinsic of the page, from `Last-Event-ID` on a reconnect, or from `after`. */
function lastOf({ headers, query }: FastifyRequest): Place | null {
  const given = headers['last-event-id'] ?? (query as { readonly after?: unknown }).after;
  const [, block, index] = /^(\d{1,15})-(\d{1,15})$/.exec(String(given)) ?? [];
  return block === undefined ? null : [Number(block), Number(index)];
}
