import { reasonOf } from '../../../infra/errors.ts';

const FAULTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens at this address and port',
  ECONNRESET: 'the connection was closed before an answer came',
  EPIPE: 'the connection was closed before an answer came',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'the DNS lookup of the host failed: the name server does not answer',
  EHOSTUNREACH: 'there is no route to this address',
  ENETUNREACH: 'there is no route to this address',
  ETIMEDOUT: 'the address does not answer',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed, so this server does not trust it',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not signed by an authority that this server trusts',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not signed by an authority that this server trusts',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is not signed by an authority that this server trusts',
  EPROTO: 'it does not speak TLS there; compare https with http',
};

/** Why a receiver was not reached, for the person who configured its URL. */
export function networkFault(error: unknown, timeoutMs: number): string {
  const { name = '', code = '' } = (error ?? {}) as { name?: string; code?: string | number };
  if (name === 'AbortError' || name === 'TimeoutError') return `no answer within ${timeoutMs / 1000} s`;
  const fault = FAULTS[code];
  return fault === undefined ? reasonOf(error) : `${fault} (${code})`;
}
