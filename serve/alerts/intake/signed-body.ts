import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isSameText, newSecret, type Seal } from '../../accounts/secrets.ts';
import { secretContext } from '../http-client/signature.ts';
import type { CachedIntegration } from '../integrations/integration-cache.ts';
import { presetOf, SIGNATURE_HEADERS } from '../integrations/presets/presets.ts';

/** True if a request has a signature of its body instead of a key. */
export const isSigned = (headers: IncomingHttpHeaders): boolean =>
  headers.authorization === undefined && SIGNATURE_HEADERS.some((name) => headers[name] !== undefined);

const hexOf = (key: string, body: Buffer) => createHmac('sha256', key).update(body).digest('hex');

/** Checks signatures. The check takes as long for an unknown integration as for a known one. */
export class BodySignatures {
  readonly #seal: Seal;
  readonly #decoy: string;

  constructor(seal: Seal) {
    this.#seal = seal;
    this.#decoy = seal.encrypt(newSecret(), secretContext(''));
  }

  isOf(
    entry: CachedIntegration | undefined,
    headers: IncomingHttpHeaders,
    body: Buffer,
    now: number,
  ): boolean {
    const { id, sealed_key, old_sealed_key, old_key_ends_ms } = entry?.integration ?? NO_KEYS;
    const header = entry && presetOf(entry.integration)?.signatureHeader;
    const given = String((header && headers[header]) ?? '').toLowerCase();
    const isCurrent = this.#isBy(sealed_key, id, given, body);
    const isOld = this.#isBy(old_sealed_key, id, given, body);
    return isCurrent || (isOld && now < old_key_ends_ms);
  }

  #isBy(sealedKey: string, id: string, given: string, body: Buffer): boolean {
    const key =
      sealedKey === ''
        ? this.#seal.decrypt(this.#decoy, secretContext(''))
        : this.#seal.decrypt(sealedKey, secretContext(id));
    return isSameText(hexOf(key, body), given) && sealedKey !== '';
  }
}

const NO_KEYS = { id: '', sealed_key: '', old_sealed_key: '', old_key_ends_ms: 0 };
