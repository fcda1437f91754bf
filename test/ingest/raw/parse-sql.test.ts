import { base58 } from '@scure/base';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Store } from '../../../infra/ports.ts';
import { literal, raw, sql } from '../../../infra/sql.ts';
import { encodeAddress, keyOfSigner, SS58_PREFIX_MAX } from '../../../ingest/chains/address.ts';
import { parseAmount } from '../../../ingest/decode/amount.ts';
import { palletName } from '../../../ingest/decode/names.ts';
import {
  addressSql,
  amountSql,
  base58Sql,
  keySql,
  NO_PREFIX,
  palletSql,
  palletWrittenSql,
  prefixSql,
} from '../../../ingest/raw/parse-sql.ts';
import { openStore } from '../../support/open-store.ts';

let store: Store;
let close: () => Promise<void>;
beforeAll(async () => {
  ({ store, close } = await openStore());
});
afterAll(() => close());

/** What an expression makes of each text, in their order. */
async function readBy(expression: string, texts: readonly string[]): Promise<(string | null)[]> {
  const list = raw(texts.map((text) => literal(text)).join(', '));
  const rows = await store.rows<{ read: string | null }>(
    sql`SELECT toString(${raw(expression)}) AS read
      FROM (SELECT arrayJoin(arrayZip(arrayEnumerate([${list}]), [${list}])) AS given, given.2 AS text) ORDER BY given.1`,
  );
  return rows.map(({ read }) => read);
}

const CHARACTERS = Array.from({ length: 0x7f }, (_, i) => String.fromCharCode(i + 1)).concat(
  'é',
  '١',
  '\u3000',
);

it('reads an amount as the decoder of calls does, whatever stands in it', async () => {
  const around = CHARACTERS.flatMap((one) => [
    one,
    `${one}7`,
    `7${one}`,
    `7${one}7`,
    `0${one}7`,
    `1${one}${one}`,
  ]);
  const nines = [37, 38, 39, 40].map((digits) => '9'.repeat(digits));
  const largest = 2n ** 128n - 1n;
  const bounds = [largest, largest + 1n].flatMap((value) => [
    `${value}`,
    `000${value}`,
    `0x${value.toString(16)}`,
  ]);
  const texts = [
    '',
    '0x',
    '0x0',
    '0xAbC',
    'null',
    '0'.repeat(50),
    `${'0'.repeat(50)}8`,
    ...nines,
    ...bounds,
    ...around,
  ];
  const expected = texts.map((text) => parseAmount(text)?.toString() ?? null);
  expect(await readBy(amountSql('text'), texts)).toEqual(expected);
});

it('reads the key of an address with a prefix of one or two bytes, or of an Ethereum address, and no other text', async () => {
  const key = `0x${'5a'.repeat(32)}`;
  const h160 = `0x${'C3'.repeat(20)}`;
  const others = [33, 34, 37, 38].map((bytes) => base58.encode(new Uint8Array(bytes).fill(7)));
  const texts = [encodeAddress(key, 0), encodeAddress(key, 42), encodeAddress(key, 2000), key, h160];
  const none = [
    '',
    'null',
    '0',
    '0x',
    `${h160}0`,
    `0x${'5a'.repeat(31)}`,
    `${encodeAddress(key, 0)}1`.repeat(2),
    ...others,
  ];
  expect(await readBy(`lower(hex(${keySql('text')}))`, [...texts, ...none])).toEqual([
    ...Array(4).fill('5a'.repeat(32)),
    'c3'.repeat(20),
    ...none.map(() => ''),
  ]);
});

it('reads the signer of an extrinsic as the decoder of calls does, in whatever shape', async () => {
  const key = `0x${'5a'.repeat(32)}`;
  const address = encodeAddress(key, 2);
  const signers = [address, key, 5, '', null, 'garbage'].flatMap((given) =>
    [
      given,
      { id: given },
      { Id: given },
      { raw: given },
      { address20: given },
      { id: { id: given } },
      [given],
    ].filter(
      // The landing table keeps a text as it is, and every other value as JSON.
      (signer) => signer !== null,
    ),
  );
  const texts = signers.map((signer) => (typeof signer === 'string' ? signer : JSON.stringify(signer)));
  const text = addressSql('text');
  expect(await readBy(`lower(hex(${keySql(text, base58Sql(text))}))`, texts)).toEqual(
    signers.map((signer) => keyOfSigner(signer)?.slice(2) ?? ''),
  );
});

it('reads a pallet as the decoder of calls does', async () => {
  const names = [
    ...[
      'balances',
      'Balances',
      'EVM',
      'evm',
      'EVMAccounts',
      'evmAccounts',
      'EVMChainId',
      'XTokens',
      'xTokens',
    ],
    ...['XcmpQueue', 'xcmpQueue', 'NFT', 'Nfts', 'DappStaking', 'ParasInherent', 'parasInclusion'],
  ];
  expect(await readBy(palletSql(palletWrittenSql('text')), names)).toEqual(names.map(palletName));
});

it('reads the prefix that an address was printed with, and none of hex or any other text', async () => {
  const key = `0x${'5a'.repeat(32)}`;
  const prefixes = [...Array(300).keys(), 2000, SS58_PREFIX_MAX];
  const printed = prefixes.map((prefix) => encodeAddress(key, prefix));
  const foreign = CHARACTERS.filter((one) => !/[1-9A-HJ-NP-Za-km-z]/.test(one));
  const around = printed
    .slice(60, 70)
    .flatMap((address) => [
      `0x${address}`,
      `${address}${address}`,
      ...foreign.flatMap((one) => [`${one}${address}`, `${address}${one}`]),
    ]);
  const others = [33, 34, 37, 38].map((bytes) => base58.encode(new Uint8Array(bytes).fill(7)));
  const none = ['', 'null', '0x', key, `0x${'C3'.repeat(20)}`, ...others, ...around];
  expect(await readBy(prefixSql('text'), [...printed, ...none])).toEqual([
    ...prefixes.map(String),
    ...none.map(() => String(NO_PREFIX)),
  ]);
});
