import { existsSync } from 'node:fs';

/** Debian's packages of the programs that some tests drive, by where the programs are. */
const PACKAGES: Readonly<Record<string, string>> = {
  '/usr/bin/chromium': 'chromium',
  '/usr/bin/prometheus': 'prometheus',
  '/usr/bin/promtool': 'prometheus',
  '/usr/bin/prometheus-alertmanager': 'prometheus-alertmanager',
  '/usr/sbin/nginx': 'nginx-light',
  '/usr/sbin/fcgiwrap': 'fcgiwrap',
};

/** Programs that are no packages of Debian's. */
export const DENO = '/usr/local/bin/deno';
export const OAUTH2_PROXY = '/usr/local/bin/oauth2-proxy';
const INSTALLS: Readonly<Record<string, string>> = {
  [DENO]: 'npm install --global --prefix /usr/local deno',
  [OAUTH2_PROXY]: 'GOBIN=/usr/local/bin go install github.com/oauth2-proxy/oauth2-proxy/v7@v7.15.6',
};

/** A browser that tests can drive. */
export const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';

/**
 * Whether these programs are here. Where one is not, that is said aloud and its tests count as not run; where `CI`
 * is set they run all the same, and fail.
 */
export function canRun(...programs: readonly string[]): boolean {
  const missing = programs.filter((path) => !existsSync(path));
  if (missing.length === 0 || process.env.CI) return true;
  const ways = missing.map((path) => INSTALLS[path] ?? `apt-get install ${PACKAGES[path] ?? path}`);
  console.warn(`NOT RUN without ${missing.join(', ')}: ${ways.join('; ')}`);
  return false;
}
