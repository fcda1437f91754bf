import { createRequire } from 'node:module';

const load = createRequire(import.meta.url);
const V14 = ['kusama', 'polkadot', 'substrate-contracts-node', 'substrate'];
const V15 = ['kusama', 'polkadot', 'asset-hub-kusama', 'asset-hub-polkadot', 'substrate'];

/** Real metadata that an npm package ships. */
export const MAINNETS: readonly (readonly [name: string, metadata: () => Buffer])[] = [
  ...V14.map((chain) => `v14/${chain}`),
  ...V15.map((chain) => `v15/${chain}`),
  'v16/substrate',
].map((name) => [name, () => metadataOf(name)]);

/** Metadata of versions that no runtime has had since 2021. */
export const oldMetadata = (): Buffer => metadataOf('v13/polkadot');

/** Some are the answer of a runtime call: an option of bytes. */
function metadataOf(name: string): Buffer {
  const hex: string = load(`@polkadot/types-support/metadata/${name}-hex`).default;
  return Buffer.from(hex.slice(hex.indexOf('6d657461')), 'hex');
}
