import { describe, expect, test } from 'vitest';
import { encodeAddress } from '../../../ingest/chains/address.ts';
import { decodeBlock, decodeExtrinsic } from '../../../ingest/decode/calls.ts';
import { recordedBlock } from './recorded.ts';

/** The executed nested calls of one recorded extrinsic, one line each: path, call, actor. */
function executed(file: string, height: number, index: number, prefix: number): string[] {
  const { calls } = decodeBlock(recordedBlock(file, height));
  return calls
    .filter((call) => call.extrinsic_index === index)
    .map(({ path, pallet, call, actor }) => {
      return `${path} ${pallet}.${call} ${actor === null ? 'root' : encodeAddress(actor, prefix)}`;
    });
}

function eventData(file: string, height: number, index: number, name: string): unknown[] {
  const event = recordedBlock(file, height).extrinsics[index]?.events.find(
    ({ method }) => method.method === name,
  );
  if (!event) throw new Error(`no ${name}`);
  return event.data;
}

describe('on old runtimes', () => {
  test('a batch without marks between its items ran whole when it completed', () => {
    const signer = 'HcZxdm8z7oHwpmRfKCDQieJsqwbvtkEuTdp8EAqEZPx4NFB';
    expect(executed('blocks/kusama', 8113510, 3, 2)).toEqual([
      `0 system.remark ${signer}`,
      `1 balances.transfer ${signer}`,
      `2 system.remark ${signer}`,
    ]);
    expect(executed('blocks/kusama', 5265416, 1, 2)).toHaveLength(10);
  });

  test('sudoAs runs for the account that it names, and not at all when it reports false', () => {
    expect(executed('blocks/kusama', 9253, 3, 2)).toEqual([]);
    expect(executed('blocks/kusama', 9253, 5, 2)).toEqual([
      '0 staking.withdrawUnbonded F7LENZtaVzUeog9fNccW15qUhyMMXKPLhH6LNCv4QGg1ADv',
    ]);
  });
});

describe('on new runtimes', () => {
  const hub = 'runtime/asset-hub-polkadot';

  test('a batch that was interrupted ran up to its failing call', () => {
    expect(executed(hub, 5, 3, 0)).toEqual([
      '0 balances.transferKeepAlive 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5',
    ]);
    expect(executed('runtime/coretime-polkadot', 22, 8, 42)).toEqual([]);
  });

  test('a batchAll that failed ran nothing', () => {
    expect(executed(hub, 5, 4, 0)).toEqual([]);
  });

  test('a forceBatch ran the calls whose item completed, and what is inside those', () => {
    const bob = '5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty';
    expect(executed('runtime/polkadot', 1036848, 3, 42)).toEqual([
      `1 utility.batchAll ${bob}`,
      `1.0 system.remarkWithEvent ${bob}`,
      `1.1 system.remarkWithEvent ${bob}`,
    ]);
  });

  test('the actor of asDerivative is the derived account, as its remark tells', () => {
    const [who] = eventData(hub, 5, 7, 'Remarked');
    expect(executed(hub, 5, 7, 0)).toEqual([`0 system.remarkWithEvent ${who}`]);
  });

  test('the actor of asMultiThreshold1 is the multisig account, as its remark tells', () => {
    const [who] = eventData(hub, 11, 4, 'Remarked');
    expect(executed(hub, 11, 4, 0)).toEqual([`0 system.remarkWithEvent ${who}`]);
  });

  test('the actor of asMulti is the multisig account of the event, and only the last approval runs', () => {
    expect(executed(hub, 10, 2, 0)).toEqual([]);
    expect(executed(hub, 11, 3, 0)).toEqual([]);
    expect(executed(hub, 11, 2, 0)).toEqual([
      `0 balances.transferKeepAlive ${eventData(hub, 11, 2, 'MultisigExecuted')[2]}`,
    ]);
  });

  test('root runs what sudo holds, and dispatchAs inside it runs for the account of its origin', () => {
    expect(executed(hub, 5, 8, 0)).toEqual([
      '0 utility.dispatchAs root',
      '0.0 balances.transferKeepAlive 16D2eVuK5SWfwvtFD3gVdBC2nc2BafK31BY6PrbZHBAGew7L',
    ]);
  });

  test('a proxy runs for the account behind it, through a batch too, and not when it was not allowed', () => {
    const real = '15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5';
    expect(executed(hub, 7, 4, 0)).toEqual([
      `0 utility.batch ${real}`,
      `0.0 system.remarkWithEvent ${real}`,
      `0.1 balances.transferKeepAlive ${real}`,
    ]);
    expect(executed(hub, 7, 3, 0)).toEqual([]);
  });

  test('votes in a batch keep their arguments', () => {
    const { calls } = decodeBlock(recordedBlock('runtime/polkadot', 1036793));
    expect(calls.map((call) => [call.path, call.call, call.args])).toEqual([
      ['0', 'vote', { poll_index: '0', vote: { standard: { vote: '0x86', balance: '30000000000000000' } } }],
      ['1', 'vote', { poll_index: '1', vote: { standard: { vote: '0x02', balance: '300000000000' } } }],
    ]);
  });

  test('wrapping extrinsics get the domain of what they wrap, executed or not', () => {
    expect(decodeBlock(recordedBlock('runtime/asset-hub-polkadot', 5)).domains).toEqual([
      { extrinsic_index: 2, domain: 'Assets' },
      { extrinsic_index: 3, domain: 'Assets' },
      { extrinsic_index: 4, domain: 'System' },
      { extrinsic_index: 5, domain: 'Assets' },
      { extrinsic_index: 6, domain: 'Assets' },
      { extrinsic_index: 7, domain: 'System' },
      { extrinsic_index: 8, domain: 'Assets' },
    ]);
  });
});

describe('odd input', () => {
  test.each([null, undefined, 7, 'text', [], {}, { extrinsics: null }, { extrinsics: {} }])(
    'a block that is %j is refused, not thrown',
    (block) => {
      expect(decodeBlock(block).refused).toEqual([
        { extrinsic_index: null, reason: 'extrinsics: not a list', raw: expect.any(String) },
      ]);
    },
  );

  test('an extrinsic without a name is refused and hides no other', () => {
    const block = recordedBlock('runtime/polkadot', 1036793);
    const odd = [{ method: 7 }, null, 'text', { method: 'nameless' }];
    const decoded = decodeBlock({ extrinsics: [...odd, ...block.extrinsics] });
    expect(decoded.refused.map((refused) => refused.extrinsic_index)).toEqual([0, 1, 2, 3]);
    expect(decoded.calls.map((call) => call.extrinsic_index)).toEqual([9, 9]);
  });

  test('calls nested without end are refused, not thrown', () => {
    let call: unknown = { method: 'system.remark', args: {} };
    for (let depth = 0; depth < 100_000; depth += 1)
      call = { method: 'utility.batch', args: { calls: [call] } };
    const { refused } = decodeBlock({ extrinsics: [{ ...(call as object), success: true, events: [] }] });
    expect(refused).toHaveLength(1);
  });

  test.each([
    [{ args: null, events: null }],
    [{ args: { calls: 'none' }, events: [] }],
    [
      {
        args: { calls: [null, 7, '0x00', {}] },
        events: ['text', null, { method: 'utility.BatchCompleted' }],
      },
    ],
    [
      {
        args: { calls: [{ method: 'proxy.proxy' }] },
        events: [{ method: 'utility.BatchCompleted', data: 7 }],
      },
    ],
  ])('a batch of %j runs what can be read', (rest) => {
    const extrinsic = { method: 'utility.batch', signature: null, success: true, ...rest };
    expect(() => decodeExtrinsic(extrinsic)).not.toThrow();
    expect(decodeBlock({ extrinsics: [extrinsic] }).refused).toEqual([]);
  });
});
