import { resolve } from 'node:path';
import type { BackupManifest } from '../../../../infra/embedded/backup.ts';
import { ProductError } from '../../../../infra/errors.ts';
import { command, jsonOption, print } from '../command.ts';
import { openDisplay } from '../display.ts';
import { EXIT } from '../failure.ts';
import { formatAge, formatBytes, formatNumber, plural } from '../format.ts';

export const restore = command<[backup: string], { json?: boolean }>({
  name: 'restore',
  description: 'restore a backup into an empty data directory',
  args: (command) =>
    jsonOption(command.argument('<backup>', 'directory or archive that `chain-metrics backup` wrote')),
  help: `Verifies every checksum first. If anything fails, the data directory stays empty. The next start migrates the schema if
necessary; a backup of a newer schema is refused. A backup lacks the data that were accepted after it: \`backfill\` fetches
blocks again, \`ingest\` loads files again, and monitoring tools resend firing alerts.

Examples:
  DATA_DIR=/srv/new chain-metrics restore /backups/2026-11-22
  chain-metrics restore /backups/now && chain-metrics check`,
  run: async ({ args: [backup], options, config }) => {
    if (config.PROFILE !== 'embedded') {
      throw new ProductError(
        'usage',
        'restore is only for the embedded profile; with PROFILE=distributed restore the backup of ClickHouse: see `chain-metrics backup --help`',
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
          words: `${formatNumber(done)} of ${plural(total, 'file')}`,
        });
      });
      display.complete();
      print({ data_directory: config.DATA_DIR, ...manifest }, options, () =>
        textOf(config.DATA_DIR, manifest),
      );
      if (manifest.secrets_key === 'setting' && config.SECRETS_KEY === undefined) {
        process.stderr.write(
          'chain-metrics: set SECRETS_KEY to the key of the backed-up server before you start it; with another key second factors and webhooks are lost\n',
        );
      }
      return EXIT.ok;
    } finally {
      display.end();
    }
  },
});

const textOf = (directory: string, { files, bytes: size, taken_at, product_version }: BackupManifest) =>
  `${directory}: ${plural(files, 'file')}, ${formatBytes(size)} restored, of version ${product_version}.
It contains the data accepted until ${taken_at} (${formatAge(taken_at, Date.now())}). Later data are missing:
\`chain-metrics gaps\` lists them, and \`chain-metrics backfill\` fetches blocks again.
`;
