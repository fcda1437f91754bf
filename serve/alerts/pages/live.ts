import type { FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../../infra/ports.ts';
import type { QueryStore } from '../../http/readers.ts';
import { type Html, html } from '../../pages/html.ts';
import type { AlertReader } from '../projects/alert-reader.ts';

/** For this time all who look at a project learn of its changes by one query. */
const STATE_MS = 2000;
const PROJECTS_MAX = 10_000;
/** Parts of pages that are kept for others who look at the same. */
const CACHED_CHARACTERS = 8 * 2 ** 20;
/** Texts such as "5 min ago" are rendered again after it. */
const RENDERED_MS = 60_000;

interface LivePartsDependencies {
  readonly reader: AlertReader;
  /** The store for the state of a project, which is read once for all. */
  readonly shared: QueryStore;
  readonly clock: Clock;
}

/** The parts of a page that follow the alerts of a project. */
interface LivePart {
  readonly project: string;
  /** What names the parts among those of the project. */
  readonly name: string;
  /** The store as the caller may use it. */
  readonly store: QueryStore;
  /** Renders them for everybody: nothing in them may depend on who asks. */
  readonly render: (store: QueryStore, now: number) => Promise<Html>;
}

/**
 * Serves the parts of pages that a script asks for again and again. As long as nothing has changed the answer is 304;
 * what has changed is read and rendered once for all who look at the same.
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
      fetchMethod: (project) => reader.as(shared).stateOf(Number(project)),
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
    // The first who asks reads for the others; when it leaves meanwhile, the next one does.
    const render = () => this.#rendered.fetch(key, { context: part });
    const text = await render().catch(render);
    return reply.type('text/html; charset=utf-8').send(text);
  }
}

/**
 * Without a script it is a link that reloads the page; a script makes it say whether the page follows the alerts, and
 * lets that be paused.
 */
export const liveBar = (live: string, page: string): Html =>
  html`<p class="live" data-live="${live}"><span class="unseen" role="status" data-live-news></span><span data-live-state></span>
<button type="button" class="second small" data-live-pause hidden>Pause updates</button><a class="button second small" href="${page}" data-live-reload>Reload</a></p>`;
