import { resolve } from 'node:path';
import type { BackupManifest } from '../../../../infra/embedded/backup.ts';
import { command, jsonOption, print, withOperations } from '../command.ts';
import { openDisplay } from '../display.ts';
import { EXIT } from '../failure.ts';
import { formatBytes, formatDuration, plural } from '../format.ts';

export const backup = command<[path: string], { json?: boolean }>({
  name: 'backup',
  description: 'write a backup of the data directory, also while a server runs',
  args: (command) =>
    jsonOption(command.argument('<path>', 'an empty or new directory, or a new .tar, .tar.gz or .tar.zst')),
  help: `A backup contains all data accepted before its time: tables, unprocessed alerts, staged input, accounts, and, unless
SECRETS_KEY is set, the key that encrypts secrets of accounts. Writes pause while it starts; reads do not. Protect a backup
like the data directory. The file files.sha256 lists the checksum of every file. An archive needs twice the space: its files
are first copied into a directory beside it.

With PROFILE=distributed use the backups of ClickHouse, which stores all records:
  BACKUP DATABASE chain_metrics TO File('/backups/NAME')
  RESTORE DATABASE chain_metrics FROM File('/backups/NAME')
First stop the \`load\` and \`work\` processes, because ClickHouse copies one table after the other. Kafka keeps the messages
that arrive meanwhile. Redis needs no backup: it holds locks, counters and caches.

Examples:
  chain-metrics backup /backups/$(date +%F)
  chain-metrics backup /backups/$(date +%F).tar.zst
  DATA_DIR=/srv/new chain-metrics restore /backups/now`,
  run: ({ args: [given], options, config }) =>
    withOperations(config, async (client) => {
      const display = openDisplay(process.stderr, { silent: options.json === true });
      const path = resolve(given);
      const started = performance.now();
      try {
        const manifest = await client.call(
          'backup',
          { path },
          {
            onProgress: ({ done, total }) =>
              display.show('copying', {
                done: done / Math.max(1, total),
                words: `${formatBytes(done)} of ${formatBytes(total)}`,
              }),
          },
        );
        display.complete(formatBytes(manifest.bytes));
        const seconds = Math.round(performance.now() - started) / 1000;
        print({ path, ...manifest, seconds }, options, () => textOf(path, manifest, seconds));
        return EXIT.ok;
      } finally {
        display.end();
      }
    }),
});

function textOf(path: string, manifest: BackupManifest, seconds: number): string {
  const { files, bytes: size, taken_at, held_ms, secrets_key, damage } = manifest;
  return [
    `${path}: ${plural(files, 'file')}, ${formatBytes(size)} in ${formatDuration(seconds)}; contains the data accepted until ${taken_at}`,
    `Writes were paused for ${formatDuration(held_ms / 1000)}.`,
    ...(secrets_key === 'setting'
      ? ['The backup does not contain SECRETS_KEY. Keep a copy of it: a restore needs the same key.']
      : []),
    ...(damage > 0
      ? [
          `The stored data are damaged (${plural(damage, 'fault')}), so this backup is damaged too. Run \`chain-metrics check\`.`,
        ]
      : []),
    '',
  ].join('\n');
}
