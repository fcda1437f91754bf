import { z } from 'zod';
import { booleanSetting, integerSetting } from '../../infra/config/setting-types.ts';

/** Prefix of an HTTP address that marks a node. Without it the address is a Sidecar. */
const NODE_BY_HTTP = /^node\+/;

const followedSource = z
  .string()
  .regex(
    /^[^=]+=(?:(?:node\+)?https?|wss?):\/\/.+$/,
    'expected CHAIN=URL, such as polkadot=wss://127.0.0.1:9944 for a node or polkadot=http://127.0.0.1:8080 for a Sidecar',
  )
  .transform((text) => {
    const at = text.indexOf('=');
    const [chain, url] = [text.slice(0, at), text.slice(at + 1)];
    return {
      chain,
      url: url.replace(NODE_BY_HTTP, ''),
      isNode: NODE_BY_HTTP.test(url) || /^wss?:/.test(url),
    };
  });

/** Settings of the sources. */
export const sourceSettings = {
  CHAINS_FILE: z.string().optional().describe('JSON file with chains to add to the registry'),
  FOLLOW: z
    .string()
    .default('')
    .transform((text) =>
      text
        .split(',')
        .map((entry) => entry.trim())
        .filter((entry) => entry !== ''),
    )
    .pipe(z.array(followedSource))
    .describe(
      'sources whose new blocks `start` ingests: CHAIN=URL, separated by commas; ws, wss, node+http and node+https are nodes, http and https are Sidecars',
    ),
  FOLLOW_BEST: booleanSetting('false').describe('with FOLLOW: also ingest blocks that are not finalized'),
  FOLLOW_FORCE: booleanSetting('false').describe(
    'with FOLLOW: accept blocks even if the runtime name or the genesis block of a service belongs to another chain',
  ),
  FOLLOW_SNAPSHOTS: booleanSetting('true').describe(
    'with FOLLOW: also take snapshots of the chain state, once a UTC day',
  ),
  LINE_BYTES_MAX: integerSetting(64 * 2 ** 20, 1024).describe('longest line of an input file, in bytes'),
};

export type SourceSettings = z.output<z.ZodObject<typeof sourceSettings>>;
