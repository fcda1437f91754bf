import { readFileSync } from 'node:fs';
import { metricsGuide } from './metrics-guide.ts';
import { rawTablesGuide } from './raw-tables-guide.ts';
import { settingsGuide } from './settings-guide.ts';

/** A document for people who use or run the service, in Markdown. Its first line is its title, the next paragraph says what it teaches. */
export interface Guide {
  /** The last part of its address. */
  readonly name: string;
  readonly title: string;
  /** A sentence without markup. */
  readonly summary: string;
  /** What follows the title. */
  readonly text: string;
}

/** The guides by the reader they are for, in the order in which they are best read. */
const CONTENTS: Readonly<Record<string, readonly string[]>> = {
  'Read the metrics': ['quick-start', 'api', 'metrics', 'how-it-works', 'exactness', 'comparing'],
  'Build on it': [
    'typescript',
    'python',
    'sign-in',
    'oauth',
    'alerts',
    'on-call',
    'moving',
    'raw-data',
    'raw-tables',
  ],
  'Load data': ['backfill'],
  'Run it': [
    'command-line',
    'settings',
    'distributed',
    'kubernetes',
    'sizing',
    'monitoring',
    'upgrades',
    'stability',
    'backup',
    'security',
  ],
};

/** Guides that are made of what the code declares, so that they cannot fall behind it. */
const MADE: Readonly<Record<string, () => string>> = {
  metrics: metricsGuide,
  'raw-tables': rawTablesGuide,
  settings: settingsGuide,
};

/** Reads all guides from their files, grouped by reader. */
export function readGuides(): ReadonlyMap<string, readonly Guide[]> {
  return new Map(Object.entries(CONTENTS).map(([group, names]) => [group, names.map(readGuide)]));
}

function readGuide(name: string): Guide {
  const whole = MADE[name]?.() ?? readFileSync(guideFile(name), 'utf8');
  const [, title, text] = /^# (.+)\n+([\s\S]*)$/.exec(whole) ?? [];
  if (title === undefined || text === undefined)
    throw new Error(`the guide ${name} does not begin with a title`);
  return { name, title, text, summary: firstSentence(text) };
}

const firstSentence = (text: string): string =>
  (/^[\s\S]*?[.](?=\s)/.exec(text)?.[0] ?? '').replaceAll('`', '').replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1');

/** Guides that stand where those who look for them find them: hosts of repositories, registries of packages. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  security: 'SECURITY.md',
  typescript: 'serve/clients/typescript/README.md',
  python: 'serve/clients/python/README.md',
};

/** The file of a guide. */
export const guideFile = (name: string): URL =>
  new URL(`../../${ELSEWHERE[name] ?? `serve/guides/texts/${name}.md`}`, import.meta.url);
