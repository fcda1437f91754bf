import type {
  ListedSigningKey,
  SigningKeysRequest,
  SigningKeysResult,
} from '../../../identity/openid/signing-key-requests.ts';
import type { Config } from '../../../settings/settings.ts';
import { headings } from '../colour.ts';
import { command, jsonOption, withOperations } from '../command.ts';
import { EXIT } from '../failure.ts';
import { alignedTable } from '../words.ts';

interface Options {
  readonly json?: boolean;
}
interface RotateOptions extends Options {
  readonly revoke?: boolean;
}

export const keysHelp = `Applications verify ID tokens with these keys. The server creates and replaces them, every 90 days; \`keys rotate\`
replaces them at once. An old key stays published for 7 days, so that its tokens stay valid. With --revoke it does not:
applications refuse its tokens as soon as they fetch the keys again, within an hour.

Examples:
  chain-metrics keys list
  chain-metrics keys rotate --revoke     after a private key, or SECRETS_KEY with the database, was stolen`;

const list = command<[], Options>({
  name: 'keys list',
  description: 'show the published keys',
  args: jsonOption,
  run: ({ options, config }) => order({ action: 'list' }, options, config),
});

const rotate = command<[], RotateOptions>({
  name: 'keys rotate',
  description: 'replace the keys at once',
  args: (command) => jsonOption(command.option('--revoke', 'stop publishing the old keys')),
  run: ({ options, config }) => order({ action: 'rotate', revoke: options.revoke ?? false }, options, config),
});

export const keys = [list, rotate];

const order = (order: SigningKeysRequest, { json = false }: Options, config: Config): Promise<number> =>
  withOperations(config, async (client) => {
    const answer = await client.call('signingKeys', order);
    process.stdout.write(json ? `${JSON.stringify(answer, null, 2)}\n` : textOf(answer));
    return EXIT.ok;
  });

function textOf({ keys }: SigningKeysResult): string {
  if (keys.length === 0)
    return 'There is no key yet. The server creates the keys when an application needs one.\n';
  const rows = keys.map((key) => [key.kid, key.alg, minute(key.signs_from), untilOf(key)]);
  return `${alignedTable([headings(['key ID', 'algorithm', 'signs from', 'published until']), ...rows])}\n`;
}

const untilOf = ({ published_until }: ListedSigningKey) =>
  published_until === null ? 'no end yet' : minute(published_until);

const minute = (time: string) => `${time.slice(0, 10)} ${time.slice(11, 16)} UTC`;
