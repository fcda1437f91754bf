import { reasonOf } from '../../infra/errors.ts';

/** A host or port to listen on, and the name of its setting. */
interface NamedValue<Value> {
  readonly name: string;
  readonly value: Value;
}

export interface ListenAddress {
  readonly host: NamedValue<string>;
  readonly port: NamedValue<number>;
}

/** Explains a `listen` error to the operator. */
export function describeListenError({ host, port }: ListenAddress, error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  const [onHost, onPort] = [`${host.name}=${host.value}`, `${port.name}=${port.value}`];
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: `${onPort}: the port is in use; set ${port.name} to a free port, or to 0 to pick one`,
    EACCES: `${onPort}: permission denied; set ${port.name} to a port above 1023`,
    EADDRNOTAVAIL: `${onHost}: this machine does not have that address; set ${host.name} to one of its addresses`,
    ENOTFOUND: `${onHost}: unknown host; set ${host.name} to an address of this machine`,
  };
  return reasons[code ?? ''] ?? `${onHost}, ${onPort}: ${reasonOf(error)}`;
}

/** The address of the public server. */
export const serverAddress = ({ HOST, PORT }: { HOST: string; PORT: number }): ListenAddress => ({
  host: { name: 'HOST', value: HOST },
  port: { name: 'PORT', value: PORT },
});
/** The address of the operator server, which every process has. */
export const operatorAddress = (settings: {
  OPERATOR_HOST: string;
  OPERATOR_PORT: number;
}): ListenAddress => ({
  host: { name: 'OPERATOR_HOST', value: settings.OPERATOR_HOST },
  port: { name: 'OPERATOR_PORT', value: settings.OPERATOR_PORT },
});
