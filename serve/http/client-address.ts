import type { FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';

/** Trusted proxies: none, a hop count, or a list of addresses and CIDRs. */
type TrustedProxies = false | number | readonly string[];

/** A higher hop count is a mistake. */
const HOPS_MAX = 10;

/** Names for private networks, which only hosts of the operator can use. */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

/** Providers assign each host a /64, so one host can use all of its addresses. */
const IPV6_NETWORK_BITS = 64;
const IPV6_PART_BITS = 16;

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Network = readonly [Address, number];

/** Parses the setting; undefined if the text is invalid. */
export function readTrustedProxies(text: string): TrustedProxies | undefined {
  if (text === 'false') return false;
  if (/^\d+$/.test(text)) {
    const hops = Number(text);
    return hops >= 1 && hops <= HOPS_MAX ? hops : undefined;
  }
  const names = text.split(',').map((name) => name.trim());
  return names.every((name) => networksOf(name) !== null) ? names : undefined;
}

type ProxyTrust = false | ((address: string | undefined, hop: number) => boolean);

/** Fastify's `trustProxy` function: it gets each address, starting with the peer, and returns whether to trust that proxy. */
export function proxyTrust(trusted: TrustedProxies): ProxyTrust {
  if (trusted === false) return false;
  if (typeof trusted === 'number') return (_address, hop) => hop < trusted;
  const networks = trusted.flatMap((name) => networksOf(name) ?? []);
  return (text) => {
    const address = readAddress(text);
    return address !== null && networks.some(([network, bits]) => isWithin(address, network, bits));
  };
}

/** The address of the peer (`ip`) and the addresses that trusted proxies reported (`ips`). */
export type ClientAddresses = Pick<FastifyRequest, 'ip' | 'ips'>;

/**
 * The address of the caller, for logs and audit records. If a trusted proxy reports an invalid address, the proxy counts
 * as the caller: an invented name must not count as a host.
 */
export const clientAddress = (request: FastifyRequest): string => callerOf(request).address?.toString() ?? '';

/** The key by which limits count a caller: its IPv4 address, or its IPv6 /64. */
export const addressKey = (request: ClientAddresses): string => callerOf(request).key;

/** The key of the peer of a connection. */
export const peerKey = (address: string): string => readCaller(address).key;

interface Caller {
  readonly address: Address | null;
  readonly key: string;
}

function readCaller(text: string): Caller {
  const address = readAddress(text);
  return { address, key: key(address) };
}

function key(address: Address | null): string {
  if (!(address instanceof ipaddr.IPv6)) return address?.toString() ?? '';
  const network = address.parts.map((part, i) => (i < IPV6_NETWORK_BITS / IPV6_PART_BITS ? part : 0));
  return `${new ipaddr.IPv6(network)}/${IPV6_NETWORK_BITS}`;
}

function callerOf({ ips, ip }: ClientAddresses): Caller {
  if (ips === undefined) return readCaller(ip);
  return ips.map(readCaller).findLast(({ address }) => address !== null) ?? readCaller('');
}

/** Parses `192.0.2.1`, `::ffff:192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `fe80::1%eth0` and `[2001:db8::1]:80`. */
function readAddress(text: string | undefined): Address | null {
  const [, bracketed, dotted] = /^\[([^\]]*)\](?::\d+)?$|^([\d.]+):\d+$/.exec(text ?? '') ?? [];
  const bare = (bracketed ?? dotted ?? text ?? '').split('%', 1)[0] ?? '';
  if (!ipaddr.IPv6.isValid(bare) && !ipaddr.IPv4.isValidFourPartDecimal(bare)) return null;
  return ipaddr.process(bare);
}

function networksOf(name: string): Network[] | null {
  if (Object.hasOwn(NAMED, name)) return (NAMED[name] ?? []).flatMap((one) => networksOf(one) ?? []);
  const [text, bits, ...rest] = name.split('/');
  const address = readAddress(text);
  const bitsMax = address?.kind() === 'ipv4' ? 32 : 128;
  const size = bits === undefined ? bitsMax : /^\d{1,3}$/.test(bits) ? Number(bits) : 0;
  // `/0` would trust everybody.
  const isNetwork = rest.length === 0 && size >= 1 && size <= bitsMax;
  return address !== null && isNetwork ? [[address, size]] : null;
}

const isWithin = (address: Address, network: Address, bits: number): boolean =>
  address instanceof ipaddr.IPv4
    ? network instanceof ipaddr.IPv4 && address.match(network, bits)
    : network instanceof ipaddr.IPv6 && address.match(network, bits);
