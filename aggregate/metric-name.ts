/** The table name of a record: `daily_fees` for `DailyFees`. */
export function toSnakeCase(record: string): string {
  return record.replace(/(?<!^)([A-Z])/g, '_$1').toLowerCase();
}

/** The command-line name of a table: `daily-fees` for `daily_fees`. */
export const toKebabCase = (name: string): string => name.replaceAll('_', '-');
