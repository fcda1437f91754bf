/** The address of a service, and of which kind it is. */
export interface ServiceAddress {
  readonly url: string;
  /** A node by JSON-RPC; Sidecar or polkadot-rest-api when absent. */
  readonly isNode?: boolean | undefined;
}

/** Which service is asked, and for which chain its blocks are taken. */
export interface SourceOptions extends ServiceAddress {
  readonly chain: string;
  /** Take the blocks for that chain's although the service names its runtime otherwise. */
  readonly force?: boolean | undefined;
}

/** Blocks that are asked for at a time: those of a node come many in one request. */
export const concurrencyOf = ({ isNode = false }: ServiceAddress): number => (isNode ? 256 : 8);

/** For messages and logs: the address of a node may hold a key. */
export const shownUrl = ({ url, isNode = false }: ServiceAddress): string =>
  isNode ? shownAddress(url) : url;

/** The address without a name, password, path or parameters, which may be keys. */
export function shownAddress(address: string): string {
  const { protocol, host } = new URL(address);
  return `${protocol}//${host}`;
}
