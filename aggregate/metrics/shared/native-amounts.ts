import { type Column, planck, real, widePlanck } from '../../../infra/clickhouse/columns.ts';
import { scaledDown } from './amounts.ts';

// An amount of one account is served in two columns: in native tokens, and exact in planck.

type Both<Name extends string> = Name | `${Name}_planck`;

/** Both columns of an amount. */
export function amountColumns<const Name extends string>(
  name: Name,
  doc: string,
  options: { nullable?: boolean } = {},
): Record<Both<Name>, Column> {
  return {
    [name]: real(`${doc}, in native tokens: planck / 10^decimals`, options),
    [`${name}_planck`]: planck(`${doc}, in planck`, options),
  } as Record<Both<Name>, Column>;
}

/** Both columns of a sum of such amounts. */
export function sumColumns<const Name extends string>(
  name: Name,
  doc: string,
  options: { nullable?: boolean } = {},
): Record<Both<Name>, Column> {
  return {
    ...amountColumns(name, doc, options),
    [`${name}_planck`]: widePlanck(`${doc}, in planck`, options),
  };
}

/** The values of both columns. */
export function amounts(name: string, planck: bigint | null, decimals: number): Record<string, unknown> {
  return {
    [name]: planck === null ? null : scaledDown(planck, decimals),
    [`${name}_planck`]: planck === null ? null : planck.toString(),
  };
}
