import { z } from 'zod';
import { booleanSetting, integerSetting } from '../../infra/config/setting-types.ts';

/** Before an address of HTTP: a Sidecar answers there, unless this says that a node does. */
const NODE_BY_HTTP = /^node\+/;

const followedSource = z
  .string()
  .regex(
    /^[^=]+=(?:(?:node\+)?https?|wss?):\/\/.+$/,
    'expected CHAIN=URL, such as polkadot=wss://127.0.0.1:9944 of a node or polkadot=http://127.0.0.1:8080 of a Sidecar',
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
        .map((one) => one.trim())
        .filter((one) => one !== ''),
    )
    .pipe(z.array(followedSource))
    .describe(
      'sources whose new blocks `start` ingests, as CHAIN=URL, separated by commas: ws or wss of a node (node+http or node+https for its HTTP), http or https of a Sidecar',
    ),
  FOLLOW_BEST: booleanSetting('false').describe('with FOLLOW: also blocks that are not finalized'),
  FOLLOW_FORCE: booleanSetting('false').describe(
    'with FOLLOW: accept the blocks although the runtime of a service is named after another chain, or its network has another first block',
  ),
  FOLLOW_SNAPSHOTS: booleanSetting('true').describe(
    'with FOLLOW: also the state of the chains, once a UTC day',
  ),
  LINE_BYTES_MAX: integerSetting(64 * 2 ** 20, 1024).describe('longest line of an input file'),
};

export type SourceSettings = z.output<z.ZodObject<typeof sourceSettings>>;
