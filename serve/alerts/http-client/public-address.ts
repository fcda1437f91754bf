import ipaddr from 'ipaddr.js';

/** The virtual public address of Azure's platform services; only machines inside Azure reach it. */
const AZURE_PLATFORM = '168.63.129.16';

/** True if an IP address belongs to the public internet. For an IPv6 address with an embedded IPv4 address, checks the latter. */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.parse(text);
  if (address instanceof ipaddr.IPv4) return isPublicIPv4(address);
  const embedded = embeddedIPv4(address as ipaddr.IPv6);
  if (embedded !== null) return isPublicIPv4(embedded);
  return address.range() === 'unicast' && address.match(GLOBAL_UNICAST);
}

const isPublicIPv4 = (address: ipaddr.IPv4): boolean =>
  address.range() === 'unicast' && address.toString() !== AZURE_PLATFORM;

/** The IPv4 address inside an IPv4-mapped, NAT64 (64:ff9b::/96) or 6to4 (2002::/16) address. */
function embeddedIPv4(address: ipaddr.IPv6): ipaddr.IPv4 | null {
  const bytes = address.toByteArray();
  if (address.isIPv4MappedAddress()) return new ipaddr.IPv4(bytes.slice(12));
  if (address.match(NAT64)) return new ipaddr.IPv4(bytes.slice(12));
  if (address.range() === '6to4') return new ipaddr.IPv4(bytes.slice(2, 6));
  return null;
}

const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/** All that IANA has assigned to the public internet. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');
