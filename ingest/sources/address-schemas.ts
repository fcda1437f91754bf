import { z } from 'zod';

// Schemas of addresses in a sources file.

export const isAddress = (text: string): boolean => /^https?:/.test(text);

/** Messages and logs show these addresses, so they may not contain credentials. */
export const address = z
  .string()
  .refine(
    (text) => isAddress(text) && URL.canParse(text),
    'is not an http or https URL such as http://127.0.0.1:8080',
  )
  .refine(
    (text) => !URL.canParse(text) || new URL(text).username === '',
    'must not contain a username or password, because messages show it',
  );

export const isNodeAddress = (text: string): boolean => /^(?:wss?|https?):/.test(text) && URL.canParse(text);

/** Messages show only the host of a node, so its address may contain a key. */
export const nodeAddress = z
  .string()
  .refine(isNodeAddress, 'is not a ws, wss, http or https URL such as wss://127.0.0.1:9944');

/** Calls `read`, and adds the path in the file to an error that it throws. */
export type AtPath = <T>(place: readonly PropertyKey[], read: () => T) => T;
