import type { Damage } from '../../../../infra/ports.ts';
import { command, jsonOption, print, withOperations } from '../command.ts';
import { openDisplay } from '../display.ts';
import { EXIT } from '../failure.ts';
import { number, plural } from '../words.ts';

export const check = command<[], { json?: boolean }>({
  name: 'check',
  description: 'read everything that is stored, and list what is damaged',
  args: jsonOption,
  help: `Every start tells which parts of tables the engine could not read, and sets aside a stored log or staged input that
is damaged. This command also compares every table with its checksums, which reads all of it. Damaged files stay
where they are told to be. Until you have dealt with them and deleted them, \`/health/ready\` says \`degraded\`.

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
              words: `${number(done)} of ${plural(total, 'part')}`,
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
