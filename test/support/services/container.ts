import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { freePort, type Service } from './service.ts';

export interface ContainerOptions {
  readonly image: string;
  readonly innerPort: number;
  readonly port?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly command?: readonly string[];
  /** Resolves when the service answers on this port; it is asked again until then. */
  readonly answers: (port: number) => Promise<unknown>;
}

const HOST = '127.0.0.1';
const START_MS_MAX = 120_000;
const PULL_MS_MAX = 300_000;
const OWNER = 'chain-metrics.test.owner';
/** Put on every container, so that it is known whose it was. */
export const OWNED = ['--label', `${OWNER}=${process.pid}`];

const run = promisify(execFile);

/** What Docker's command line answers. */
export async function docker(...args: readonly string[]): Promise<string> {
  return (await run('docker', args, { timeout: PULL_MS_MAX })).stdout.trim();
}

/** `containers` or `processes` allow nothing else; without it a container is taken where Docker has the image. */
const { TEST_SERVICES } = process.env;
const known = new Map<string, Promise<boolean>>();

/** Whether a service is to be started from this image; asked once. Fails where it must be and cannot. */
export function hasImage(image: string): Promise<boolean> {
  const asked = known.get(image) ?? askForImage(image);
  known.set(image, asked);
  return asked;
}

async function askForImage(image: string): Promise<boolean> {
  if (TEST_SERVICES === 'processes') return false;
  try {
    await engine();
  } catch (error) {
    if (TEST_SERVICES !== 'containers') return false;
    throw error;
  }
  try {
    await docker('image', 'inspect', image).catch(() => docker('pull', '--quiet', image));
    return true;
  } catch (error) {
    const missing = `Docker has no image ${image} and cannot fetch it; test/support/images/make makes one`;
    if (TEST_SERVICES === 'containers') throw new Error(`${missing}: ${(error as Error).message}`);
    process.stderr.write(`${missing}. The service runs as a process\n`);
    return false;
  }
}

let asked: Promise<void> | undefined;

/** Resolves where a Docker engine answers, with what tests that were killed left behind removed. */
export function engine(): Promise<void> {
  asked ??= docker('info', '--format', '{{.ServerVersion}}').then(removeOrphans, (error: Error) => {
    throw new Error(`no Docker engine answers, so nothing can run in containers: ${error.message}`);
  });
  return asked;
}

async function removeOrphans(): Promise<void> {
  const listed = await docker(
    'ps', '--all', '--filter', `label=${OWNER}`, '--format', `{{.ID}} {{.Label "${OWNER}"}}`,
  ); // biome-ignore format: one command
  const orphans = listed
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([id, owner]) => id && !isAlive(Number(owner)))
    .map(([id]) => id as string);
  // Another test may be removing them too.
  if (orphans.length > 0) await docker('rm', '--force', '--volumes', ...orphans).catch(() => undefined);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** A service from its image, on a host port of its own that stays when it is started again. */
export async function containerService(options: ContainerOptions): Promise<Service> {
  // Its own cleaner is one more image to fetch; what a killed test leaves is removed by the next one.
  process.env.TESTCONTAINERS_RYUK_DISABLED ??= 'true';
  // Loaded where it is used: it costs a second, and most machines that lack Docker never need it.
  const { GenericContainer } = await import('testcontainers');
  const port = options.port ?? (await freePort());
  let container = new GenericContainer(options.image)
    .withExposedPorts({ container: options.innerPort, host: port })
    .withLabels({ [OWNER]: String(process.pid) })
    .withStartupTimeout(START_MS_MAX)
    .withEnvironment({ ...options.env });
  if (options.command) container = container.withCommand([...options.command]);
  const started = await container.start();
  const ready = async () => {
    const deadline = Date.now() + START_MS_MAX;
    while (
      !(await options.answers(port).then(
        () => true,
        () => false,
      ))
    ) {
      if (Date.now() > deadline) throw new Error(`${options.image} does not answer on port ${port}`);
      await new Promise((later) => setTimeout(later, 100));
    }
  };
  await ready();
  const close = async () => {
    await docker('rm', '--force', '--volumes', started.getId());
  };
  return {
    host: HOST,
    port,
    kind: 'container',
    stop: async () => void (await docker('kill', started.getId())),
    start: async () => {
      await docker('start', started.getId());
      await ready();
    },
    pause: async () => void (await docker('pause', started.getId())),
    resume: async () => void (await docker('unpause', started.getId())),
    close,
    [Symbol.asyncDispose]: close,
  };
}
