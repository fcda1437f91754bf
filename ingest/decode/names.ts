// Normalises names of pallets and calls. Sidecar writes `balances.transferKeepAlive`, metadata
// `Balances.transfer_keep_alive`, and runtimes renamed pallets (`parasInherent`, `paraInherent`).

import { RENAMED_PALLETS } from './renamed.ts';

export type CallName = { pallet: string; call: string };

const renamed = new Map(Object.entries(RENAMED_PALLETS));

/** The pallet's present name in lowerCamel. */
export function palletName(raw: string): string {
  const name = lowerCamel(raw);
  return renamed.get(name) ?? name;
}

function lowerCamel(raw: string): string {
  if (/^[a-z][A-Za-z0-9]*$/.test(raw)) return raw; // as Sidecar writes nearly all of them
  // The letter is optional, so a long run of separators is matched once.
  const joined = raw.replace(/[_\s-]+([A-Za-z0-9]?)/g, (all, first: string) => first.toUpperCase() || all);
  if (/^[A-Z0-9]+$/.test(joined)) return joined.toLowerCase();
  // A leading run of capitals is one word, and its last capital begins the next: EVMAccounts.
  return joined.replace(/^[A-Z]+(?=[A-Z][a-z])|^[A-Z]/, (word) => word.toLowerCase());
}

/** An event's name as runtimes write it. */
export function pascalCase(raw: string): string {
  if (/^[A-Z][A-Za-z0-9]*$/.test(raw)) return raw;
  const name = lowerCamel(raw);
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** The two names of a call or an event, unchanged, from `{pallet, method}` or `'pallet.method'`. */
export function methodNames(method: unknown): [pallet: string, name: string] | null {
  if (typeof method === 'string') {
    const [pallet, name, ...rest] = method.split('.');
    return pallet && name && rest.length === 0 ? [pallet, name] : null;
  }
  const { pallet, method: name } = asRecord(method) ?? {};
  return typeof pallet === 'string' && typeof name === 'string' ? [pallet, name] : null;
}

export function callName(method: unknown): CallName | null {
  const names = methodNames(method);
  return names && { pallet: palletName(names[0]), call: lowerCamel(names[1]) };
}

/** The value as a JSON object, or null. */
export function asRecord(value: unknown): Record<string, unknown> | null {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return null;
  return value as Record<string, unknown>;
}
