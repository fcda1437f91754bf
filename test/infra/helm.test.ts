import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isSecretSetting } from '../../infra/config/read.ts';
import { READY_SECONDS_MAX } from '../../infra/config/settings.ts';
import { LOAD_GROUP, TOPICS } from '../../ingest/log/topics.ts';
import { buildProbes } from '../../serve/application/compose/operator-app.ts';
import { checkSettings } from '../../serve/application/doctor/settings-check.ts';
import { ProcessHealth } from '../../serve/http/process-health.ts';
import { type Config, readConfig, settings } from '../../serve/settings/settings.ts';
import {
  type Container,
  canRunHelm,
  chartWithoutHooks,
  KUBERNETES,
  type PodSpec,
  type Rendered,
  type Rendering,
  runHelm,
} from '../support/helm/chart.ts';
import { REFUSED_VALUES } from '../support/helm/refused-values.ts';
import { ROOT } from '../support/source-files.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const EXAMPLES = ['small', 'production', 'monitoring'];
/** Names of values that are for people: the defaults, the examples, and those of the guide. */
const SETS = ['default', 'guide', ...EXAMPLES];
const SECRETS_FOLDER = '/etc/chain-metrics/secrets';
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const dockerfile = read('infra/Dockerfile');

/** Values that the chart accepts, for one test each. */
const MORE = {
  migrating: { migration: { enabled: false } },
  invalid: { podSecurityContext: { runAsUser: 'root' }, securityContext: { privilege: true } },
  chains: { chains: [{ name: 'paseo' }], fullnameOverride: 'metrics' },
};

describe.runIf(canRunHelm())('the chart', () => {
  const folder = temporaryDirectory();
  afterAll(() => folder[Symbol.dispose]());
  let lint = '';
  let rendered: Record<string, Rendering> = {};
  const objectsOf = (name: string) => rendered[name]?.objects ?? [];
  const all = () => SETS.flatMap((name) => [...objectsOf(name)]);
  const named = (set: string, kind: string, name: string) => {
    const found = objectsOf(set).find((one) => one.kind === kind && one.metadata.name.endsWith(name));
    if (!found) throw new Error(`no ${kind} ${name}`);
    return found;
  };
  const configOf = (container: Container) => readConfig({ ...imageEnvironment(), ...environment(container) });
  /** What a process of this container reads, the files of secrets included. */
  const environment = ({ env = [] }: Container) =>
    Object.fromEntries(env.map(({ name, value }) => [name, value.replace(SECRETS_FOLDER, folder.path)]));

  beforeAll(async () => {
    for (const name of Object.keys(settings.shape).filter(isSecretSetting)) {
      writeFileSync(join(folder.path, name), SECRETS[name] ?? 'secret\n');
    }
    const chart = chartWithoutHooks(folder.path);
    const [valuesFolder, packages] = ['values', 'packages'].map((name) => join(folder.path, name)) as [
      string,
      string,
    ];
    for (const path of [valuesFolder, packages]) mkdirSync(path);
    const rendering = (name: string, values: string, of: { chart?: string } = { chart }) => {
      const file = join(valuesFolder, `${name.replaceAll(' ', '-')}.yaml`);
      writeFileSync(file, values);
      return [name, { ...of, values: file }] as const;
    };
    const example = (name: string) => read(`infra/helm/examples/${name}.yaml`);
    const refused = Object.entries(REFUSED_VALUES).map(([name, { values }]) => [name, values] as const);
    const renderings = Object.fromEntries([
      rendering('default', ''),
      rendering(
        'guide',
        /^```yaml\n([\s\S]*?)^```$/m.exec(read('serve/guides/texts/kubernetes.md'))?.[1] ?? '',
      ),
      ...EXAMPLES.map((name) => rendering(name, example(name))),
      ...[...Object.entries(MORE), ...refused].map(([name, values]) =>
        rendering(name, JSON.stringify(values)),
      ),
      ...['production', 'monitoring'].map((name) => rendering(`package ${name}`, example(name), {})),
    ]);
    ({ lint, rendered } = await runHelm(packages, renderings));
  });

  test('has nothing that lint warns of', () => {
    expect(lint.trim()).toBe('Failed: false');
  });

  test.each(SETS)(`renders with %s values what Kubernetes ${KUBERNETES.join(' and ')} know`, (set) => {
    expect(rendered[set]).toMatchObject({ faults: [] });
    expect(rendered[set]).not.toHaveProperty('error');
  });

  test('renders each kind of object with the values that ask for it', () => {
    const kinds = (set: string) => [...new Set(objectsOf(set).map(({ kind }) => kind))].sort();
    const always = ['Deployment', 'Job', 'Pod', 'PodDisruptionBudget', 'Service', 'ServiceAccount'];
    expect(kinds('default')).toEqual(always);
    for (const set of ['small', 'guide']) expect(kinds(set)).toEqual(always);
    expect(kinds('production')).toEqual(
      [
        ...always,
        'HorizontalPodAutoscaler',
        'Ingress',
        'NetworkPolicy',
        'PodMonitor',
        'ScaledObject',
        'TriggerAuthentication',
      ].sort(),
    );
    expect(kinds('monitoring')).toEqual(
      [
        ...always,
        'ConfigMap',
        'HorizontalPodAutoscaler',
        'NetworkPolicy',
        'PodMonitor',
        'PrometheusRule',
      ].sort(),
    );
  });

  test('is held against schemas that refuse a wrong type and an unknown field', () => {
    expect(rendered.invalid?.faults.join('\n')).toMatch(/Deployment .*-serve: (.*'root'|.*'privilege')/);
  });

  test.each(Object.entries(REFUSED_VALUES))('refuses %s, and says so', (name, { says }) => {
    expect(rendered[name]?.error).toContain(says);
  });

  test('sets nothing but settings of the product, to values that it accepts', () => {
    const known = Object.keys(settings.shape);
    const isKnown = (name: string) =>
      known.includes(name) ||
      name === 'NODE_EXTRA_CA_CERTS' ||
      (isSecretSetting(name.replace(/_FILE$/, '')) && known.includes(name.replace(/_FILE$/, '')));
    for (const { containers } of all().flatMap(podsOf)) {
      expect(containers[0].env?.filter(({ name }) => !isKnown(name)) ?? []).toEqual([]);
      expect(configOf(containers[0])).toMatchObject({ PROFILE: 'distributed', DATA_DIR: '/data' });
    }
  });

  test('writes numbers and switches as the settings read them, and keeps what a role has of its own', () => {
    expect(configOf(containerOf(named('small', 'Deployment', '-serve')))).toMatchObject({
      CACHE_BYTES: 33_554_432,
      STOP_DELAY_SECONDS: 10,
    });
    expect(configOf(containerOf(named('small', 'Deployment', '-load')))).toMatchObject({
      CACHE_BYTES: 67_108_864,
      STOP_DELAY_SECONDS: 0,
      KAFKA_PARTITIONS: 4,
    });
    const ingress = configOf(containerOf(named('production', 'Deployment', '-serve')));
    expect(ingress).toMatchObject({
      PUBLIC_URL: 'https://metrics.example',
      TRUST_PROXY: ['uniquelocal'],
      KAFKA_TLS: true,
    });
  });

  test('gives a server of production nothing that `doctor` warns of', () => {
    const container = containerOf(named('production', 'Deployment', '-serve'));
    const env = { ...imageEnvironment(), ...environment(container) };
    expect(checkSettings(env, readConfig(env))).toMatchObject([{ text: 'all are valid' }]);
  });

  test('gives secrets as files, and the key of the servers to servers only', () => {
    for (const pod of all().flatMap(podsOf)) {
      const env = Object.keys(environment(pod.containers[0]));
      expect(env.filter((name) => isSecretSetting(name) && name !== 'REDIS_URL')).toEqual([]);
      expect(env.includes('SECRETS_KEY_FILE')).toBe(pod.containers[0].name === 'serve');
    }
    const { env } = containerOf(named('production', 'Deployment', '-load'));
    expect(env?.find(({ name }) => name === 'REDIS_URL')).toBeUndefined();
    expect(env).toContainEqual({ name: 'REDIS_URL_FILE', value: `${SECRETS_FOLDER}/REDIS_URL` });
    expect(env).toContainEqual({ name: 'KAFKA_TLS_CA_FILE', value: `${SECRETS_FOLDER}/KAFKA_TLS_CA_FILE` });
  });

  test('migrates in a hook before processes start, and nowhere else', () => {
    const job = named('default', 'Job', '-migrate');
    expect(job.metadata.annotations).toMatchObject({ hook: 'pre-install,pre-upgrade,pre-rollback' });
    expect(containerOf(job).args).toEqual(['migrate']);
    // Helm runs hooks itself: they are no part of what it installs.
    const installed = objectsOf('package production').map(({ kind }) => kind);
    expect(installed).toContain('Deployment');
    for (const kind of ['Job', 'Pod']) expect(installed).not.toContain(kind);
    const migrates = (set: string) =>
      deployments(set).map((one) => configOf(containerOf(one)).MIGRATE_ON_START);
    expect(new Set(SETS.flatMap(migrates))).toEqual(new Set([false]));
    expect(new Set(migrates('migrating'))).toEqual(new Set([true]));
    expect(objectsOf('migrating').map(({ kind }) => kind)).not.toContain('Job');
  });

  const deployments = (set: string) => objectsOf(set).filter(({ kind }) => kind === 'Deployment');

  test('starts every role, and one process for each follower', () => {
    const started = (set: string) => deployments(set).map((one) => containerOf(one).args?.join(' '));
    const roles = ['start --role load', 'start --role work', 'start --role serve'];
    expect(started('default').sort()).toEqual(roles.sort());
    expect(started('production').sort()).toEqual(
      [...roles, 'start --role ingest', 'start --role ingest'].sort(),
    );
    const { FOLLOW } = configOf(containerOf(named('production', 'Deployment', '-kusama')));
    expect(FOLLOW.map(({ chain }) => chain)).toEqual(['kusama', 'asset-hub-kusama']);
  });

  test('probes ask paths that every process answers, and give a start, an answer and a stop their time', async () => {
    const config = readConfig({ LOG_LEVEL: 'silent' });
    const health = new ProcessHealth(
      async () => undefined,
      () => false,
    );
    health.markStarted();
    await using probes = await buildProbes({ settings: config, health });
    for (const deployment of SETS.flatMap(deployments)) {
      const container = containerOf(deployment);
      const config = configOf(container);
      for (const probe of probesOf(container)) {
        expect((await probes.inject(probe.httpGet.path)).statusCode).toBe(200);
        expect(portOf(container, probe)).toBe(config.OPERATOR_PORT);
      }
      expectTimes(container, config);
      const { terminationGracePeriodSeconds: grace } = podsOf(deployment)[0] as PodSpec;
      expect(grace).toBeGreaterThan(config.STOP_SECONDS_MAX + config.STOP_DELAY_SECONDS);
    }
  });

  test('opens the ports and uses the user and the folders of the image', () => {
    const ports = SETS.flatMap(deployments).flatMap((one) => containerOf(one).ports ?? []);
    const opened = new Set(ports.map(({ containerPort }) => containerPort));
    expect([...opened].sort().join(' ')).toBe(/^EXPOSE (.*)$/m.exec(dockerfile)?.[1]);
    const { PORT, OPERATOR_PORT } = readConfig({});
    expect([...opened].sort()).toEqual([PORT, OPERATOR_PORT].sort());
    expect(dockerfile).toMatch(/^USER node$/m);
    const written = containerOf(named('default', 'Deployment', '-serve')).volumeMounts?.filter(
      (one) => !one.readOnly,
    );
    expect(written?.map(({ mountPath }) => mountPath)).toEqual([imageEnvironment().DATA_DIR, '/tmp']);
    expect(containerOf(named('default', 'Deployment', '-serve')).image).toMatch(
      /^chain-metrics:\d+\.\d+\.\d+$/,
    );
  });

  test('meets the restricted standard of pods, and mounts no token', () => {
    for (const pod of all().flatMap(podsOf)) {
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
      });
      expect(pod.containers[0].securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  });

  test('selects pods, and scales deployments, that are there', () => {
    for (const set of ['default', 'production', 'monitoring']) {
      const names = deployments(set).map(({ metadata }) => metadata.name);
      const pods = deployments(set).map(({ spec }) => spec.template?.metadata.labels ?? {});
      for (const { kind, metadata, spec } of objectsOf(set)) {
        if (spec?.scaleTargetRef) expect(names).toContain(spec.scaleTargetRef.name);
        const labels = kind === 'Service' ? spec.selector : spec?.selector?.matchLabels;
        if (!labels || (metadata.name.endsWith('-ingest') && set !== 'production')) continue;
        const isSelected = (pod: object) =>
          Object.entries(labels).every((one) =>
            Object.entries(pod).some(([key, value]) => key === one[0] && value === one[1]),
          );
        expect(pods.some(isSelected), `${kind} ${metadata.name}`).toBe(true);
      }
    }
    for (const { spec } of deployments('production'))
      expect(spec.template?.metadata.labels).toMatchObject(spec.selector?.matchLabels ?? {});
  });

  test('scales loading by the lag of its groups, and computation by a metric that processes have', () => {
    const lags = named('production', 'ScaledObject', '-load').spec.triggers ?? [];
    expect(lags.map(({ metadata }) => [metadata.topic, metadata.consumerGroup])).toEqual(
      Object.values(TOPICS).map((topic) => [`production.${topic}`, `production.${LOAD_GROUP}.${topic}`]),
    );
    const [queue] = named('production', 'ScaledObject', '-work').spec.triggers ?? [];
    const metric = /chain_metrics_\w+/.exec(queue?.metadata.query ?? '')?.[0];
    expect(read('serve/application/prometheus/compute.ts')).toContain(`name: '${metric}'`);
  });

  test('hands over the alert rules and the dashboards as they are, in a package too, under the job that they ask for', () => {
    const rules = named('package monitoring', 'PrometheusRule', '-chain-metrics').spec.groups;
    const alerts = (rules ?? []).flatMap((group) => group.rules.map(({ alert }) => alert ?? ''));
    const written = [...read('infra/prometheus/alerts.yaml').matchAll(/- alert: (\w+)/g)].map(
      ([, name]) => name,
    );
    expect(alerts.filter((name) => name !== '')).toEqual(written);
    const { data = {} } = named('package monitoring', 'ConfigMap', '-dashboards');
    const folder = join(ROOT, 'infra/grafana/dashboards');
    expect(Object.keys(data).sort()).toEqual(readdirSync(folder).sort());
    for (const [name, text] of Object.entries(data)) {
      expect(JSON.parse(text)).toEqual(JSON.parse(readFileSync(join(folder, name), 'utf8')));
    }
    const jobs = ['-serve', '-others'].map(
      (name) => named('monitoring', 'PodMonitor', name).spec.podMetricsEndpoints?.[0],
    );
    for (const job of jobs)
      expect(job?.relabelings).toEqual([{ targetLabel: 'job', replacement: 'chain-metrics' }]);
    expect(read('infra/prometheus/alerts.yaml')).toContain('up{job="chain-metrics"}');
  });

  test('asks a server in `helm test`, and fails when that is not ready', async () => {
    const { metadata, spec } = named('default', 'Service', '-chain-metrics');
    const [, ...args] = podsOf(named('default', 'Pod', '-test-ready'))[0]?.containers[0].command ?? [];
    expect(args.at(-1)).toBe(`http://${metadata.name}:${spec.ports?.[0]?.port}/health/ready`);
    const health = new ProcessHealth(
      async () => undefined,
      () => false,
    );
    await using probes = await buildProbes({ settings: readConfig({ LOG_LEVEL: 'silent' }), health });
    const url = await probes.listen({ port: 0 });
    const ask = () => promisify(execFile)(process.execPath, [...args.slice(0, -1), `${url}/health/ready`]);
    await expect(ask()).rejects.toMatchObject({ code: 1, stdout: expect.stringContaining('503') });
    health.markStarted();
    await expect(ask()).resolves.toMatchObject({ stdout: '200 {"status":"ok"}\n' });
  });

  test('tells after an installation where it answers, by names that are there', () => {
    const notes = (name: string) => rendered[`package ${name}`]?.notes ?? '';
    expect(notes('production')).toContain('https://metrics.example/');
    const [, service] = /port-forward service\/(\S+) 3000:80/.exec(notes('monitoring')) ?? [];
    expect(named('monitoring', 'Service', '-chain-metrics').metadata.name).toBe(service);
    const [, server] = /exec deployment\/(\S+) -- chain-metrics status/.exec(notes('monitoring')) ?? [];
    expect(named('monitoring', 'Deployment', '-serve').metadata.name).toBe(server);
    expect(notes('monitoring')).toContain('No chain is followed');
    expect(notes('production')).not.toContain('No chain is followed');
  });

  test('brings chains of its own to every process but the migration', () => {
    const chains = named('chains', 'ConfigMap', '-chains');
    expect(JSON.parse(chains.data?.['chains.json'] ?? '')).toEqual(MORE.chains.chains);
    for (const one of deployments('chains'))
      expect(environment(containerOf(one)).CHAINS_FILE).toMatch(/chains\.json$/);
    expect(environment(containerOf(named('chains', 'Job', '-migrate')))).not.toHaveProperty('CHAINS_FILE');
  });
});

const SECRETS: Readonly<Record<string, string>> = {
  SECRETS_KEY: `${'A'.repeat(43)}=\n`,
  REDIS_URL: 'rediss://user:secret@redis:6379/0\n',
};

/** The pods that an object makes; none of most kinds. */
const podsOf = ({ kind, spec }: Rendered): PodSpec[] =>
  kind === 'Pod' ? [spec] : spec?.template ? [spec.template.spec] : [];

function containerOf(object: Rendered): Container {
  const [pod] = podsOf(object);
  if (!pod) throw new Error(`${object.kind} ${object.metadata.name} has no pod`);
  return pod.containers[0];
}

const probesOf = ({ startupProbe, livenessProbe, readinessProbe }: Container) => [
  startupProbe,
  livenessProbe,
  readinessProbe,
];

const portOf = ({ ports = [] }: Container, probe: Container['startupProbe']) =>
  ports.find(({ name }) => name === probe.httpGet.port)?.containerPort;

function expectTimes({ startupProbe, livenessProbe, readinessProbe }: Container, config: Config): void {
  expect(startupProbe.periodSeconds * startupProbe.failureThreshold).toBeGreaterThan(
    config.SERVICE_WAIT_SECONDS,
  );
  for (const probe of [startupProbe, readinessProbe])
    expect(probe.timeoutSeconds).toBeGreaterThan(READY_SECONDS_MAX);
  expect(livenessProbe).toMatchObject({ periodSeconds: 10, timeoutSeconds: 10, failureThreshold: 6 });
}

/** The variables that the image sets. */
function imageEnvironment(): Record<string, string> {
  const [, lines = ''] = /^ENV ((?:.*\\\n)*.*)$/m.exec(dockerfile) ?? [];
  return Object.fromEntries(
    [...lines.matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]),
  );
}
