import type { Random } from '../../ingest/demo/random.ts';
import type { Chain } from '../reference/registry.ts';
import type { ShapedEvent, ShapedExtrinsic } from '../reference/shaped.ts';
import { type Key, multiAddress, printed } from './accounts.ts';
import { BAD_ORIGIN, hashOf, type Item } from './items.ts';
import { amountOf } from './spelling.ts';

/** Somebody's transaction with its fee; what fails leaves nothing but that. */
export function transaction(
  random: Random,
  chain: Chain,
  { call, args, signer, events }: Pick<Item, 'call' | 'args' | 'events'> & { readonly signer: Key },
  { isWhole, success }: { readonly isWhole: boolean; readonly success: boolean },
): ShapedExtrinsic {
  const tip = random.chance(0.2) ? random.whole(1, 1000) : 0;
  const address = printed(random, signer, chain);
  // Since format 5 a transaction can be authorised in other ways than by a signature.
  const isGeneral = !isWhole && random.chance(0.15);
  const paid = feeEvents(random, address, tip);
  return {
    call,
    args,
    ...(isGeneral ? {} : { signer: multiAddress(random, signer, chain) }),
    nonce: String(random.whole(0, 99)),
    hash: hashOf(random),
    tip: String(tip),
    ...(paid.length === 0 ? estimated(random) : {}),
    paysFee: random.pick([true, true, true, false, null]),
    success,
    ...outcomes(random, isWhole, success, [
      ['balances.Withdraw', address, '1'],
      ...(success ? events : []),
      ...paid,
    ]),
  };
}

/** What tells of a fee: an event of three or four fields, one of another asset, both, or none. */
export function feeEvents(random: Random, payer: string, tip = 0): readonly ShapedEvent[] {
  const fee = amountOf(random, BigInt(random.whole(0, 9) === 0 ? 0 : random.whole(1, 2_000_000_000)));
  const name = 'transactionPayment.TransactionFeePaid';
  const own: ShapedEvent = [name, payer, fee, String(tip)];
  const ofOther = random.pick<ShapedEvent>([
    ['assetTxPayment.AssetTxFeePaid', payer, fee, '0', { parents: '1' }],
    ['pgas.PGASFeePaid', payer, '21000'],
  ]);
  return random.pick<readonly ShapedEvent[]>([
    ...Array<readonly ShapedEvent[]>(8).fill([own]),
    [[...own, '7']],
    [ofOther],
    [ofOther, own],
    [own, [name, payer, '5', '0']],
    [],
    [],
  ]);
}

/** Without an event a source may still have an estimate. */
function estimated(random: Random): object {
  const partialFee = String(random.whole(0, 10 ** 9));
  const kind = random.pick(['preDispatch', 'postDispatch', 'fromEvent']);
  return random.chance(0.5) ? { info: { partialFee, kind } } : {};
}

/** The events of an extrinsic with the one that ends it; of some it was lost, or comes twice. */
export function outcomes(
  random: Random,
  isWhole: boolean,
  success: boolean,
  events: readonly ShapedEvent[],
): Pick<ShapedExtrinsic, 'events' | 'outcome'> {
  const weight = { refTime: String(random.whole(1, 10 ** 9)), proofSize: String(random.whole(0, 10 ** 5)) };
  const info = { weight: random.chance(0.1) ? '12345' : weight, class: 'Normal', paysFee: 'Yes' };
  const ending: ShapedEvent = success
    ? ['system.ExtrinsicSuccess', info]
    : ['system.ExtrinsicFailed', BAD_ORIGIN, info];
  if (isWhole || !random.chance(0.06)) return { events: [...events, ending] };
  if (random.chance(0.5)) return { events, outcome: false };
  return { events: [...events, ending, random.pick<ShapedEvent>([ending, ['system.ExtrinsicSuccess', {}]])] };
}
