import { accountRules } from './accounts.ts';
import { bountyRules } from './bounties.ts';
import { contractRules } from './contracts.ts';
import { feeRules } from './fees.ts';
import { outcomeRules } from './outcomes.ts';
import type { Row, Rule, Sibling } from './rule.ts';
import { wrapperRules } from './wrappers.ts';

/** Rules by what they are about; the inputs of all of them go together. */
export const RULES: Readonly<Record<string, readonly Rule[]>> = {
  fees: feeRules,
  outcomes: outcomeRules,
  wrappers: wrapperRules,
  bounties: bountyRules,
  accounts: accountRules,
  contracts: contractRules,
};

/** The fields that a case names, of the rows that it is about; a time as the words `a time`. */
export function rowsOfCase({ of, rows }: Sibling, answer: readonly Row[]): readonly Row[] {
  const found = answer.filter((row) => Object.entries(of).every(([field, value]) => row[field] === value));
  return found.map((row, index) =>
    Object.fromEntries(
      Object.keys(rows[index] ?? rows[0] ?? row).map((field) => [
        field,
        shown(row[field], rows[index]?.[field]),
      ]),
    ),
  );
}

const shown = (value: unknown, expected: unknown) =>
  expected === 'a time' && typeof value === 'string' ? 'a time' : value;
