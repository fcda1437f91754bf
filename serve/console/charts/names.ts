/** `asset-hub-polkadot` as visitors read it. */
const titled = (name: string): string =>
  name.replaceAll(/[-_]+/g, ' ').replaceAll(/(^| )[a-z]/g, (letter) => letter.toUpperCase());

export const relayName = (relay: string): string => (relay === 'solo' ? 'Solo chains' : titled(relay));

/** The name of a chain by `RELAY/CHAIN`. */
export function chainName(id: string): string {
  const [relay = '', chain = ''] = id.split('/');
  return chain === 'ecosystem' ? `All of ${relayName(relay)}` : titled(chain);
}
