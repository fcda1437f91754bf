import type { Damage } from '../../../infra/ports.ts';
import { command, jsonOption, print, withOperations } from '../command.ts';
import { openDisplay } from '../display.ts';
import { EXIT } from '../failure.ts';
import { number, plural } from '../words.ts';

export const check = command<[], { json?: boolean }>({
  name: 'check',
  description: 'read everything that is stored, and list what is damaged',
  args: jsonOption,
  help: `Every start looks for missing or damaged parts of tables, records of the log and staged input. This command also
compares every table with its checksums, which reads all of it. Damaged data are kept in the folder \`damaged\` of
the data directory. Until you have dealt with it and deleted that folder, \`/health/ready\` says \`degraded\`.

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

const faultText = ({ found_at, file, lost, advice }: Damage) =>
  `${found_at.replace('T', ' ').slice(0, 19)}  ${file}\n  lost: ${lost}\n  to do: ${advice}\n`;
