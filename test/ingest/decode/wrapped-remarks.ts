import { decodeExtrinsic } from '../../../ingest/decode/calls.ts';

/** Remarks inside wrappers, and which of them ran. */

export const [ALICE, BOB, CAROL] = ['aa', 'bb', 'cc'].map((byte) => `0x${byte.repeat(32)}`) as [
  string,
  string,
  string,
];

export type Call = { method: string; args: Record<string, unknown> };
export const call = (method: string, args: Record<string, unknown> = {}): Call => ({ method, args });
export const remark = (text: string) => call('system.remark', { remark: text });
export const batch = (...calls: Call[]) => call('utility.batch', { calls });
export const batchAll = (...calls: Call[]) => call('utility.batchAll', { calls });
export const forceBatch = (...calls: Call[]) => call('utility.forceBatch', { calls });
export const proxy = (inner: Call, real = BOB) => call('proxy.proxy', { real: { id: real }, call: inner });

/** `'utility.BatchInterrupted': [1]` as an event. */
export const event = (method: string, ...data: unknown[]) => ({ method, data });
export const ITEM = event('utility.ItemCompleted');
export const FAILED = event('utility.ItemFailed', { token: 'Frozen' });
export const DONE = event('utility.BatchCompleted');
export const DONE_WITH_ERRORS = event('utility.BatchCompletedWithErrors');
export const interrupted = (at: unknown) => event('utility.BatchInterrupted', at, { token: 'Frozen' });
export const PROXY_OK = event('proxy.ProxyExecuted', { ok: null });
export const PROXY_ERR = event('proxy.ProxyExecuted', { err: { token: 'Frozen' } });

export function run(extrinsic: Call, events: unknown[] = [], success: unknown = true) {
  return decodeExtrinsic({ ...extrinsic, signature: { signer: { id: ALICE } }, success, events });
}
export const NAMES: Record<string, string> = { [ALICE]: 'alice', [BOB]: 'bob', [CAROL]: 'carol' };

/** What ran, without the wrappers themselves: `path text actor`. */
export function remarks(extrinsic: Call, events: unknown[] = [], success: unknown = true): string[] {
  return run(extrinsic, events, success)
    .calls.filter(({ pallet }) => pallet === 'system')
    .map(
      ({ path, args, actor }) =>
        `${path} ${args.remark} ${actor === null ? 'root' : (NAMES[actor] ?? actor)}`,
    );
}
