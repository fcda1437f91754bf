import type { FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../../infra/ports.ts';
import type { QueryStore } from '../../http/readers.ts';
import { type Html, html } from '../../pages/html.ts';
import type { AlertReader } from '../projects/alert-reader.ts';

/** In this time, the state of a project is read once for all viewers. */
const STATE_MS = 2000;
const PROJECTS_MAX = 10_000;
/** Size of the cache of rendered parts. */
const CACHED_CHARACTERS = 8 * 2 ** 20;
/** Parts are rendered again after this time, because of texts such as "5 min ago". */
const RENDERED_MS = 60_000;

interface LivePartsDependencies {
  readonly reader: AlertReader;
  /** Reads the state of projects for all viewers. */
  readonly shared: QueryStore;
  readonly clock: Clock;
}

/** The parts of a page that follow the alerts of a project. */
interface LivePart {
  readonly project: string;
  /** Name of the parts within the project. */
  readonly name: string;
  /** Runs queries within the limits of the caller. */
  readonly store: QueryStore;
  /** The result is shared, so it must not depend on the viewer. */
  readonly render: (store: QueryStore, now: number) => Promise<Html>;
}

/**
 * Serves the parts of pages that a script polls. The response is 304 if nothing changed. Otherwise the parts are read and
 * rendered once for all viewers.
 */
export class LiveParts {
  readonly #clock: Clock;
  readonly #states: LRUCache<string, string>;
  readonly #rendered: LRUCache<string, string, LivePart>;

  constructor({ reader, shared, clock }: LivePartsDependencies) {
    this.#clock = clock;
    this.#states = new LRUCache({
      max: PROJECTS_MAX,
      ttl: STATE_MS,
      fetchMethod: (project) => reader.withStore(shared).changeToken(Number(project)),
    });
    this.#rendered = new LRUCache({
      maxSize: CACHED_CHARACTERS,
      sizeCalculation: (text, key) => text.length + key.length,
      ttl: RENDERED_MS,
      fetchMethod: async (_key, _old, { context }) => (await context.render(context.store, clock.now())).text,
    });
  }

  async send(request: FastifyRequest, reply: FastifyReply, part: LivePart): Promise<FastifyReply> {
    const state = await this.#states.fetch(part.project);
    const version = `${state}.${Math.floor(this.#clock.now() / RENDERED_MS)}`;
    const etag = `"${version}"`;
    reply.header('etag', etag).header('cache-control', 'private, no-store');
    if (request.headers['if-none-match'] === etag) return reply.code(304).send();
    const key = `${part.project} ${version} ${part.name}`;
    // The first request reads for the others. If it is aborted, the next one reads.
    const render = () => this.#rendered.fetch(key, { context: part });
    const text = await render().catch(render);
    return reply.type('text/html; charset=utf-8').send(text);
  }
}

/**
 * A link that reloads the page. With a script, it shows whether the page is updated, and the updates can be paused.
 */
export const liveBar = (live: string, page: string): Html =>
  html`<p class="live" data-live="${live}"><span class="unseen" role="status" data-live-news></span><span data-live-state></span>
<button type="button" class="second small" data-live-pause hidden>Pause updates</button><a class="button second small" href="${page}" data-live-reload>Reload</a></p>`;
