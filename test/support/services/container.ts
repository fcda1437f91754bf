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

const START_MS_MAX = 120_000;
const PULL_MS_MAX = 300_000;

const run = promisify(execFile);
const known = new Map<string, Promise<boolean>>();

/** Whether a Docker engine answers that has this image or can fetch it; asked once, and said aloud when not. */
export function hasImage(image: string): Promise<boolean> {
  const asked = known.get(image) ?? askForImage(image);
  known.set(image, asked);
  return asked;
}

async function askForImage(image: string): Promise<boolean> {
  const works = (...args: string[]) =>
    run('docker', args, { timeout: PULL_MS_MAX }).then(
      () => true,
      () => false,
    );
  if (!(await works('info'))) return false;
  if ((await works('image', 'inspect', image)) || (await works('pull', '--quiet', image))) return true;
  process.stderr.write(`Docker has no image ${image} and cannot fetch it: the service runs as a process\n`);
  return false;
}

/** A service from its image, on a host port of its own that stays when it is started again. */
export async function containerService(options: ContainerOptions): Promise<Service> {
  // Its own cleaner is one more image to fetch; what is started here is ended here.
  process.env.TESTCONTAINERS_RYUK_DISABLED ??= 'true';
  // Loaded where it is used: it costs a second, and most machines that lack Docker never need it.
  const { GenericContainer } = await import('testcontainers');
  const port = options.port ?? (await freePort());
  let container = new GenericContainer(options.image)
    .withExposedPorts({ container: options.innerPort, host: port })
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
  const docker = (...args: string[]) => run('docker', args);
  const close = async () => {
    await started.stop({ remove: true, removeVolumes: true });
  };
  return {
    host: started.getHost(),
    port,
    kind: 'container',
    stop: async () => void (await docker('kill', started.getId())),
    start: async () => {
      await docker('start', started.getId());
      await ready();
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
