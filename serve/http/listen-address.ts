import { reasonOf } from '../../infra/errors.ts';

/** A host or port to listen on, with the setting that names it. */
interface NamedValue<Value> {
  readonly name: string;
  readonly value: Value;
}

export interface ListenAddress {
  readonly host: NamedValue<string>;
  readonly port: NamedValue<number>;
}

/** Why the system does not let a process listen: what to tell of each error. */
export function listenRefusal({ host, port }: ListenAddress, error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  const [onHost, onPort] = [`${host.name}=${host.value}`, `${port.name}=${port.value}`];
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: `${onPort}: something else listens on it already; set ${port.name} to a free one, or to 0`,
    EACCES: `${onPort}: this user may not listen on it; set ${port.name} to one above 1023`,
    EADDRNOTAVAIL: `${onHost}: this machine does not have that address`,
    ENOTFOUND: `${onHost}: no such host`,
  };
  return reasons[code ?? ''] ?? `${onHost}, ${onPort}: ${reasonOf(error)}`;
}

/** Where the settings let a server listen for readers, and every process for operators. */
export const serverAddress = ({ HOST, PORT }: { HOST: string; PORT: number }): ListenAddress => ({
  host: { name: 'HOST', value: HOST },
  port: { name: 'PORT', value: PORT },
});
export const operatorAddress = (settings: {
  OPERATOR_HOST: string;
  OPERATOR_PORT: number;
}): ListenAddress => ({
  host: { name: 'OPERATOR_HOST', value: settings.OPERATOR_HOST },
  port: { name: 'OPERATOR_PORT', value: settings.OPERATOR_PORT },
});
