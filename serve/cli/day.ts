import { InvalidArgumentError } from 'commander';

/** A day of the calendar, as strict as the API is about its dates. */
export function parseDay(text: string): string {
  const day = new Date(`${text}T00:00:00Z`);
  const isDay =
    /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
  if (!isDay) throw new InvalidArgumentError('It is not a day of the form YYYY-MM-DD.');
  return text;
}
