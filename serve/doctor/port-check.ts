import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { type Finding, failed, fine } from '../../infra/finding.ts';
import { type ListenAddress, listenRefusal } from '../http/listen-address.ts';

/** Whether a process could listen there, or the one that has the data directory open does already. */
export async function checkPort(address: ListenAddress, owner: number | null): Promise<Finding> {
  const { host, port } = address;
  const check = port.name.toLowerCase().replace('_', ' ');
  const place = `${host.value}:${port.value}`;
  if (port.value === 0) return fine(check, 'a free one is chosen at each start');
  const refusal = await refusalOf(address);
  if (refusal === null) {
    const other = owner === null ? '' : '; the server that runs listens elsewhere';
    return fine(check, `${place} is free${other}`);
  }
  if (owner !== null && listensOn(owner, port.value)) {
    return fine(check, `${place} is held by the server of the data directory, process ${owner}`);
  }
  const [fault = refusal, remedy = 'correct the setting'] = refusal.split('; ');
  return failed(check, fault, remedy);
}

/** Null where it could listen. */
function refusalOf(address: ListenAddress): Promise<string | null> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', (error) => resolve(listenRefusal(address, error)));
    server.listen({ host: address.host.value, port: address.port.value, exclusive: true }, () =>
      server.close(() => resolve(null)),
    );
  });
}

const LISTENS = '0A';

/** Whether a process holds a socket that listens on a port, where the system shows it. */
function listensOn(pid: number, port: number): boolean {
  try {
    const hex = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
    const sockets = ['tcp', 'tcp6'].flatMap((family) =>
      readFileSync(`/proc/net/${family}`, 'utf8')
        .split('\n')
        .map((line) => line.trim().split(/\s+/))
        .filter(([, local, , state]) => local?.endsWith(hex) && state === LISTENS)
        .map((words) => `socket:[${words[9]}]`),
    );
    const folder = `/proc/${pid}/fd`;
    return readdirSync(folder).some((name) => sockets.includes(linkOf(`${folder}/${name}`)));
  } catch {
    // Only a hint: another user's process may not be looked at, and other systems have no /proc.
    return false;
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
