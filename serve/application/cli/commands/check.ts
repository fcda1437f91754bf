import type { Damage } from '../../../../infra/ports.ts';
import { command, jsonOption, print, withOperations } from '../command.ts';
import { openDisplay } from '../display.ts';
import { EXIT } from '../failure.ts';
import { formatNumber, plural } from '../format.ts';

export const check = command<[], { json?: boolean }>({
  name: 'check',
  description: 'verify the checksums of all stored data, and list damaged files',
  args: jsonOption,
  help: `At every start the server reports table parts that it cannot read, and moves a damaged log or damaged staged input
aside. This command also reads all tables and verifies their checksums. It prints the path of each damaged file, the loss,
and how to repair it. Damaged files are kept. \`/health/ready\` reports \`degraded\` until you delete them.

Examples:
  chain-metrics check
  chain-metrics check --json | jq '.damage[].file'

Exit code 1: something is damaged.`,
  run: ({ options, config }) =>
    withOperations(config, async (client) => {
      const display = openDisplay(process.stderr, { silent: options.json === true });
      const checked = await client.call(
        'check',
        {},
        {
          onProgress: ({ done, total }) =>
            display.show('checking', {
              done: done / total,
              words: `${formatNumber(done)} of ${plural(total, 'part')}`,
            }),
        },
      );
      display.complete(plural(checked.parts, 'part'));
      print(checked, options, () => {
        const read = `${plural(checked.tables, 'table')}, ${plural(checked.parts, 'part')} read: `;
        if (checked.damage.length === 0) return `${read}nothing is damaged.\n`;
        return `${read}${plural(checked.damage.length, 'fault')}\n\n${checked.damage.map(faultText).join('\n')}`;
      });
      return checked.damage.length === 0 ? EXIT.ok : EXIT.failure;
    }),
});

const faultText = ({ file, lost, advice }: Damage) => `${file}\n  lost: ${lost}\n  to do: ${advice}\n`;
