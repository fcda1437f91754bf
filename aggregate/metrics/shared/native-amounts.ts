import { type Column, type NumberOptions, planck, real, widePlanck } from '../../columns.ts';
import { scaledDown } from './amounts.ts';

// An amount is served in two columns: in native tokens, and exact in planck.

type Both<Name extends string> = Name | `${Name}_planck`;
type AmountOptions = NumberOptions & { readonly title: string };

export function amountColumns<const Name extends string>(
  name: Name,
  doc: string,
  options: AmountOptions,
): Record<Both<Name>, Column> {
  return {
    [name]: real(inUnit(doc, 'native tokens'), { ...options, unit: 'native' }),
    [`${name}_planck`]: planck(inUnit(doc, 'planck'), exact(options)),
  } as Record<Both<Name>, Column>;
}

/** As `amountColumns`, for sums that may exceed 128 bits. */
export function sumColumns<const Name extends string>(
  name: Name,
  doc: string,
  options: AmountOptions,
): Record<Both<Name>, Column> {
  return {
    ...amountColumns(name, doc, options),
    [`${name}_planck`]: widePlanck(inUnit(doc, 'planck'), exact(options)),
  };
}

/** Inserts the unit before the part of the text that says when the value is null. */
function inUnit(doc: string, unit: string): string {
  const [amount, ...rest] = doc.split('; ');
  return [`${amount}, in ${unit}`, ...rest].join('; ');
}

const exact = (options: AmountOptions): AmountOptions => ({
  ...options,
  title: `${options.title} in planck`,
  isDrawn: false,
});

/** The values of both columns. */
export function amounts(name: string, amount: bigint | null, decimals: number): Record<string, unknown> {
  return {
    [name]: amount === null ? null : scaledDown(amount, decimals),
    [`${name}_planck`]: amount === null ? null : amount.toString(),
  };
}
