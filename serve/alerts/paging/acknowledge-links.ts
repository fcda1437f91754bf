import { HOUR_MS } from '../../../infra/days.ts';
import type { Clock } from '../../../infra/ports.ts';
import type { Seal } from '../../accounts/secrets.ts';

/** The message of a link, and the user who may act through the link. */
export interface AcknowledgeLink {
  readonly project: number;
  readonly destination: string;
  readonly message: string;
  readonly user: string;
}

/** The link, or the reason: `expired` only for a valid signature. */
type OpenedLink =
  | { readonly link: AcknowledgeLink }
  | { readonly fault: 'unknown' }
  | { readonly fault: 'expired'; readonly project: number };

interface AcknowledgeLinksDependencies {
  readonly clock: Clock;
  readonly seal: Seal;
  readonly settings: { readonly PAGE_LINK_HOURS: number };
}

const PURPOSE = 'acknowledge-link';
const CHARACTERS_MAX = 2000;

/**
 * Signed links in messages. With a link a person acknowledges the pages of a message without signing in. Forged links are
 * rejected without reading the store.
 */
export class AcknowledgeLinks {
  readonly #deps: AcknowledgeLinksDependencies;

  constructor(dependencies: AcknowledgeLinksDependencies) {
    this.#deps = dependencies;
  }

  /** The path of a link. */
  urlOf({ project, destination, message, user }: AcknowledgeLink): string {
    const { clock, seal, settings } = this.#deps;
    const expires = clock.now() + settings.PAGE_LINK_HOURS * HOUR_MS;
    const payload = Buffer.from(JSON.stringify([project, destination, message, user, expires])).toString(
      'base64url',
    );
    return `/acknowledge/${payload}.${seal.sign(PURPOSE, payload)}`;
  }

  /** Parses the part of a path after `/acknowledge/`. */
  open(text: string): OpenedLink {
    const { clock, seal } = this.#deps;
    const [payload = '', signature = ''] = text.length > CHARACTERS_MAX ? [] : text.split('.', 2);
    if (!seal.isSigned(PURPOSE, payload, signature)) return { fault: 'unknown' };
    const [project, destination, message, user, expires] = JSON.parse(
      Buffer.from(payload, 'base64url').toString(),
    ) as [number, string, string, string, number];
    if (expires <= clock.now()) return { fault: 'expired', project };
    return { link: { project, destination, message, user } };
  }
}
