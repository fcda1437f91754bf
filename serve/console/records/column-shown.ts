import { type Column, clickhouseType } from '../../../infra/clickhouse/columns.ts';
import type { Shown } from '../../../infra/clickhouse/units.ts';

const IDENTIFIERS = /(^|_)(index|id|core|track|task|cycle|begin|end)$/;
const HEIGHTS = /(^|_)block(_number)?$/;

/** The title and unit of a column by its name and type. */
export function shownColumn(name: string, column: Column): Pick<Shown, 'title' | 'unit'> {
  const words = name.replaceAll('_', ' ');
  const title = words.charAt(0).toUpperCase() + words.slice(1);
  const type = clickhouseType(column);
  if (/U?Int/.test(type) && !/Int128|Int256/.test(type)) {
    return { title, unit: IDENTIFIERS.test(name) ? 'identifier' : HEIGHTS.test(name) ? 'height' : 'count' };
  }
  if (!type.includes('Float')) return { title, unit: null };
  if (name.endsWith('_usd')) return { title, unit: 'usd' };
  return {
    title,
    unit: /approval|share|rate/.test(name) ? 'ratio' : /conviction|pct/.test(name) ? 'count' : 'native',
  };
}
