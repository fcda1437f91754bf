import { createServer } from 'node:net';
import { type Finding, failed, fine } from '../../../infra/finding.ts';
import { describeListenError, type ListenAddress } from '../../http/listen-address.ts';

/** Checks whether a process can listen on an address. */
export async function checkPort(address: ListenAddress): Promise<Finding> {
  const { host, port } = address;
  const check = port.name.toLowerCase().replace('_', ' ');
  if (port.value === 0) return fine(check, 'a free port is chosen at each start');
  const refusal = await refusalOf(address);
  if (refusal === null) return fine(check, `${host.value}:${port.value} is free`);
  const [fault = refusal, remedy = 'correct the setting'] = refusal.split('; ');
  return failed(check, fault, remedy);
}

const PROBE_MS_MAX = 2_000;

/**
 * Also accepts a port on which a process of this product answers. In the distributed profile, `doctor` may run in the
 * container of a running process.
 */
export async function checkSharedPort(address: ListenAddress): Promise<Finding> {
  const finding = await checkPort(address);
  if (finding.state !== 'failed' || !(await answersProbes(address))) return finding;
  return fine(finding.check, `a process answers its probes on ${address.host.value}:${address.port.value}`);
}

async function answersProbes({ host, port }: ListenAddress): Promise<boolean> {
  const isEveryAddress = host.value === '0.0.0.0' || host.value === '::';
  const name = isEveryAddress ? 'localhost' : host.value.includes(':') ? `[${host.value}]` : host.value;
  try {
    const signal = AbortSignal.timeout(PROBE_MS_MAX);
    const response = await fetch(`http://${name}:${port.value}/health/live`, { signal });
    const body = (await response.json()) as { readonly status?: unknown };
    return response.ok && body.status === 'ok';
  } catch {
    // Another program has the port.
    return false;
  }
}

/** Null if a process can listen. */
function refusalOf(address: ListenAddress): Promise<string | null> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', (error) => resolve(describeListenError(address, error)));
    server.listen({ host: address.host.value, port: address.port.value, exclusive: true }, () =>
      server.close(() => resolve(null)),
    );
  });
}
