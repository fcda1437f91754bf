import type { FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';

/** Which proxies say truly whom they act for: none, so many in a row, or those with these addresses and networks. */
type TrustedProxies = false | number | readonly string[];

/** More in a row is a mistake. */
const HOPS_MAX = 10;

/** Names of networks that only hosts of the operator are in. */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

/** Providers assign IPv6 in networks of this size: a host has all of its addresses. */
const IPV6_NETWORK_BITS = 64;
const IPV6_PART_BITS = 16;

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Network = readonly [Address, number];

/** Reads the setting; undefined for text that names no trusted proxies. */
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

/** What Fastify asks for each address from the connection outwards: is this host a proxy to believe? */
export function proxyTrust(trusted: TrustedProxies): ProxyTrust {
  if (trusted === false) return false;
  if (typeof trusted === 'number') return (_address, hop) => hop < trusted;
  const networks = trusted.flatMap((name) => networksOf(name) ?? []);
  return (text) => {
    const address = readAddress(text);
    return address !== null && networks.some(([network, bits]) => isWithin(address, network, bits));
  };
}

/** What Fastify reads of a request: the address of the connection, and those behind proxies that are trusted. */
export type Addressed = Pick<FastifyRequest, 'ip' | 'ips'>;

/**
 * The address of the caller, for records. A trusted proxy that passes on what is no address is itself the caller: an
 * invented name must not count as a host.
 */
export const clientAddress = (request: FastifyRequest): string => callerOf(request).address?.toString() ?? '';

/** What limits count a caller by: its address, or the network of it where one host has many addresses. */
export const countedAddress = (request: Addressed): string => callerOf(request).counted;

/** The same of the other end of a connection. */
export const countedPeer = (address: string): string => readCaller(address).counted;

interface Caller {
  readonly address: Address | null;
  readonly counted: string;
}

function readCaller(text: string): Caller {
  const address = readAddress(text);
  return { address, counted: counted(address) };
}

function counted(address: Address | null): string {
  if (!(address instanceof ipaddr.IPv6)) return address?.toString() ?? '';
  const network = address.parts.map((part, i) => (i < IPV6_NETWORK_BITS / IPV6_PART_BITS ? part : 0));
  return `${new ipaddr.IPv6(network)}/${IPV6_NETWORK_BITS}`;
}

function callerOf({ ips, ip }: Addressed): Caller {
  if (ips === undefined) return readCaller(ip);
  return ips.map(readCaller).findLast(({ address }) => address !== null) ?? readCaller('');
}

/** Reads `192.0.2.1`, `::ffff:192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `fe80::1%eth0` and `[2001:db8::1]:80`. */
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
  // A network of 0 bits is everybody.
  const isNetwork = rest.length === 0 && size >= 1 && size <= bitsMax;
  return address !== null && isNetwork ? [[address, size]] : null;
}

const isWithin = (address: Address, network: Address, bits: number): boolean =>
  address instanceof ipaddr.IPv4
    ? network instanceof ipaddr.IPv4 && address.match(network, bits)
    : network instanceof ipaddr.IPv6 && address.match(network, bits);
