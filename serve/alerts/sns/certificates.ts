import { type KeyObject, X509Certificate } from 'node:crypto';
import type { Agent } from 'node:https';
import { DAY_MS } from '../../../infra/days.ts';
import type { Clock } from '../../../infra/ports.ts';
import { getFromAmazon } from './amazon.ts';

const CERTIFICATES_MAX = 16;
/** Limit of concurrent fetches, because messages may name any number of URLs. */
const FETCHES_MAX = 16;

/**
 * Public keys of the certificates that Amazon SNS signs with, by URL. Cached, because every message names the same
 * certificate, which changes about once a year.
 */
export class SigningCertificates {
  readonly #agent: Agent;
  readonly #clock: Clock;
  /** Oldest first. */
  readonly #keys = new Map<string, { readonly key: KeyObject; readonly until: number }>();
  readonly #fetching = new Map<string, Promise<KeyObject>>();

  constructor({ agent, clock }: { readonly agent: Agent; readonly clock: Clock }) {
    this.#agent = agent;
    this.#clock = clock;
  }

  /** Throws if the certificate cannot be fetched. */
  async keyOf(url: URL): Promise<KeyObject> {
    const known = this.#keys.get(url.href);
    if (known && this.#clock.now() < known.until) return known.key;
    const fetching = this.#fetching.get(url.href) ?? this.#fetch(url);
    return fetching;
  }

  #fetch(url: URL): Promise<KeyObject> {
    if (this.#fetching.size >= FETCHES_MAX) throw new Error('too many certificates are being fetched');
    const fetched = getFromAmazon(url, this.#agent)
      .then((bytes) => this.#keep(url, new X509Certificate(bytes).publicKey))
      .finally(() => this.#fetching.delete(url.href));
    this.#fetching.set(url.href, fetched);
    return fetched;
  }

  #keep(url: URL, key: KeyObject): KeyObject {
    this.#keys.delete(url.href);
    this.#keys.set(url.href, { key, until: this.#clock.now() + DAY_MS });
    for (const oldest of this.#keys.keys()) {
      if (this.#keys.size <= CERTIFICATES_MAX) break;
      this.#keys.delete(oldest);
    }
    return key;
  }
}
