import { expect, test } from 'vitest';
import { isPublicAddress } from '../../../serve/alerts/notifications/public-address.ts';

test.each([
  ['unspecified', '0.0.0.0'],
  ['private', '10.1.2.3'],
  ['carrier-grade NAT', '100.64.0.1'],
  ['loopback', '127.0.0.1'],
  ['link-local, with the metadata service of most clouds', '169.254.169.254'],
  ['private', '172.31.0.1'],
  ['IETF protocol assignments', '192.0.0.8'],
  ['the metadata service of Oracle Cloud', '192.0.0.192'],
  ['documentation', '192.0.2.1'],
  ['private', '192.168.1.1'],
  ['benchmarking', '198.18.0.1'],
  ['benchmarking', '198.19.255.255'],
  ['multicast', '224.0.0.1'],
  ['reserved', '240.0.0.1'],
  ['broadcast', '255.255.255.255'],
  ['the platform services of Azure', '168.63.129.16'],
  ['unspecified', '::'],
  ['loopback', '::1'],
  ['IPv4-compatible', '::7f00:1'],
  ['IPv4-compatible', '::808:808'],
  ['IPv4-mapped', '::ffff:127.0.0.1'],
  ['IPv4-mapped', '::ffff:a9fe:a9fe'],
  ['IPv4-translated', '::ffff:0:127.0.0.1'],
  ['NAT64', '64:ff9b::7f00:1'],
  ['NAT64', '64:ff9b::10.0.0.1'],
  ['local NAT64', '64:ff9b:1::808:808'],
  ['discard-only', '100::1'],
  ['Teredo', '2001::1'],
  ['documentation', '2001:db8::1'],
  ['6to4', '2002:7f00:1::'],
  ['6to4', '2002:c0a8:101::1'],
  ['unique local', 'fd00::1'],
  ['the metadata service of AWS', 'fd00:ec2::254'],
  ['link-local', 'fe80::1'],
  ['link-local with a zone', 'fe80::1%eth0'],
  ['site-local', 'fec0::1'],
  ['multicast', 'ff02::1'],
  ['no address', 'localhost'],
])('refuses an address that is %s: %s', (_kind, address) => {
  expect(isPublicAddress(address)).toBe(false);
});

test.each([
  '8.8.8.8',
  '168.63.129.17',
  '192.0.1.1',
  '2606:4700::1111',
  '::ffff:8.8.8.8',
  '64:ff9b::808:808',
  '2002:808:808::1',
])('allows the public address %s', (address) => {
  expect(isPublicAddress(address)).toBe(true);
});
