import { parseAccount } from './accounts.ts';
import type { Event } from './calls.ts';
import type { Json } from './json.ts';
import { parseAmount } from './numbers.ts';

type Field = 'account' | 'h160' | 'amount' | 'flag' | 'any';

/** The field lists that runtimes have given to the events whose fields are read here. */
const SHAPES: Readonly<Record<string, readonly (readonly Field[])[]>> = {
  // The first runtimes of Kusama added the fee of the transfer.
  'balances.Transfer': [
    ['account', 'account', 'amount'],
    ['account', 'account', 'amount', 'amount'],
  ],
  'balances.Deposit': [['account', 'amount']],
  'balances.Withdraw': [['account', 'amount']],
  'system.NewAccount': [['account']],
  'system.KilledAccount': [['account']],
  'treasury.Deposit': [['amount']],
  'transactionPayment.TransactionFeePaid': [['account', 'amount', 'amount']],
  'messageQueue.Processed': [['any', 'any', 'any', 'flag']],
  'ethereum.Executed': [
    ['h160', 'h160', 'any', 'any'],
    ['h160', 'h160', 'any', 'any', 'any'],
  ],
};

const IS_READABLE: Readonly<Record<Field, (value: Json | undefined) => boolean>> = {
  account: (value) => parseAccount(value) !== null,
  h160: (value) => parseAccount(value)?.length === 42,
  amount: (value) => parseAmount(value) !== null,
  flag: (value) => typeof value === 'boolean',
  any: () => true,
};

/** Why the fields of an event cannot be trusted; null when they can, or when nobody reads them. */
export function refusalReason(event: Event): string | null {
  const shapes = SHAPES[`${event.pallet}.${event.method}`];
  if (!shapes) return null;
  const fields = shapes.find((shape) => shape.length === event.data.length);
  if (!fields) return `${event.data.length} fields`;
  const unreadable = fields.findIndex((field, index) => !IS_READABLE[field](event.data[index]));
  return unreadable < 0 ? null : `field ${unreadable} is not a readable ${fields[unreadable]}`;
}

/** A field that the shape of its event has been checked to be an amount. */
export function amountAt(event: Event, index: number): bigint {
  return checked(parseAmount(event.data[index]));
}

/** A field that the shape of its event has been checked to be an account. */
export function accountAt(event: Event, index: number): string {
  return checked(parseAccount(event.data[index]));
}

function checked<T>(value: T | null): T {
  if (value === null) throw new Error('a fact was read before its shape was checked');
  return value;
}
