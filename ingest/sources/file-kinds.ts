import { z } from 'zod';

// What several parts of a file of sources hold.

export const isAddress = (text: string): boolean => /^https?:/.test(text);

/** Addresses are told in messages and logs. */
export const address = z
  .string()
  .refine(
    (text) => isAddress(text) && URL.canParse(text),
    'is not an http or https URL such as http://127.0.0.1:8080',
  )
  .refine(
    (text) => !URL.canParse(text) || new URL(text).username === '',
    'must not hold a name or password: it is shown in messages',
  );

export const isNodeAddress = (text: string): boolean => /^(?:wss?|https?):/.test(text) && URL.canParse(text);

/** Messages tell only the host of a node, so that its address may hold a key. */
export const nodeAddress = z
  .string()
  .refine(isNodeAddress, 'is no ws, wss, http or https URL such as wss://127.0.0.1:9944');

/** Reads something that a place of the file names; what it throws is told with that place. */
export type InPlace = <T>(place: readonly PropertyKey[], read: () => T) => T;
