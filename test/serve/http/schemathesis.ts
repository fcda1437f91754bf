import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { canInstall, keptPython } from '../../support/python.ts';

const VERSION = '4.32.5';
const NAME = `schemathesis-${VERSION}`;

/** What every answer is held against. */
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_schema_conformance',
  'unsupported_method',
  'allow_header_conformance',
];

/** Whether the program could be installed. */
export const canRunSchemathesis = (): boolean => canInstall(NAME, [`schemathesis==${VERSION}`]);

export interface Fuzzing {
  readonly origin: string;
  /** The configuration file: headers and parameters of the requests. */
  readonly config: string;
  /** Requests of the random phase for each operation. */
  readonly examples: number;
  readonly seed: number;
  readonly folder: string;
  readonly without: readonly string[];
}

export interface Fuzzed {
  readonly requests: number;
  readonly operations: number;
  /** What it found, as text; empty when nothing. */
  readonly found: string;
}

/** Sends generated requests of every operation of the OpenAPI document and checks the answers against it. */
export async function fuzz({ origin, config, examples, seed, folder, without }: Fuzzing): Promise<Fuzzed> {
  const [configFile, report] = [join(folder, 'schemathesis.toml'), join(folder, 'report.json')];
  writeFileSync(configFile, config);
  const args = [
    ['--config-file', configFile, 'run', `${origin}/openapi.json`, '--checks', CHECKS.join(',')],
    ['--phases', 'examples,coverage,fuzzing', '--max-examples', String(examples), '--seed', String(seed)],
    ['--no-shrink', '--continue-on-failure', '--warnings', 'off', '--request-timeout', '30'],
    ['--report', 'json', '--report-json-path', report],
    without.flatMap((id) => ['--exclude-operation-id', id]),
  ].flat();
  const said = await promisify(execFile)(join(dirname(keptPython(NAME)), 'schemathesis'), args, {
    cwd: folder,
    maxBuffer: 64 * 2 ** 20,
  }).catch((error: { stdout?: string; stderr?: string }) => error);
  if (!existsSync(report))
    throw new Error(`schemathesis did not run: ${said.stdout ?? ''}${said.stderr ?? ''}`);
  const { test_cases, operations, failures, errors } = JSON.parse(readFileSync(report, 'utf8'));
  const hasFound = failures.length + errors.length > 0;
  return {
    requests: test_cases.generated,
    operations: operations.tested,
    found: hasFound ? `${said.stdout ?? ''}\n${JSON.stringify(errors)}` : '',
  };
}
