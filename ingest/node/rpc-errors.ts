import { ProductError } from '../../infra/errors.ts';
import type { RpcReply } from './transport.ts';

/**
 * - `busy`: the rate of requests is limited.
 * - `calls`: too many calls in one batch, or any batch.
 * - `bytes`: the request or its answer is too large.
 * - `passing`: an internal error of the node or a proxy. A retry may succeed.
 * - `pruned`: the node no longer keeps the state of the block.
 * - `final`: a retry fails again.
 */
type ErrorKind = 'busy' | 'calls' | 'bytes' | 'passing' | 'pruned' | 'final';

type RpcError = NonNullable<RpcReply['error']>;

/** Classifies an error of a node, by the codes of jsonrpsee and by the texts of proxies. */
export function kindOfError(error: RpcError): ErrorKind {
  const { code } = error;
  const text = textOfError(error);
  if (
    /state already discarded|unknown state for block|state (?:is|was|has been) (?:pruned|discarded)/i.test(
      text,
    )
  )
    return 'pruned';
  // The request, the answer of a call, or the answer of a batch is too large.
  if (
    [-32007, -32008, -32011].includes(code) ||
    /(?:response|request) (?:is|was) too (?:big|large)/i.test(text)
  )
    return code === -32010 ? 'calls' : 'bytes';
  if (code === -32010 || /\bbatch/i.test(text)) return 'calls';
  const saysBusy =
    /too many requests|rate.?limit|limit exceeded|throttl|server is busy|try again later|capacity/i;
  if (code === -32029 || code === -32009 || code === 429 || saysBusy.test(text)) return 'busy';
  return code === -32603 || (code <= -32000 && code >= -32099) ? 'passing' : 'final';
}

/** Bounds the text in logs and stored reasons. */
const TEXT_CHARACTERS_MAX = 500;

export function textOfError({ message, data }: RpcError): string {
  const more =
    data === undefined || data === null ? '' : typeof data === 'string' ? data : JSON.stringify(data);
  return (more === '' ? message : `${message}: ${more}`).slice(0, TEXT_CHARACTERS_MAX);
}

/** An error that a node answers in place of a result. */
export class NodeRefusal extends ProductError {
  readonly isPruned: boolean;

  constructor(text: string, isPruned: boolean) {
    const advice = '; use an archive node (--state-pruning archive), or an archive of blocks';
    super('source_failed', isPruned ? `${text}${advice}` : text);
    this.isPruned = isPruned;
  }
}
