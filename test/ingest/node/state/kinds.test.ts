import { describe, expect, it } from 'vitest';
import { parseSnapshot } from '../../../../ingest/decode/snapshot.ts';
import { kindsOf, takeState } from '../../../../ingest/node/state/take-state.ts';
import type { Subject } from '../../../../ingest/sources/snapshot-line.ts';
import type { RecordedChain } from '../decode/recorded.ts';
import { documentsOf, paseo, runtimeOf } from './made-chains.ts';
import { RECORDED_HEIGHTS, recordedState } from './recorded.ts';
import { coretimePayload, Reference, relayPayloads } from './reference.ts';

/** What is taken of a recorded chain at a height: payloads by kind, and the reasons of the others. */
async function taken(chain: RecordedChain, height: number, subject: Subject) {
  const { blocks, metadata, server } = recordedState(chain);
  const block = blocks.find((one) => one.height === height);
  if (!block) throw new Error(`${height} of ${chain} was not recorded`);
  const node = { rpc: server, block: server.block, runtimeAt: async () => runtimeOf(metadata) };
  const moment = { height, hash: block.hash, time: Date.parse('2026-11-21T23:59:54Z') };
  const { lines, skipped } = await takeState(node, moment, subject, kindsOf(subject, '2026-11-21'));
  const documents = documentsOf(lines);
  for (const document of documents) expect(parseSnapshot(document)).toMatchObject({ ok: true });
  return {
    payloads: Object.fromEntries(documents.map(({ kind, payload }) => [kind, payload])),
    reasons: Object.fromEntries(skipped.map(({ kind, reason }) => [kind, reason])),
    reference: new Reference(metadata, block),
  };
}

describe('a recorded relay chain', () => {
  it.each(RECORDED_HEIGHTS.paseo)('has at %i the sums over its pairs', async (height) => {
    const { payloads, reasons, reference } = await taken('paseo', height, paseo('paseo'));
    const { track_table, ...others } = payloads;
    expect(others).toEqual(relayPayloads(reference));
    expect(track_table.tracks).toEqual(
      [...reference.constant('referenda', 'tracks')].map(([id, { name }]) => ({
        id: id.toNumber(),
        name: name.toString(),
        origin: expect.stringMatching(/^[A-Z]/),
      })),
    );
    expect(reasons).toEqual({});
  });

  it('has the values that were checked by hand', async () => {
    const { payloads } = await taken('paseo', 1_036_851, paseo('paseo'));
    expect(payloads).toMatchObject({
      staking_state: {
        active_era: 3,
        validators: 14,
        nominators: 2,
        staked: '14818073178408779',
        staked_in_pools: '14500000000000',
        unbonding: '207000000000000',
      },
      issuance: { total: '1949622611547007747' },
      treasury_balance: { balances: [{ amount: '49508139963628950' }] },
      account_count: { count: 32 },
    });
    expect(payloads.delegations.delegations).toHaveLength(1);
    expect(payloads.track_table.tracks).toContainEqual({ id: 34, name: 'big_spender', origin: 'BigSpender' });
    const [, youngest] = RECORDED_HEIGHTS.paseo;
    const { staking_state } = (await taken('paseo', youngest, paseo('paseo'))).payloads;
    // Absent, which is the default of the item.
    expect(staking_state.min_active_stake).toBe('18446744073709551615');
  });
});

describe('a recorded coretime chain', () => {
  it.each(RECORDED_HEIGHTS['coretime-westend'])('has at %i its sale in the older shape', async (height) => {
    const { payloads, reasons, reference } = await taken('coretime-westend', height, paseo('coretime-paseo'));
    const payload = coretimePayload(reference);
    expect(payloads.coretime_config ?? null).toEqual(payload);
    expect(reasons).toEqual(payload === null ? { coretime_config: 'no sale has begun yet' } : {});
    expect(payloads.account_count).toEqual({ count: reference.entries('system', 'account').length });
  });
});

describe('a recorded asset hub', () => {
  it.each(RECORDED_HEIGHTS['asset-hub-paseo'])(
    'has at %i its accounts, and says what it lacks',
    async (height) => {
      const { payloads, reasons, reference } = await taken(
        'asset-hub-paseo',
        height,
        paseo('asset-hub-paseo'),
      );
      expect(payloads).toEqual({ account_count: { count: reference.entries('system', 'account').length } });
      expect(reasons).toEqual({
        stable_holdings: 'the chain has neither USDC (1337) nor USDT (1984)',
        contract_code: 'the runtime has no Revive.CodeInfoOf',
      });
    },
  );
});
