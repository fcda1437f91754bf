import { EmbeddedStore } from '../../infra/embedded/store.ts';
import type { Store } from '../../infra/ports.ts';
import { readConfig } from '../../serve/settings/settings.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** A store on a directory of its own; both are gone after `close`. */
export async function openStore(): Promise<{ store: Store; close(): Promise<void> }> {
  const directory = temporaryDirectory();
  const store = await EmbeddedStore.open(readConfig({ DATA_DIR: directory.path }));
  return {
    store,
    close: async () => {
      await store.close();
      directory[Symbol.dispose]();
    },
  };
}

/** Numbers that look random and are the same in every run. */
export function seeded(seed: number): (below: bigint) => bigint {
  let state = BigInt(seed);
  return (below) => {
    let bits = 0n;
    for (let i = 0; i < 5; i++) {
      state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
      bits = (bits << 32n) | (state >> 32n);
    }
    return bits % below;
  };
}
