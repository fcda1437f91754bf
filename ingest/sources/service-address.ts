/** The address and the kind of a service. */
export interface ServiceAddress {
  readonly url: string;
  /** Whether it is a node with JSON-RPC. Otherwise it is Sidecar or polkadot-rest-api. */
  readonly isNode?: boolean | undefined;
}

/** A service, and the chain that its blocks belong to. */
export interface SourceOptions extends ServiceAddress {
  readonly chain: string;
  /** Accepts the blocks even if the runtime name or the genesis block belongs to another chain. */
  readonly force?: boolean | undefined;
}

/** Concurrent block requests. A node answers many of them in one batch. */
export const concurrencyOf = ({ isNode = false }: ServiceAddress): number => (isNode ? 256 : 8);

/** The URL for messages and logs. The address of a node may hold a key. */
export const displayUrl = ({ url, isNode = false }: ServiceAddress): string =>
  isNode ? displayAddress(url) : url;

/** Removes name, password, path and parameters from an address, because they may be keys. */
export function displayAddress(address: string): string {
  const { protocol, host } = new URL(address);
  return `${protocol}//${host}`;
}
