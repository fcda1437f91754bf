import { timingSafeEqual } from 'node:crypto';
import { hashSecret } from '../../accounts/secrets.ts';
import { type CachedIntegration, NO_KEYS } from '../integrations/integration-cache.ts';

/** The key: a bearer token, or the password of HTTP Basic, whose username is ignored. */
export function keyOf(authorization: string | undefined): string {
  const [, scheme = '', credentials = ''] = /^\s*(\w+)\s+(\S+)\s*$/.exec(authorization ?? '') ?? [];
  if (scheme.toLowerCase() === 'bearer') return credentials;
  if (scheme.toLowerCase() !== 'basic') return '';
  const [, key = ''] = /^[^:]*:([\s\S]*)$/.exec(Buffer.from(credentials, 'base64').toString('utf8')) ?? [];
  return key;
}

/** Takes the same time for an unknown integration as for a wrong key. */
export function isKeyOf(entry: CachedIntegration | undefined, key: string, now: number): boolean {
  const { current, old } = entry?.keys ?? NO_KEYS;
  const given = Buffer.from(hashSecret(key));
  const isCurrent = timingSafeEqual(given, current);
  const isOld = timingSafeEqual(given, old);
  return isCurrent || (isOld && now < (entry?.integration.old_key_ends_ms ?? 0));
}
