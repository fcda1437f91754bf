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
