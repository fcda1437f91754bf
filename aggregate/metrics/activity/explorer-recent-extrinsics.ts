import { z } from 'zod';
import { raw, sql } from '../../../infra/sql.ts';
import { DOMAINS } from '../../../ingest/decode/domain.ts';
import { addressEncodings, chains } from '../../../ingest/raw/tables.ts';
import { count, flag, name, text, timestamp } from '../../columns.ts';
import { SERVED_RELAYS, viewMetric } from '../../metric.ts';
import { accountKey, NAME_CHARS_MAX } from '../shared/filters.ts';
import { lastDayExtrinsics } from './last-day.ts';

const domains = z
  .string()
  .max(NAME_CHARS_MAX)
  .transform((list) => list.split(','))
  .pipe(z.array(z.enum(DOMAINS)).min(1))
  .describe(`comma-separated domains to exclude: ${DOMAINS.join(', ')}`);

const address = accountKey().describe('signer or Ethereum sender, as SS58 with any prefix or as H160');

const dest = `JSONExtractRaw(args, 'dest')`;
const destination = raw(
  `if(pallet = 'balances' AND match(${dest}, '"[1-9A-HJ-NP-Za-km-z]{46,}"'), concat(' to ', extract(${dest}, '[1-9A-HJ-NP-Za-km-z]{46,}')), '')`,
);
const value = `replaceAll(JSONExtractRaw(args, 'value'), '"', '')`;
const amount = raw(
  `if(pallet = 'balances' AND match(${value}, '^[0-9]+$'), concat(', ', ${value}, ' planck'), '')`,
);

export const recentExtrinsic = viewMetric({
  record: 'RecentExtrinsic',
  title: 'Recent extrinsics',
  domain: 'activity',
  doc: 'Extrinsics of the 24 hours that end at the newest stored block of a chain, newest first. Each extrinsic has one domain. A wrapper such as a batch has the domain of its inner calls if they share one, else `System`.',
  columns: {
    relay_chain: name('relay chain', { title: 'Relay chain' }),
    chain: name('chain', { title: 'Chain' }),
    timestamp: timestamp('time of the block', { title: 'Time' }),
    block_number: count('height of the block', { title: 'Block', unit: 'height' }),
    extrinsic_index: count('index in the block, from 0', { title: 'Extrinsic index', unit: 'identifier' }),
    extrinsic_hash: text('hash of the extrinsic; not unique over the life of a chain', {
      title: 'Extrinsic hash',
      nullable: true,
    }),
    domain: name('domain of the call', { title: 'Domain', values: DOMAINS }),
    pallet: name('pallet, as the block spells it', { title: 'Pallet' }),
    method: name('name of the call', { title: 'Call' }),
    signer: text('signer as SS58 of the chain, or H160 of an Ethereum sender; null for inherents', {
      title: 'Signer',
      nullable: true,
    }),
    success: flag('true if it succeeded; null when the outcome is unknown', {
      title: 'Success',
      nullable: true,
    }),
    summary: text('the call; for `balances` also the destination and the amount in planck', {
      title: 'Summary',
    }),
  },
  internal: { account: 'String' },
  key: ['relay_chain', 'chain', 'block_number', 'extrinsic_index'],
  order: [
    { column: 'block_number', descending: true },
    { column: 'extrinsic_index', descending: true },
  ],
  materialized: false,
  select: (key) => sql`
    SELECT relay_chain, chain, time AS timestamp, number AS block_number, extrinsic_index, nullIf(hash, '') AS extrinsic_hash,
      domain, pallet_written AS pallet, call AS method,
      multiIf(
        ethereum AND ethereum_from != '', concat('0x', lower(hex(ethereum_from))),
        NOT signed OR signer_key = '', NULL,
        length(signer_key) = 20, concat('0x', lower(hex(signer_key))),
        encoded.address != '', encoded.address,
        signer) AS signer,
      if(signed, signer_key, ethereum_from) AS account,
      CAST(succeeded, 'Nullable(Bool)') AS success,
      concat(pallet, '.', call, ${destination}, ${amount}) AS summary
    FROM ${lastDayExtrinsics(key)} AS recent
    LEFT JOIN (SELECT key AS signer_key, any(address) AS address FROM ${addressEncodings}
      WHERE prefix = (SELECT any(prefix) FROM ${chains} FINAL WHERE chain = ${key.chain}) GROUP BY key) AS encoded
      USING (signer_key)`,
  endpoints: [
    {
      path: '/api/explorer/recent-extrinsics',
      summary: 'Extrinsics of the 24 hours up to the newest block of a chain, newest first',
      relays: SERVED_RELAYS,
      defaults: { relay_chain: 'polkadot', chain: 'asset-hub-polkadot' },
      isLimited: true,
      filters: {
        address: {
          schema: address,
          condition: (key: string) => sql`account = unhex(${key.slice(2)})`,
        },
        exclude_domains: {
          schema: domains,
          condition: (excluded: string[]) => sql`domain NOT IN ${excluded}`,
        },
      },
    },
  ],
});
