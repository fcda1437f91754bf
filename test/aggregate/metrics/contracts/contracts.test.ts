import { keccak_256 } from '@noble/hashes/sha3.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { InputLine } from '../../../reference/input.ts';
import { ALICE, ALICE_GENERIC, BOB, blocksOf } from '../shapes/shape.ts';
import { only, type Served, serve } from '../staking/snapshot-rows.ts';
import {
  ALICE_H160,
  BLOCKS,
  C1,
  C2,
  C3,
  C4,
  C5,
  C6,
  C9,
  code,
  contract,
  FILLED,
  NOBODY,
  REPLACED,
  SENDER,
  SNAPSHOTS,
  TRANSFER,
} from './chain.ts';

// biome-ignore format: one line
const HUB = { relay_chain: 'polkadot', chain: 'asset-hub-polkadot' };
const TRANSFER_HASH = `0x${Buffer.from(keccak_256(Buffer.from(TRANSFER.slice(2), 'hex'))).toString('hex')}`;

let served: Served;
beforeAll(async () => {
  served = await serve(BLOCKS);
});
afterAll(() => served.close());

const addresses = (...list: string[]) => list.map((address) => `addresses=${address}`).join('&');
const transactions = (...list: string[]) =>
  served.ask(`/api/contract-transactions-search?${addresses(...list)}`);
const heat = async (of: string, more = '') =>
  only(await served.ask(`/api/${of}-heatmap${more}`), 'date', 'count');

describe('before any snapshot', () => {
  it('days have their counts, and 0 only where no block is missing', async () => {
    expect(await heat('contracts-deployed')).toEqual([
      ['2026-05-01', 4],
      ['2026-05-02', 1],
      ['2026-05-05', 0],
      ['2026-05-06', 0],
    ]);
    expect(await heat('contract-calls')).toEqual([
      ['2026-05-01', 4],
      ['2026-05-05', 1],
      ['2026-05-06', 0],
    ]);
  });

  it('an Ethereum transaction to an address that no block created is no contract transaction', async () => {
    expect(await transactions(C9)).toEqual([]);
    expect(await transactions(NOBODY)).toEqual([]);
  });

  it('the code of a creation without a code hash is null', async () => {
    const rows = await served.ask(`/api/contracts-search?${addresses(C1, C4)}`);
    expect(only(rows, 'contract_address', 'code_hash')).toEqual([[C4, null], [C1, code(1)]]); // biome-ignore format: short
    expect(await served.ask(`/api/code-by-owner?${addresses(ALICE)}`)).toEqual([]);
  });
});

describe('with the snapshots and the missing block', () => {
  beforeAll(() => served.take([...SNAPSHOTS, ...FILLED]));

  it('a contract in a snapshot is also a contract in earlier blocks', async () => {
    expect(only(await transactions(C9), 'block_number', 'to_address', 'method')).toEqual([
      [101, C9, 'ethTransact'],
    ]);
    expect(await transactions(NOBODY)).toEqual([]);
    expect(await heat('contract-calls')).toEqual([
      ['2026-05-01', 5],
      ['2026-05-02', 0],
      ['2026-05-03', 0],
      ['2026-05-04', 0],
      ['2026-05-05', 1],
      ['2026-05-06', 0],
    ]);
    expect(await heat('contracts-deployed', '?start_date=2026-05-02&end_date=2026-05-03')).toEqual([
      ['2026-05-02', 1],
      ['2026-05-03', 0],
    ]);
  });

  describe('contracts', () => {
    it('have the call that deployed them when its account is their deployer', async () => {
      const rows = await served.ask(
        `/api/contracts-search?${addresses(C1, C2, C3, C4, C5, C6, C9)}&start_date=2000-01-01`,
      );
      const fields = [
        'contract_address',
        'extrinsic_id',
        'deployer',
        'deploy_method',
        'deployer_account',
        'value',
        'code_hash',
      ];
      expect(only(rows, ...fields)).toEqual([
        [C6, null, contract(7), 'internal', null, null, null],
        // The account of an Ethereum sender is its address, padded.
        [C4, '100-3', SENDER, 'eth_transact', '14ZZdPECZzbYEEERK3ajAUGuhCg9Za4Bmug8qmLPt4XTmzh7', 1, code(4)],
        [C3, '100-2', ALICE_H160, 'instantiate_with_code', ALICE, 2, code(3)],
        [C1, '100-1', ALICE_H160, 'instantiate', ALICE, 2, code(1)],
        [C2, '100-1', C1, 'internal', null, null, null],
      ]);
      expect(rows[3]).toMatchObject({
        ...HUB,
        block_number: 100,
        block_timestamp: '2026-05-01T10:00:00.000Z',
        extrinsic_hash: `0x${'a1'.repeat(32)}`,
      });
    });

    it('require a well-formed address', async () => {
      expect(await served.status('/api/contracts-search')).toBe(422);
      expect(await served.status(`/api/contracts-search?addresses=${ALICE}`)).toBe(422);
      expect(await served.status(`/api/contracts-search?addresses=${C1}&relay_chain=polkadot`)).toBe(422);
    });
  });

  describe('transactions', () => {
    it('are found by sender, newest first, with a row per contract', async () => {
      const rows = await transactions(ALICE_H160);
      expect(
        only(rows, 'block_number', 'extrinsic_index', 'contract_address', 'method', 'to_address', 'success'),
      ).toEqual([
        [105, 1, C4, 'ethCall', C4, true],
        [101, 5, C1, 'call', C1, false],
        [100, 4, C1, 'call', C1, true],
        [100, 4, C5, 'call', C5, true],
        [100, 2, C3, 'instantiateWithCode', null, true],
        [100, 1, C1, 'instantiate', null, true],
        [100, 1, C2, 'instantiate', null, true],
      ]);
    });

    it('are found by receiver and by contract, and by any of several addresses', async () => {
      const of = async (...list: string[]) => only(await transactions(...list), 'block_number', 'extrinsic_index', 'contract_address');
      expect(await of(C5)).toEqual([[100, 4, C5]]);
      // Within a block, the later extrinsic first.
      const ofC4 = [[105, 1, C4], [101, 4, C4], [101, 1, C1], [101, 1, C4], [100, 3, C4]];
      expect(await of(C4.toUpperCase().replace('X', 'x'))).toEqual(ofC4);
      expect(await of(C5, C3)).toEqual([[100, 4, C5], [100, 2, C3]]);
      const day = '&start_date=2026-05-05&end_date=2026-05-05';
      expect(await served.ask(`/api/contract-transactions-search?${addresses(C4)}${day}`)).toHaveLength(1);
    }); // biome-ignore format: rows

    it('of Ethereum have the fields of the signed payload', async () => {
      const [, emitter, called] = await transactions(C4).then((rows) => rows.filter((row) => row.extrinsic_index === 1 || row.block_number === 105));
      const shared = {
        ...HUB,
        transaction_hash: '0x',
        eth_hash: TRANSFER_HASH,
        block_number: 101,
        extrinsic_index: 1,
        timestamp: '2026-05-01T10:00:06.000Z',
        from_address: SENDER,
        to_address: C4,
        method: 'ethTransact',
        value: 1,
        value_planck: '10000000000',
        gas_limit: 100_000,
        gas_price: 20,
        weight_ref_time: 1000,
        weight_proof_size: 20,
        fee: null,
        fee_planck: null,
        success: true,
        error: null,
      };
      expect(called).toEqual({ ...shared, contract_address: C4 });
      expect(emitter).toEqual({ ...shared, contract_address: C1 });
    }); // biome-ignore format: rows
  });

  describe('calls', () => {
    const details = (more = '') => served.ask(`/api/contract-call-details${more}`);

    it('are the transactions whose contract was called, also reverted and failed ones', async () => {
      const fields = [
        'block_number',
        'extrinsic_index',
        'contract_address',
        'success',
        'input_size',
        'selector',
        'num_events',
      ];
      expect(only(await details(), ...fields)).toEqual([
        [105, 1, C4, true, 0, null, 0],
        [101, 5, C1, false, 0, null, 0],
        [101, 4, C4, false, 6, '0xa9059cbb', 0],
        [101, 3, C9, true, 3, null, 0],
        [101, 1, C4, true, 6, '0xa9059cbb', 0],
        [100, 4, C1, true, 4, '0xaabbccdd', 1],
        [100, 4, C5, true, 3, null, 0],
      ]);
    });

    it('have the gas of the weight when native, of the transaction when Ethereum', async () => {
      const fields = ['gas_used', 'gas_limit', 'gas_price', 'weight_ref_time', 'weight_proof_size', 'storage_deposit_limit', 'value', 'eth_hash', 'error'];
      const [ethCall, failed, reverted] = only(await details('?relay_chain=polkadot'), ...fields);
      const unlimited = '18446744073709551615';
      expect(ethCall).toEqual([null, Number(unlimited), 9, 1000, 20, null, 2, TRANSFER_HASH, null]);
      expect((await served.app.inject('/api/contract-call-details')).body).toContain(`"gas_limit":${unlimited},`);
      expect(failed).toEqual([333, 7, null, 333, null, '77', 2, null, '{"badOrigin":null}']);
      expect(reverted).toEqual([null, 100_000, 20, 1000, 20, null, 1, TRANSFER_HASH, '{"module":{"index":"60","error":"0x05000000"}}']);
      expect(await details('?relay_chain=kusama')).toEqual([]);
      expect(await served.status('/api/contract-call-details?relay_chain=westend')).toBe(422);
    }); // biome-ignore format: rows
  });

  describe('codes', () => {
    it('are those of the newest snapshot, found by their owner in any encoding', async () => {
      expect(await served.ask(`/api/code-by-owner?${addresses(ALICE_GENERIC)}`)).toEqual([
        {
          ...HUB,
          code_hash: code(3),
          owner: ALICE,
          code_type: 'PVM',
          code_len: 4096,
          deposit: 2.0000000001,
          deposit_planck: '20000000001',
          refcount: 3,
          behaviour_version: 1,
          snapshot_block: 7,
          snapshot_at: '2026-05-03T01:00:00.000Z',
        },
      ]);
      expect(await served.ask(`/api/code-by-owner?${addresses(ALICE, BOB)}`)).toHaveLength(2);
      expect(await served.status('/api/code-by-owner')).toBe(422);
    });

    it('are joined with their contracts, also on the test network', async () => {
      const seen = async (more: string) =>
        only(await served.ask(`/api/contracts-with-code${more}`), 'relay_chain', 'contract_address', 'code_hash', 'owner', 'code_type', 'code_len');
      expect(await seen('?relay_chain=polkadot')).toEqual([
        ['polkadot', C1, code(7), null, null, null],
        ['polkadot', C3, code(3), ALICE, 'PVM', 4096],
        ['polkadot', C9, code(9), BOB, 'EVM', 4096],
      ]);
      expect(await seen('?relay_chain=westend')).toEqual([['westend', C5, code(1), ALICE_GENERIC, 'PVM', 4096]]);
      expect(await seen(`?owner=${ALICE}`)).toHaveLength(2);
      expect(await seen(`?contract_address=${C9}`)).toHaveLength(1);
      expect(await served.ask(`/api/contracts-with-code?contract_address=${C9}`)).toEqual([
        expect.objectContaining({ storage_bytes: 128, storage_items: 2, snapshot_at: '2026-05-03T01:00:00.000Z' }),
      ]);
    }); // biome-ignore format: rows
  });
});

describe('when a block without a time comes alone', () => {
  it('the day that adjoins it lacks no block any more', async () => {
    const day = '?start_date=2026-05-09&end_date=2026-05-09';
    expect(await heat('contract-calls', day)).toEqual([]);
    await served.take(blocksOf('statemint', [{ number: 108 }]));
    expect(await heat('contract-calls', day)).toEqual([['2026-05-09', 0]]);
    expect(await heat('contracts-deployed', day)).toEqual([['2026-05-09', 0]]);
  });
});

describe('when blocks are replaced', () => {
  it('nothing of the replaced blocks remains', async () => {
    await served.take(REPLACED);
    expect(await heat('contracts-deployed', '?start_date=2026-05-02&end_date=2026-05-02')).toEqual([
      ['2026-05-02', 0],
    ]);
    expect(await heat('contract-calls', '?start_date=2026-05-05&end_date=2026-05-05')).toEqual([
      ['2026-05-05', 0],
    ]);
    expect(await served.ask(`/api/contracts-search?${addresses(C6)}`)).toEqual([]);
    expect(only(await served.ask('/api/contract-call-details?limit=1'), 'block_number')).toEqual([[101]]);
  });
});

describe('numbers above 64 bits in the arguments of a call', () => {
  it('are read as those in texts are, and so is what stands beside them', async () => {
    const call = (value: string) => ({
      call: 'revive.call',
      args: { dest: C6, value, gas_limit: { refTime: '5', proofSize: '9' }, data: '0x01020304' },
      signer: ALICE,
    });
    const [quoted] = blocksOf('asset-hub-polkadot', [
      {
        number: 900,
        time: '2026-06-01T12:00:00Z',
        extrinsics: [call('18446744073709551617'), call('1')],
      },
    ]) as [InputLine];
    const line = quoted.line.replace('"18446744073709551617"', '18446744073709551617');
    expect(line).not.toBe(quoted.line);
    await served.take([{ ...quoted, line }]);
    const rows = (await transactions(C6)).filter(({ block_number }) => block_number === 900);
    expect(only(rows, 'extrinsic_index', 'value_planck', 'gas_limit')).toEqual([
      [2, '1', 5],
      [1, '18446744073709551617', 5],
    ]);
  });
});
