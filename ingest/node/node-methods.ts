import { z } from 'zod';
import { ProductError } from '../../infra/errors.ts';
import { ArchiveRpc } from './archive-rpc.ts';
import type { NodeRpc, RpcAnswer } from './rpc.ts';
import { NodeRefusal } from './rpc-errors.ts';

/** Methods that reading blocks needs, of the legacy API and of the newer specification. */
export const LEGACY_METHODS = [
  'chain_getBlock',
  'chain_getBlockHash',
  'chain_getFinalizedHead',
  'state_getStorage',
];
const ARCHIVE_METHODS = ['body', 'call', 'finalizedHeight', 'hashByHeight', 'header', 'storage'].map(
  (name) => `archive_v1_${name}`,
);

const methodsAnswer = z.object({ methods: z.array(z.string()) });

/** The methods that a node lists; null if it lists none. */
export async function listedMethods(
  rpc: Pick<NodeRpc, 'batch'>,
  attempts?: number,
): Promise<ReadonlySet<string> | null> {
  const options = attempts === undefined ? {} : { attempts };
  const [answer] = await rpc.batch([{ method: 'rpc_methods', params: [] }], options);
  if ('result' in (answer as RpcAnswer)) {
    const { data } = methodsAnswer.safeParse((answer as { result: unknown }).result);
    return data ? new Set(data.methods) : null;
  }
  const { error } = answer as { error: ProductError };
  if (error instanceof NodeRefusal) return null;
  throw error;
}

/** Prefers `chain_` and `state_` methods, which take many blocks in a batch, over `archive_v1_` methods. */
export async function rpcOf(rpc: NodeRpc, attempts: number): Promise<NodeRpc | ArchiveRpc> {
  const methods = await listedMethods(rpc, attempts);
  const has = (method: string) => methods?.has(method);
  if (methods === null || LEGACY_METHODS.every(has) || !ARCHIVE_METHODS.every(has)) return rpc;
  if (rpc.takesSubscriptions) return new ArchiveRpc(rpc);
  throw new ProductError(
    'source_failed',
    `${rpc.host} has archive_v1_ methods in place of chain_ and state_, which need a WebSocket: use its ws:// or wss:// URL`,
  );
}
