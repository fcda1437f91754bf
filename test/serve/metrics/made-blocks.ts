import { ALICE } from './contract-client.ts';

/** Days around the earliest ones that are served, and around the ends of months. */
export const DAYS = ['2022-12-30', '2022-12-31', '2023-01-01', '2023-01-02', '2023-01-31', '2023-02-01'];

export function madeBlock(number: number, day: string): object {
  const hash = (of: number) => `0x${String(of).padStart(64, '0')}`;
  const method = (pallet: string, method: string) => ({ pallet, method });
  const now = String(Date.parse(`${day}T12:00:00Z`));
  const plain = {
    signature: null,
    info: {},
    events: [{ method: method('system', 'ExtrinsicSuccess'), data: [{}] }],
    success: true,
    paysFee: false,
    tip: null,
    hash: hash(1),
  };
  return {
    number: String(number),
    hash: hash(number),
    parentHash: hash(number - 1),
    onInitialize: { events: [] },
    extrinsics: [
      { ...plain, method: method('timestamp', 'set'), args: { now } },
      {
        ...plain,
        method: method('system', 'remark'),
        args: {},
        signature: { signer: { id: ALICE } },
        paysFee: false,
      },
    ],
    onFinalize: { events: [] },
    finalized: true,
  };
}
