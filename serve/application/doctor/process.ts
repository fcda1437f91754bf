import type { Environment } from '../../../infra/config/read.ts';
import type { Finding } from '../../../infra/finding.ts';
import type { Runtime } from '../../../infra/ports.ts';
import { VERSION } from '../../../infra/version.ts';
import type { Registry } from '../../../ingest/chains/registry.ts';
import type { Config } from '../../settings/settings.ts';
import { checkMail } from './mail-check.ts';
import { checkSettings } from './settings-check.ts';
import { checkDamage, checkStore } from './store-check.ts';

/** The findings of the process that has the store open. */
interface ProcessDiagnosis {
  readonly version: string;
  readonly node: string;
  readonly pid: number;
  readonly findings: readonly Finding[];
}

export async function diagnoseProcess(
  {
    config,
    runtime,
    registry,
  }: { readonly config: Config; readonly runtime: Runtime; readonly registry: Registry },
  env: Environment,
): Promise<ProcessDiagnosis> {
  runtime.damage.checkLog();
  return {
    version: VERSION,
    node: process.versions.node,
    pid: process.pid,
    findings: [
      ...checkSettings(env, config),
      await checkMail(config),
      ...(await checkStore(runtime.store, runtime.clock, registry)),
      ...checkDamage(runtime.damage.list()),
    ],
  };
}
