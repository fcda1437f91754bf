/** Reads the dashboards into the types that Grafana publishes of its schema: `npx node test/soak/dashboards.ts`. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { canInstall, keptPython } from '../support/python.ts';
import { ROOT } from '../support/source-files.ts';

const NAME = 'grafana-schema';
const folder = join(ROOT, 'infra/grafana/dashboards');

if (canInstall(NAME, ['grafana-foundation-sdk==1769699379!11.6.0'])) {
  const files = readdirSync(folder).map((file) => join(folder, file));
  const program = join(import.meta.dirname, 'dashboards.py');
  process.exitCode = spawnSync(keptPython(NAME), [program, ...files], { stdio: 'inherit' }).status ?? 1;
} else process.exitCode = 1;
