/** The name of the table of a metric by that of its record: `daily_fees` of `DailyFees`. */
export function snake(record: string): string {
  return record.replace(/(?<!^)([A-Z])/g, '_$1').toLowerCase();
}

/** Its name on the command line by that of its table: `daily-fees`. */
export const kebab = (name: string): string => name.replaceAll('_', '-');
