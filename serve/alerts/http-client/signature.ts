import { createHmac } from 'node:crypto';

/** Binds an encrypted secret to its webhook or on-call link. */
export const secretContext = (targetId: string): string => `hook/${targetId}`;

/**
 * `t=SECONDS,v1=HEX`: the HMAC-SHA256 of the seconds, a dot and the body. During a rotation there is one `v1` for each
 * valid secret.
 */
export function signatureOf(secrets: readonly string[], seconds: number, body: string): string {
  const signed = secrets.map(
    (secret) => `v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`,
  );
  return [`t=${seconds}`, ...signed].join(',');
}
