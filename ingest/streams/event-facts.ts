import { addressSql, amountSql, keySql } from './parse-sql.ts';

/**
 * What the positions of an event's data mean, for the events that facts are read from. An event whose length is
 * not listed is refused: it stays an event, but no fact is taken from it.
 */
interface EventFact {
  readonly lengths: readonly number[];
  /** Zero-based positions. */
  readonly account?: number;
  readonly counterparty?: number;
  readonly amount?: number;
}

export const EVENT_FACTS: Readonly<Record<string, EventFact>> = {
  // Kusama's first runtimes carried the fee as a fourth field.
  'balances.Transfer': { lengths: [3, 4], account: 0, counterparty: 1, amount: 2 },
  'balances.Deposit': { lengths: [2], account: 0, amount: 1 },
  'balances.Withdraw': { lengths: [2], account: 0, amount: 1 },
  'system.NewAccount': { lengths: [1], account: 0 },
  'system.KilledAccount': { lengths: [1], account: 0 },
  'treasury.Deposit': { lengths: [1], amount: 0 },
  'transactionPayment.TransactionFeePaid': { lengths: [3], account: 0, amount: 1 },
  'messageQueue.Processed': { lengths: [4] },
  'ethereum.Executed': { lengths: [4, 5], account: 0, counterparty: 1 },
};

const names = Object.keys(EVENT_FACTS);
const facts = Object.values(EVENT_FACTS);
const quoted = `[${names.map((name) => `'${name}'`).join(', ')}]`;

/** One-based position of a part in `data`, 0 when the event has none. */
function positionSql(name: string, part: 'account' | 'counterparty' | 'amount'): string {
  const positions = facts.map((fact) => (fact[part] ?? -1) + 1);
  return `transform(${name}, ${quoted}, [${positions.join(', ')}], 0)`;
}

export const accountSql = (name: string, data: string, part: 'account' | 'counterparty') =>
  keySql(addressSql(`${data}[${positionSql(name, part)}]`));

export const factAmountSql = (name: string, data: string) => {
  const position = positionSql(name, 'amount');
  return `if(${position} = 0, NULL, ${amountSql(`${data}[${position}]`)})`;
};

/** Why no fact is taken from an event; empty when one is, or when none is looked for. */
export function refusedSql(
  name: string,
  data: string,
  columns: { account: string; counterparty: string; amount: string },
): string {
  const unknownLength = Object.entries(EVENT_FACTS)
    .map(
      ([event, { lengths }]) => `(${name} = '${event}' AND length(${data}) NOT IN (${lengths.join(', ')}))`,
    )
    .join(' OR ');
  return `multiIf(
    NOT has(${quoted}, ${name}), '',
    ${unknownLength}, concat('unknown number of fields: ', toString(length(${data}))),
    ${positionSql(name, 'account')} > 0 AND ${columns.account} = '', 'account: not an address',
    ${positionSql(name, 'counterparty')} > 0 AND ${columns.counterparty} = '', 'counterparty: not an address',
    ${positionSql(name, 'amount')} > 0 AND isNull(${columns.amount}), 'amount: not an unsigned integer',
    '')`;
}
