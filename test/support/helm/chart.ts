import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { ROOT } from '../source-files.ts';

/** Helm itself is a library in a package of Maven Central; no package of Debian has it. */
const HELM_VERSION = '0.0.21';
const PLATFORM = `linux-${process.arch === 'x64' ? 'amd64' : process.arch}`;
/** All that is installed stays here, also when `npm ci` empties its folder. */
const { XDG_CACHE_HOME = join(homedir(), '.cache') } = process.env;
const HELM = join(XDG_CACHE_HOME, 'chain-metrics', `helm-${HELM_VERSION}-${PLATFORM}`);
const LIBRARY = join(HELM, `helm-${PLATFORM}.so`);

/** The schemas of Kubernetes, and models of the objects of KEDA and of Prometheus Operator. */
const PYTHON_PACKAGES = [
  'kubernetes-validate==1.37.0',
  'cloudcoil.models.keda==2.16.1.0',
  'cloudcoil.models.prometheus_operator==0.80.1.0',
];
const PYTHON = join(XDG_CACHE_HOME, 'chain-metrics', 'helm-schemas-1');

const CHART = join(ROOT, 'infra/helm');
/** The oldest version that the chart allows, and the newest whose schemas are known. */
export const KUBERNETES = ['1.27', '1.37'];

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts?: readonly { readonly mountPath: string; readonly readOnly?: boolean }[];
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
}

export interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
  readonly periodSeconds: number;
  readonly timeoutSeconds: number;
  readonly failureThreshold: number;
}

export interface PodSpec {
  readonly containers: readonly [Container];
  readonly terminationGracePeriodSeconds: number;
  readonly automountServiceAccountToken: boolean;
  readonly enableServiceLinks: boolean;
  readonly securityContext: Readonly<Record<string, unknown>>;
}

type Labels = Readonly<Record<string, string>>;

export interface Rendered {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Labels; readonly annotations?: Labels };
  readonly spec: PodSpec & {
    readonly template?: { readonly metadata: { readonly labels: Labels }; readonly spec: PodSpec };
    readonly selector?: Labels & { readonly matchLabels?: Labels };
    readonly scaleTargetRef?: { readonly name: string };
    readonly triggers?: readonly { readonly type: string; readonly metadata: Labels }[];
    readonly ports?: readonly { readonly port: number }[];
    readonly groups?: readonly { readonly rules: readonly { readonly alert?: string }[] }[];
    readonly podMetricsEndpoints?: readonly { readonly relabelings: unknown }[];
  };
  readonly data?: Labels;
}

export interface Rendering {
  readonly objects: readonly Rendered[];
  /** What the schemas refuse. */
  readonly faults: readonly string[];
  readonly error?: string;
  /** What a person reads after the installation of a package. */
  readonly notes?: string;
}

/** Installs what runs Helm; false, said aloud, where that is impossible. */
export function canRunHelm(): boolean {
  try {
    if (!existsSync(LIBRARY)) fetchHelm();
    if (!existsSync(join(PYTHON, 'installed'))) {
      execFileSync('python3', ['-m', 'venv', PYTHON], { stdio: 'pipe' });
      const pip = ['-m', 'pip', 'install', '-q', '--disable-pip-version-check', ...PYTHON_PACKAGES];
      execFileSync(join(PYTHON, 'bin/python'), pip, { stdio: 'pipe' });
      mkdirSync(join(PYTHON, 'installed'));
    }
    return true;
  } catch (error) {
    if (process.env.CI) throw error;
    console.warn(`NOT RUN without Helm, which needs Maven, python3-venv, Maven Central and PyPI: ${error}`);
    return false;
  }
}

function fetchHelm(): void {
  const part = `${HELM}.${process.pid}.part`;
  mkdirSync(part, { recursive: true });
  const pom = join(import.meta.dirname, 'helm-pom.xml');
  const args = ['-q', '-B', '-f', pom, `-Dplatform=${PLATFORM}`, `-Dhelm=${HELM_VERSION}`];
  execFileSync('mvn', [...args, 'dependency:copy-dependencies', `-DoutputDirectory=${part}`], {
    stdio: 'pipe',
  });
  const jar = join(part, `${PLATFORM}-${HELM_VERSION}.jar`);
  execFileSync('python3', ['-m', 'zipfile', '-e', jar, part], { stdio: 'pipe' });
  rmSync(jar);
  // Another process may have been quicker.
  if (existsSync(HELM)) rmSync(part, { recursive: true });
  else renameSync(part, HELM);
}

/**
 * A copy of the chart whose hooks are ordinary objects: what Helm renders of a hook it runs itself, and never shows.
 */
export function chartWithoutHooks(folder: string): string {
  const copy = join(folder, 'chart');
  cpSync(CHART, copy, { recursive: true });
  for (const name of ['migration.yaml', 'tests/ready.yaml']) {
    const file = join(copy, 'templates', name);
    writeFileSync(file, readFileSync(file, 'utf8').replace('helm.sh/hook:', 'hook:'));
  }
  return copy;
}

/** Lints the chart, packages it and renders it with values: all by one process, since its start takes longest. */
export async function runHelm(
  packages: string,
  renderings: Readonly<Record<string, { readonly chart?: string; readonly values: string }>>,
): Promise<{ lint: string; rendered: Record<string, Rendering> }> {
  const child = spawn(join(PYTHON, 'bin/python'), [join(import.meta.dirname, 'helm.py')]);
  const job = { library: LIBRARY, chart: CHART, packages, versions: KUBERNETES, renderings };
  child.stdin.end(JSON.stringify(job));
  const [result, said] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (result === '') throw new Error(`Helm did not run: ${said}`);
  return JSON.parse(result);
}
