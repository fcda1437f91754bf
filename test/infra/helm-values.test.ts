import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { isSecretSetting } from '../../infra/config/read.ts';
import { settings } from '../../serve/settings/settings.ts';
import { ROOT } from '../support/source-files.ts';

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** Settings that are no value: the chart or the image decides them. */
const DECIDED = [
  'PROFILE',
  'DATA_DIR',
  'HOST',
  'PORT',
  'OPERATOR_HOST',
  'OPERATOR_PORT',
  'MIGRATE_ON_START',
  'CHAINS_FILE',
  'FOLLOW',
  'REVISION',
];

describe('values.schema.json', () => {
  const { $defs, properties: values } = JSON.parse(read('infra/helm/values.schema.json'));
  const names = Object.keys(settings.shape);
  const isFile = (name: string) => name.endsWith('_FILE') && !DECIDED.includes(name);

  test('lists every setting that is neither decided nor secret, with what it accepts', () => {
    const { properties = {} } = z.toJSONSchema(settings, { io: 'input' });
    const wanted = names
      .filter((name) => !DECIDED.includes(name) && !isFile(name))
      .filter((name) => name === 'REDIS_URL' || !isSecretSetting(name))
      .map((name) => [name, name === 'REDIS_URL' ? reference('redisUrl') : accepted(properties[name])]);
    expect($defs.settings.properties).toEqual(Object.fromEntries(wanted));
  });

  test('requires only settings that exist', () => {
    expect(names).toEqual(expect.arrayContaining(values.settings.required));
  });

  test('lists every secret, and every file that a setting names', () => {
    const wanted = [
      ...names.filter((name) => isSecretSetting(name) || isFile(name)),
      'NODE_EXTRA_CA_CERTS',
      'OTEL_EXPORTER_OTLP_HEADERS',
    ];
    expect($defs.secrets.properties).toEqual(
      Object.fromEntries(wanted.map((name) => [name, reference('secretKey')])),
    );
  });
});

test('Chart.yaml has the version of the product', () => {
  const { version } = JSON.parse(read('package.json'));
  expect(read('infra/helm/Chart.yaml')).toContain(`\nappVersion: "${version}"\n`);
});

const reference = (name: string) => ({ $ref: `#/$defs/${name}` });

/** What the schema of the chart says of a setting whose own schema is given. */
function accepted(of: unknown): object {
  const {
    enum: choice,
    pattern,
    minLength,
  } = of as { enum?: string[]; pattern?: string; minLength?: number };
  if (choice) return choice.join() === 'true,false' ? reference('yesNo') : { enum: choice };
  if (pattern === '^-?\\d+$') return reference('whole');
  return {
    type: 'string',
    ...(minLength === undefined ? {} : { minLength }),
    ...(pattern === undefined ? {} : { pattern }),
  };
}
