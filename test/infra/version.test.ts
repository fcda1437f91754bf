import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { VERSION } from '../../infra/version.ts';
import { ROOT } from '../support/source-files.ts';

/** Files whose readers look nowhere else, and where the version stands in them. Everything else reads package.json. */
const COPIES: readonly (readonly [file: string, version: RegExp])[] = [
  ['package-lock.json', /(?<="name": "chain-metrics",\s+"version": ")[^"]+/g],
  ['infra/Dockerfile', /(?<=org\.opencontainers\.image\.version=")[^"]+/g],
  ['infra/helm/Chart.yaml', /(?<=^version: ).+/gm],
  ['infra/helm/Chart.yaml', /(?<=^appVersion: ")[^"]+/gm],
  ['serve/clients/python/pyproject.toml', /(?<=^version = ")[^"]+/gm],
  ['serve/clients/typescript/package.json', /(?<=^ {2}"version": ")[^"]+/gm],
  ['serve/clients/typescript/README.md', /(?<=chain-metrics-client-)[\d.]+(?=\.tgz)/g],
  ['serve/guides/texts/kubernetes.md', /(?<=registry\.example\/chain-metrics:)\S+/g],
];

test.each(COPIES)('%s has the version of package.json', (file, pattern) => {
  const path = join(ROOT, file);
  const text = readFileSync(path, 'utf8');
  // WRITE_VERSION=1 copies it.
  if (process.env.WRITE_VERSION) writeFileSync(path, text.replace(pattern, VERSION));
  else expect(new Set(text.match(pattern))).toEqual(new Set([VERSION]));
});

test('the version is a semantic one', () => {
  expect(VERSION).toMatch(/^\d+\.\d+\.\d+(-[\da-z.]+)?$/);
});
