import { isArray, isObject, type Json, type JsonObject, valuesOf } from './json.ts';
import { parseIndex } from './numbers.ts';

/** A pallet and the call or event in it, spelled as Sidecar spells them. */
export type MethodName = { readonly pallet: string; readonly method: string };
export type Call = MethodName & { readonly args: JsonObject };
export type Event = MethodName & { readonly data: readonly Json[] };

/** An event with its place: its number in the block, and the extrinsic that emitted it, if one did. */
export type PlacedEvent = Event & {
  readonly index: number;
  readonly extrinsic: number | null;
  readonly phase: 'onInitialize' | 'extrinsic' | 'onFinalize';
};

/** Archives that copy metadata spell names with other capitals; all are read as Sidecar's. */
export function parseMethodName(value: Json | undefined, kind: 'call' | 'event'): MethodName | null {
  const [pallet, method] = isObject(value)
    ? [value.pallet, value.method]
    : typeof value === 'string'
      ? value.split('.')
      : [];
  if (typeof pallet !== 'string' || typeof method !== 'string') return null;
  return { pallet: lowerCamel(pallet), method: kind === 'event' ? upperFirst(method) : lowerCamel(method) };
}

/** A call, at the top of an extrinsic or nested in the arguments of another; null when it is not decoded. */
export function parseCall(value: Json | undefined): Call | null {
  if (!isObject(value)) return null;
  const name = parseMethodName(value.method, 'call');
  return name && { ...name, args: isObject(value.args) ? value.args : {} };
}

export function parseEvent(value: Json): Event {
  const name = isObject(value) ? parseMethodName(value.method, 'event') : null;
  return { ...(name ?? { pallet: '', method: '' }), data: isObject(value) ? valuesOf(value.data) : [] };
}

export function isNamed(name: MethodName, pallet: string, ...methods: readonly string[]): boolean {
  return name.pallet === pallet && methods.includes(name.method);
}

/** Each chain that others act on remotely has a pallet of its own. */
export function isRemoteProxy({ pallet, method }: MethodName): boolean {
  return (
    pallet.startsWith('remoteProxy') && ['remoteProxy', 'remoteProxyWithRegisteredProof'].includes(method)
  );
}

/** The calls in the arguments of a wrapper, in order, executed or not. */
export function innerCalls(call: Call): readonly Call[] {
  const { calls, call: single, proposal, main, fallback, meta_tx } = call.args;
  const nested = isNamed(call, 'utility', 'ifElse')
    ? [main, fallback]
    : isNamed(call, 'metaTx', 'dispatch')
      ? [isObject(meta_tx) ? meta_tx.call : undefined]
      : isArray(calls)
        ? calls
        : [single ?? proposal];
  return nested.map((value) => parseCall(value)).filter((inner) => inner !== null);
}

/** A dispatch result that says the call went through. Runtimes of 2019 say it with a bare `true`. */
export function isOk(result: Json | undefined): boolean {
  return result === true || result === 'Ok' || (isObject(result) && ('ok' in result || 'Ok' in result));
}

/** The item at which a batch stopped. */
export function interruptedAt(event: Event): number {
  return parseIndex(event.data[0]) ?? 0;
}

function lowerCamel(name: string): string {
  const joined = name.replace(/_+([a-z0-9])/gi, (_match, letter: string) => letter.toUpperCase());
  return joined === joined.toUpperCase()
    ? joined.toLowerCase()
    : joined.charAt(0).toLowerCase() + joined.slice(1);
}

function upperFirst(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
