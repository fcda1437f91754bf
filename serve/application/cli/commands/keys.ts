import type {
  ListedSigningKey,
  SigningKeysRequest,
  SigningKeysResult,
} from '../../../identity/openid/signing-key-requests.ts';
import type { Config } from '../../../settings/settings.ts';
import { headings } from '../colour.ts';
import { command, jsonOption, withOperations } from '../command.ts';
import { EXIT } from '../failure.ts';
import { alignedTable } from '../format.ts';

interface Options {
  readonly json?: boolean;
}
interface RotateOptions extends Options {
  readonly revoke?: boolean;
}

export const keysHelp = `Applications verify ID tokens with these keys. The server replaces them every 90 days; \`keys rotate\` replaces
them immediately. An old key stays published for 7 days, so that its tokens stay valid. --revoke removes the old keys:
applications refuse their tokens once they fetch the keys again, within an hour.

Examples:
  chain-metrics keys list
  chain-metrics keys rotate --revoke     after a theft of a private key, or of SECRETS_KEY and the database`;

const list = command<[], Options>({
  name: 'keys list',
  description: 'show the published keys',
  args: jsonOption,
  run: ({ options, config }) => send({ action: 'list' }, options, config),
});

const rotate = command<[], RotateOptions>({
  name: 'keys rotate',
  description: 'replace the keys immediately',
  args: (command) => jsonOption(command.option('--revoke', 'stop publishing the old keys')),
  run: ({ options, config }) => send({ action: 'rotate', revoke: options.revoke ?? false }, options, config),
});

export const keys = [list, rotate];

const send = (request: SigningKeysRequest, { json = false }: Options, config: Config): Promise<number> =>
  withOperations(config, async (client) => {
    const result = await client.call('signingKeys', request);
    process.stdout.write(json ? `${JSON.stringify(result, null, 2)}\n` : textOf(result));
    return EXIT.ok;
  });

function textOf({ keys }: SigningKeysResult): string {
  if (keys.length === 0)
    return 'There are no keys yet. The server creates them when an application first needs one.\n';
  const rows = keys.map((key) => [key.kid, key.alg, minute(key.signs_from), expiryOf(key)]);
  return `${alignedTable([headings(['key ID', 'algorithm', 'signs from', 'published until']), ...rows])}\n`;
}

const expiryOf = ({ published_until }: ListedSigningKey) =>
  published_until === null ? 'not replaced' : minute(published_until);

const minute = (time: string) => `${time.slice(0, 10)} ${time.slice(11, 16)} UTC`;
