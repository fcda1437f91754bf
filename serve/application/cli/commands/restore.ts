import { resolve } from 'node:path';
import type { BackupManifest } from '../../../../infra/embedded/backup.ts';
import { ProductError } from '../../../../infra/errors.ts';
import { command, jsonOption, print } from '../command.ts';
import { openDisplay } from '../display.ts';
import { EXIT } from '../failure.ts';
import { age, bytes, number, plural } from '../words.ts';

export const restore = command<[backup: string], { json?: boolean }>({
  name: 'restore',
  description: 'restore a backup into an empty data directory',
  args: (command) =>
    jsonOption(command.argument('<backup>', 'directory or archive that `chain-metrics backup` wrote')),
  help: `Every checksum is verified before anything is written, and the data directory ends up with the whole backup or nothing.
The next start migrates it where its schema differs; a backup of a newer schema is refused. Data accepted after the backup
are not in it: \`backfill\` fetches blocks again, \`ingest\` loads files again, and monitoring tools resend alerts that are
still firing.

Examples:
  DATA_DIR=/srv/new chain-metrics restore /backups/2026-11-22
  chain-metrics restore /backups/now && chain-metrics check`,
  run: async ({ args: [backup], options, config }) => {
    if (config.PROFILE !== 'embedded') {
      throw new ProductError(
        'usage',
        'restore is for the embedded profile; see `chain-metrics backup --help`',
      );
    }
    const { restoreBackup } = await import('../../../../infra/embedded/restore.ts');
    const display = openDisplay(process.stderr, { silent: options.json === true });
    let shown = '';
    try {
      const manifest = await restoreBackup(resolve(backup), config.DATA_DIR, (stage, { done, total }) => {
        if (stage !== shown) display.complete();
        shown = stage;
        display.show(stage, {
          done: done / Math.max(1, total),
          words: `${number(done)} of ${plural(total, 'file')}`,
        });
      });
      display.complete();
      print({ data_directory: config.DATA_DIR, ...manifest }, options, () =>
        textOf(config.DATA_DIR, manifest),
      );
      if (manifest.secrets_key === 'setting' && config.SECRETS_KEY === undefined) {
        process.stderr.write(
          'chain-metrics: set SECRETS_KEY as it was; without it second factors and webhooks are lost\n',
        );
      }
      return EXIT.ok;
    } finally {
      display.end();
    }
  },
});

const textOf = (directory: string, { files, bytes: size, taken_at, product_version }: BackupManifest) =>
  `${directory}: ${plural(files, 'file')}, ${bytes(size)} restored, of version ${product_version}.
It holds what was accepted until ${taken_at} (${age(taken_at, Date.now())}). What came later is missing:
\`chain-metrics gaps\` shows it and \`chain-metrics backfill\` fetches blocks again.
`;
