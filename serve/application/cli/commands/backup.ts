import { resolve } from 'node:path';
import type { BackupManifest } from '../../../../infra/embedded/backup.ts';
import { command, jsonOption, print, withOperations } from '../command.ts';
import { openDisplay } from '../display.ts';
import { EXIT } from '../failure.ts';
import { bytes, duration, plural } from '../words.ts';

export const backup = command<[path: string], { json?: boolean }>({
  name: 'backup',
  description: 'write a backup of the data directory, also while a server runs',
  args: (command) =>
    jsonOption(command.argument('<path>', 'an empty or new directory, or a new .tar, .tar.gz or .tar.zst')),
  help: `A backup holds everything that was accepted up to the time that it names: tables, alerts that are not processed yet, staged
input, accounts and, unless SECRETS_KEY is set, the key of their secrets. Writes pause at that moment; reads do not. Keep it
as safe as the data directory. Every file has its checksum in files.sha256. An archive is packed from a directory beside
it, so it needs the space of both.

On the distributed profile ClickHouse holds all records, and makes its own backups:
  BACKUP DATABASE chain_metrics TO File('/backups/NAME')
  RESTORE DATABASE chain_metrics FROM File('/backups/NAME')
Stop \`load\` and \`work\` processes meanwhile, because tables are copied one after the other. Kafka keeps later messages, and
everything in Redis can be rebuilt.

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
                words: `${bytes(done)} of ${bytes(total)}`,
              }),
          },
        );
        display.complete(bytes(manifest.bytes));
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
    `${path}: ${plural(files, 'file')}, ${bytes(size)} in ${duration(seconds)}; it holds what was accepted until ${taken_at}`,
    `Writing was held for ${duration(held_ms / 1000)}.`,
    ...(secrets_key === 'setting'
      ? ['SECRETS_KEY is a setting and not in it: keep it beside the backup.']
      : []),
    ...(damage > 0
      ? [`The data are damaged (${plural(damage, 'fault')}), and so is what was copied of them.`]
      : []),
    '',
  ].join('\n');
}
