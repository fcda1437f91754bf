import { filesReachedFrom, tests } from './source-files.ts';

export type Group = 'unit' | 'integration' | 'services';

/** Test files by what they load: nothing but code, the embedded engine or other processes, or Kafka and Redis too. */
export const groups: Readonly<Record<Group, readonly string[]>> = grouped();

function grouped() {
  const all: Record<Group, string[]> = { unit: [], integration: [], services: [] };
  for (const { path } of tests) if (path.endsWith('.test.ts')) all[groupOf(path)].push(path);
  return all;
}

function groupOf(path: string): Group {
  const reached = filesReachedFrom(path);
  const reaches = (file: string) => reached.some((one) => one.path === file);
  const uses = (name: string) => reached.some(({ packages }) => packages.includes(name));
  if (reaches('test/support/services/service.ts')) return 'services';
  return reaches('infra/embedded/store.ts') ||
    uses('chdb') ||
    uses('node:child_process') ||
    uses('playwright-core')
    ? 'integration'
    : 'unit';
}
